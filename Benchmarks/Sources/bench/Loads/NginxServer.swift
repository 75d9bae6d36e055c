// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An nginx process on loopback, which keeps connections open and writes no log. `Tests/Servers/serve --only bench`
/// starts it.
///
/// The server ends when its standard input, a pipe, closes: with this object, or with this process, however that ends.
final class NginxServer: Sendable {
    let http: String
    let https: String
    /// The certificate of the authority that signed the server's certificate.
    let authority: String
    /// Retained until deinit, which closes it.
    private let pipe: Pipe

    /// - Parameters:
    ///   - program: the path of `Tests/Servers/serve`.
    ///   - root: the folder to serve.
    init(program: String, root: String) throws {
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw Missing("\(program) does not exist; run bench in the folder of the sources, or name the program with --servers")
        }
        let (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["--only", "bench", "--root", root, "--limit", "86400"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let place = try Self.read(output.fileHandleForReading, program)
        pipe = input
        http = try place.origin("bench.http")
        https = try place.origin("bench.https")
        authority = place.files["ca"] ?? ""
    }

    /// Reads the one line of output; the program continues to run.
    private static func read(_ output: FileHandle, _ program: String) throws -> Place {
        var text = Data()
        while text.last != UInt8(ascii: "\n") {
            let more = output.availableData
            guard !more.isEmpty else {
                throw Missing("\(program) ended without the address of nginx; run 'make bench' to install what it needs")
            }
            text += more
        }
        return try JSONDecoder().decode(Place.self, from: text)
    }

    private struct Place: Decodable {
        struct Endpoint: Decodable {
            let scheme: String
            let port: Int
        }

        let endpoints: [String: Endpoint]
        let files: [String: String]
        let missing: [String: String]

        func origin(_ name: String) throws -> String {
            guard let endpoint = endpoints[name] else { throw Missing(missing["bench"] ?? "nginx has no endpoint \(name)") }
            return "\(endpoint.scheme)://127.0.0.1:\(endpoint.port)"
        }
    }
}
