// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Shows how a program loads a URL, with one import and one line, and how it adds a protocol, with one handler.
@main
struct Embedding {
    static func main() async throws {
        let (body, response) = try await Loader.shared.data(from: "data:text/plain;base64,SGVsbG8=")
        print(response.mimeType?.description ?? "no type", String(decoding: body, as: UTF8.self))

        let (chunks, _) = try await Loader.shared.bytes(from: "file:///proc/self/../../etc/hostname")
        var count = 0
        for try await chunk in chunks { count += chunk.count }
        print(count > 0 ? "a file, in pieces" : "an empty file")

        ProtocolRegistry.shared.register(shout)
        print(String(decoding: try await Loader.shared.data(from: "shout:hello").0, as: UTF8.self))

        do {
            _ = try await Loader.shared.data(from: "nosuch://x")
        } catch {
            print(error.code, error.message)
        }
    }
}

/// `shout:TEXT` is TEXT in capitals.
let shout = AsyncHandler(identifier: "org.example.shout", schemes: ["shout"]) { request, client in
    try await client.didReceive(Response(url: request.url, mimeType: .plainText))
    try await client.didLoad(request.url.path.uppercased())
}
