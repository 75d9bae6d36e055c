// SPDX-License-Identifier: Apache-2.0

import Foundation

/// nginx on loopback, for the rows that load over HTTP: one process, no log, no end to a connection, sendfile. Started once a run, when a row first asks.
///
/// It serves `/1KiB`, `/64KiB`, `/1MiB` and `/1GiB`, and takes what is sent to `/sink`. `Tests/Servers/serve` ends it when this program ends, however
/// that happens: nobody else has the other end of its standard input.
final class NginxServer: Sendable {
    /// `http://127.0.0.1:PORT`
    let http: String
    /// `https://localhost:PORT`, HTTP/2 by ALPN; ``authority`` is to be trusted.
    let https: String
    /// The certificate of the authority, PEM.
    let authority: String
    /// For its memory and its processor time, beside the client's.
    let folder: String
    private let process: Process
    private let input = Pipe()

    private struct Description: Decodable {
        struct Endpoint: Decodable {
            let port: Int
        }

        let folder: String
        let endpoints: [String: Endpoint]
        let files: [String: String]
        let missing: [String: String]
    }

    private static let started = Result { try NginxServer() }

    /// - Throws: ``Missing``, with the reason.
    static var shared: NginxServer {
        get throws { try started.get() }
    }

    private init() throws {
        let source = URL(fileURLWithPath: #filePath)
        let program = URL(fileURLWithPath: "../../../../Tests/Servers/serve", relativeTo: source).standardizedFileURL
        let output = Pipe()
        process = Process()
        process.executableURL = program
        process.arguments = ["--only", "bench", "--limit", "86400"]
        process.standardInput = input
        process.standardOutput = output
        do {
            try process.run()
        } catch {
            throw Missing("\(program.path) can't be started: \(error)")
        }
        let description = try Self.description(from: output.fileHandleForReading)
        guard let http = description.endpoints["bench.http"], let https = description.endpoints["bench.https"],
            let authority = description.files["ca"]
        else { throw Missing("nginx was not started: \(description.missing["bench"] ?? "its description is incomplete")") }
        self.http = "http://127.0.0.1:\(http.port)"
        self.https = "https://localhost:\(https.port)"
        self.authority = authority
        folder = description.folder
    }

    private static func description(from output: FileHandle) throws -> Description {
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            let bytes = output.availableData
            if bytes.isEmpty { throw Missing("nginx was not started: run scripts/packages.sh bench") }
            line += bytes
        }
        return try JSONDecoder().decode(Description.self, from: line)
    }
}
