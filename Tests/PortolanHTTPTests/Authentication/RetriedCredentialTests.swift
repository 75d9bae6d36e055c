// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import PortolanTransport
import ServerSupport
import Testing

@testable import PortolanHTTP

/// A connection that is lost behind a password says nothing about the password.
@Suite(.timeLimit(.minutes(5))) struct RetriedCredentialTests {
    private static let refusal =
        "HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    private static let yes = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nyes"

    @Test(arguments: [0, 2]) func storedPasswordSurvivesALostConnection(retries: Int) async throws {
        let storage = CredentialStorage()
        var policy = RetryPolicy(limit: retries)
        policy.initialDelay = .zero
        var http = HTTPConfiguration()
        (http.proxies, http.threadCount) = (.direct, 1)
        let loader = PortolanTestSupport.loader(HTTPHandler(configuration: http)) { [policy] in
            ($0.retries, $0.credentials) = (policy, storage)
        }
        let server = try ScriptedServer(
            ScriptedServer.responding(Self.refusal), [.receiveHead, .reset], ScriptedServer.responding(Self.refusal),
            ScriptedServer.responding(Self.yes))
        let space = ProtectionSpace(
            kind: .password(scheme: "basic"), protocolName: "http", host: "127.0.0.1", port: server.port, realm: "r")
        storage.setDefaultCredential(.password(user: "user", password: "p1", persistence: .loader), for: space)
        let result: String
        do throws(LoadError) {
            result = "\(try await loader.data(from: server.url()).1.status?.code ?? 0)"
        } catch {
            result = "\(error.code)"
        }
        let sent = server.connections.map { String(decoding: $0.received, as: UTF8.self).contains("Authorization: Basic") }
        #expect(storage.defaultCredential(for: space) != nil, "\(result), sent: \(sent)")
        if retries > 0 { #expect(result == "200", "sent: \(sent)") }
    }
}
