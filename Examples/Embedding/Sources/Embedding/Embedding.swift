// SPDX-License-Identifier: Apache-2.0

import Portolan

/// What a program needs to load any URL: one import and one line; and a protocol of its own: one handler.
@main
struct Embedding {
    static func main() async throws {
        let (body, response) = try await Loader.shared.data(from: "data:text/plain;base64,SGVsbG8=")
        print(response.mimeType?.description ?? "no type", String(decoding: body, as: UTF8.self))

        let (chunks, _) = try await Loader.shared.bytes(from: "file:///proc/self/../../etc/hostname")
        var count = 0
        for try await chunk in chunks { count += chunk.count }
        print(count > 0 ? "a file, in pieces" : "an empty file")

        ProtocolRegistry.shared.register(Shout())
        print(String(decoding: try await Loader.shared.data(from: "shout:hello").0, as: UTF8.self))

        do {
            _ = try await Loader.shared.data(from: "nosuch://x")
        } catch {
            print(error.code, error.message)
        }
    }
}

/// `shout:TEXT` is TEXT in capitals.
struct Shout: ProtocolHandler {
    let identifier = "org.example.shout"
    let schemes = SchemeSet.only(["shout"])

    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        let text = Array(request.url.path.uppercased().utf8)
        let response = Response(url: request.url, mimeType: .plainText, expectedLength: Int64(text.count))
        return ScriptedLoad([.response(response), .data(text), .finish], client: client)
    }
}
