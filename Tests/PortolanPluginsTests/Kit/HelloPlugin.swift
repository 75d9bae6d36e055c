// SPDX-License-Identifier: Apache-2.0

import PortolanPluginKit

struct Hello: PluginHandler {
    static let description = PluginDescription(
        identifier: "org.example.hello", name: "Hello", vendor: "Example", version: "1.0.0", schemes: ["hello"])

    struct Settings: Decodable {
        var greeting: String?
    }

    let settings: Settings

    init(host: PluginHost) throws {
        settings = try host.settings()
    }

    func load(_ request: PluginRequest, client: PluginClient) async throws {
        guard let name = request.host else {
            throw PluginError(.badURL, message: "hello: needs a name; write hello://NAME")
        }
        try await client.didReceive(PluginResponse(mimeType: "text/plain", textEncoding: "utf-8"))
        try await client.didLoad("\(settings.greeting ?? "Hello"), \(name)\n")
    }
}
