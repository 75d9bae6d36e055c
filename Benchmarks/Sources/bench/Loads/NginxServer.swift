// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An nginx process on loopback. It keeps connections open and writes no log. `Tests/Servers/serve --only bench` starts
/// it.
///
/// The server ends when its standard input closes. That is a pipe of this object, so the server also ends when this
/// process is killed.
final class NginxServer: Sendable {
    let http: String
    let https: String
    /// The certificate of the authority that signed the server's certificate.
    let authority: String
    /// Retained, because its release closes the pipe.
    private let pipe: Pipe

    /// - Parameters:
    ///   - program: the path of `Tests/Servers/serve`.
    ///   - root: the folder to serve.
    init(program: String, root: String) throws {
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw MeasurementError("\(program) does not exist; run bench in the folder of the sources, or name the program with --servers")
        }
        let (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["--only", "bench", "--root", root, "--limit", "86400"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let description = try Self.read(output.fileHandleForReading, program)
        pipe = input
        http = try description.origin("bench.http")
        https = try description.origin("bench.https")
        authority = description.files["ca"] ?? ""
    }

    /// Reads the first line of output. The program continues to run.
    private static func read(_ output: FileHandle, _ program: String) throws -> ServerDescription {
        var text = Data()
        while text.last != UInt8(ascii: "\n") {
            let more = output.availableData
            guard !more.isEmpty else {
                throw MeasurementError("\(program) ended without the address of nginx; run 'make bench' to install what it needs")
            }
            text += more
        }
        return try JSONDecoder().decode(ServerDescription.self, from: text)
    }

    private struct ServerDescription: Decodable {
        struct Endpoint: Decodable {
            let scheme: String
            let port: Int
        }

        let endpoints: [String: Endpoint]
        let files: [String: String]
        let missing: [String: String]

        func origin(_ name: String) throws -> String {
            guard let endpoint = endpoints[name] else { throw MeasurementError(missing["bench"] ?? "nginx has no endpoint \(name)") }
            return "\(endpoint.scheme)://127.0.0.1:\(endpoint.port)"
        }
    }
}
