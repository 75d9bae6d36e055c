// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The real servers, where they listen, and the files they use. They are started once a process, when first asked for, and end with it.
package struct TestServers: Sendable {
    /// Where a server listens.
    package struct Endpoint: Sendable, Decodable {
        package let scheme: String
        package let port: Int
        /// Whether it listens on ::1, too.
        package let ipv6: Bool

        /// - Parameter host: in brackets where it is an IPv6 address; the good certificate is for `localhost`, `portolan.test`, `127.0.0.1` and `::1`.
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
    /// Kept, for the servers end when it goes.
    private let process: ServingProcess

    private static let started = Result { try TestServers() }

    /// Takes a second or two the first time.
    ///
    /// - Throws: ``ServerError`` where they can't be started at all; a server that is missing throws when it is asked for.
    package static var shared: TestServers {
        get throws { try started.get() }
    }

    /// - Parameter parts: as `serve --list` says; all where there are none.
    package init(parts: [String] = []) throws {
        let program = URL(fileURLWithPath: "../Servers/serve", relativeTo: URL(fileURLWithPath: #filePath)).standardizedFileURL.path
        process = try ServingProcess(program, parts.flatMap { ["--only", $0] })
        let line = try process.firstLine()
        do {
            description = try JSONDecoder().decode(Description.self, from: Data(line))
        } catch {
            throw ServerError("Tests/Servers/serve said '\(String(decoding: line, as: UTF8.self))', which is not its description: \(error)")
        }
    }

    /// - Throws: ``ServerError`` with the reason why it was not started.
    package func endpoint(_ server: TestServer) throws -> Endpoint {
        if let endpoint = description.endpoints[server.rawValue] { return endpoint }
        throw ServerError(description.missing[server.part] ?? "Tests/Servers/serve has no server '\(server.rawValue)'")
    }

    package func url(_ server: TestServer, _ path: String = "/", host: String = "localhost") throws -> String {
        try endpoint(server).url(path, host: host)
    }

    package func path(of file: TestFile) throws -> String {
        if let path = description.files[file.rawValue] { return path }
        throw ServerError("Tests/Servers/serve has made no file '\(file.rawValue)'; its server may be missing: \(description.missing)")
    }

    /// The lines of a log, or of another file of text.
    package func lines(of file: TestFile) throws -> [String] {
        try String(contentsOfFile: path(of: file), encoding: .utf8).split(separator: "\n").map(String.init)
    }

    /// The first line of a log that holds `text`. Servers write theirs after the answer has gone, so it is looked for until it is there.
    ///
    /// - Throws: `CancellationError` where the task is cancelled first.
    package func line(of file: TestFile, with text: String) async throws -> String {
        while true {
            if let line = try lines(of: file).first(where: { $0.contains(text) }) { return line }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// What is in it goes when the servers end.
    package var folder: String { description.folder }
    /// Known to each server and proxy that asks for one.
    package var user: String { description.values["user"] ?? "" }
    package var password: String { description.values["password"] ?? "" }
    package var clientKeyPassword: String { description.values["clientKeyPassword"] ?? "" }
    /// The parts that were not started, with the reasons.
    package var missing: [String: String] { description.missing }
}
