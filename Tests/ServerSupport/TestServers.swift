// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The endpoints and files of the real servers. The servers of ``shared`` start at the first use and end with the
/// process.
package struct TestServers: Sendable {
    /// The address of a server.
    package struct Endpoint: Sendable, Decodable {
        package let scheme: String
        package let port: Int
        /// Whether the server also listens on ::1.
        package let ipv6: Bool

        /// - Parameter host: the host of the URL; an IPv6 address needs brackets. The good certificate is valid for
        ///   `localhost`, `portolan.test`, `127.0.0.1` and `::1`.
        package func url(_ path: String = "/", host: String = "localhost") -> String { "\(scheme)://\(host):\(port)\(path)" }
    }

    private struct Description: Decodable {
        let folder: String
        let endpoints: [String: Endpoint]
        let files: [String: String]
        let values: [String: String]
        let missing: [String: String]
    }

    private let description: Description
    /// The servers end when this process object is released.
    private let process: ServingProcess

    private static let sharedResult = Result { try TestServers() }

    /// The servers of this process. The first access takes one or two seconds.
    ///
    /// - Throws: ``ServerError`` if `serve` cannot start. If only one server is missing, ``endpoint(_:)`` throws.
    package static var shared: TestServers {
        get throws { try sharedResult.get() }
    }

    /// - Parameter parts: names from `serve --list`; an empty array starts the parts that `serve` starts by default.
    package init(parts: [String] = []) throws {
        let program = URL(fileURLWithPath: "../Servers/serve", relativeTo: URL(fileURLWithPath: #filePath)).standardizedFileURL.path
        process = try ServingProcess(program, parts.flatMap { ["--only", $0] })
        let line = try process.firstLine()
        do {
            description = try JSONDecoder().decode(Description.self, from: Data(line))
        } catch {
            throw ServerError("Tests/Servers/serve printed '\(String(decoding: line, as: UTF8.self))' instead of its description: \(error)")
        }
    }

    /// - Throws: ``ServerError`` with the reason why the server was not started.
    package func endpoint(_ server: TestServer) throws -> Endpoint {
        if let endpoint = description.endpoints[server.rawValue] { return endpoint }
        throw ServerError(description.missing[server.part] ?? "Tests/Servers/serve has no server '\(server.rawValue)'")
    }

    package func url(_ server: TestServer, _ path: String = "/", host: String = "localhost") throws -> String {
        try endpoint(server).url(path, host: host)
    }

    package func path(of file: TestFile) throws -> String {
        if let path = description.files[file.rawValue] { return path }
        throw ServerError(
            "Tests/Servers/serve has not created the file '\(file.rawValue)'; its server may be missing: \(description.missing)")
    }

    /// The lines of a log or of another text file.
    package func lines(of file: TestFile) throws -> [String] {
        try String(contentsOfFile: path(of: file), encoding: .utf8).split(separator: "\n").map(String.init)
    }

    /// Waits for the first line of a log that contains `text`. Reads the file repeatedly, because servers write the
    /// line after they have sent the response.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    package func line(of file: TestFile, with text: String) async throws -> String {
        while true {
            if let line = try lines(of: file).first(where: { $0.contains(text) }) { return line }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// The folder of the servers. Its contents are deleted when the servers end.
    package var folder: String { description.folder }
    /// The user name that all servers and proxies with authentication accept.
    package var user: String { description.values["user"] ?? "" }
    package var password: String { description.values["password"] ?? "" }
    package var clientKeyPassword: String { description.values["clientKeyPassword"] ?? "" }
    /// The parts that `serve` did not start, with the reasons.
    package var missing: [String: String] { description.missing }
}
