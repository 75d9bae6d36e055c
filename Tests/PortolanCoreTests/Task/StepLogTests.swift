// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Logging
import PortolanCore
import PortolanTestSupport
import Testing

/// The steps of a load in the loader's log.
@Suite struct StepLogTests {
    private let lines = ConditionLock<[String]>([])

    private func loader(_ level: Logger.Level, _ respond: @escaping @Sendable (Request) throws -> StubResponse) -> Loader {
        loader(level, StubHandler(identifier: "org.example.stub", schemes: .only(["x"]), respond: respond))
    }

    private func loader(_ level: Logger.Level, _ handlers: any ProtocolHandler...) -> Loader {
        var configuration = Loader.Configuration()
        configuration.handlers = handlers
        var logger = Logger(label: "test") { [lines] _ in StepLog(lines: lines) }
        logger.logLevel = level
        configuration.logger = logger
        return Loader(configuration: configuration, registry: ProtocolRegistry())
    }

    /// Redirects `x:a` to `x:b`, and responds to `x:b`.
    private static func redirect(_ request: Request) throws -> StubResponse {
        try request.url.path == "a" ? .redirect(to: URLRecord(parsing: "x:b")) : .text("four")
    }

    @Test func stepsAreLoggedWithTheURLOfTheTask() async throws {
        let (body, _) = try await loader(.debug, Self.redirect).data(from: "x:a")
        #expect(body.count == 4)
        #expect(
            lines.withLock { $0 } == [
                "debug x:a #1: loaded by org.example.stub", "debug x:a #1: redirected to x:b",
                "debug x:a #2: loaded by org.example.stub", "debug x:a: finished, 4 bytes",
            ])
    }

    @Test("The report of a redirected request is logged with the number of that request")
    func lateTransferIsLoggedWithItsRequest() async throws {
        let handler = ManualHandler { load in
            let client = load.client  // retained, as a handler does until its report
            if load.request.url.path == "a" {
                _ = load.redirect(to: (try? URLRecord(parsing: "x:b")) ?? load.request.url)
                client.didTransfer(TransferReport(networkProtocol: "h2"))
            } else {
                load.respond()
                load.finish()
            }
        }
        _ = try await loader(.debug, handler).data(from: "x:a")
        #expect(lines.withLock { $0 }.contains("debug x:a #1: transferred by h2 from an unknown address"))
    }

    @Test("The log names the source of a credential that answers a challenge, and no password")
    func sourceOfACredentialIsLogged() throws {
        let space = ProtectionSpace(kind: .password(scheme: "basic"), protocolName: "x", host: "h", port: 1, realm: "r")
        let storage = CredentialStorage()
        storage.set(.password(user: "stored", password: "s3cr3t", persistence: .loader), for: space)
        let ownAnswer = ClosureDelegate(onChallenge: { _ in .use(.password(user: "own", password: "s3cr3t")) })
        for (url, credentials, netrc, delegate, source) in [
            ("x://u:s3cr3t@h:1/", nil, nil, nil, "the URL's credential"), ("x://h:1/", storage, nil, nil, "a stored credential"),
            ("x://h:1/", nil, "machine h login n password s3cr3t", nil, "the credential of the netrc file"),
            ("x://h:1/", nil, nil, ownAnswer, "a credential"),
        ] as [(String, CredentialStorage?, String?, ClosureDelegate?, String)] {
            let handler = ManualHandler { load in
                load.client.didReceive(
                    AuthenticationChallenge(protectionSpace: space, previousFailureCount: 0) { _ in
                        load.respond()
                        load.finish()
                    })
            }
            lines.withLock { $0 = [] }
            var configuration = loader(.debug, handler).configuration
            configuration.credentials = credentials
            configuration.netrc = try netrc.map { try NetrcFile(parsing: Array($0.utf8)) }
            let loader = Loader(configuration: configuration, registry: ProtocolRegistry())
            _ = try loader.waitForData(for: Request(url), delegate: delegate)
            let logged = lines.withLock { $0 }
            #expect(logged.contains { $0.hasSuffix("#1: responds to the basic challenge of 'h' with \(source)") }, "\(logged)")
            #expect(!logged.joined().contains("s3cr3t"))
        }
    }

    @Test func handlerAfterAnInterceptorIsLogged() async throws {
        let stub = StubHandler(identifier: "org.example.stub") { _ in .text("four") }
        let (body, _) = try await loader(.debug, Interceptor(identifier: "org.example.front"), stub).data(from: "x:a")
        #expect(body.count == 4)
        #expect(
            lines.withLock { $0 } == [
                "debug x:a #1: loaded by org.example.front", "debug x:a #1: passed on to org.example.stub", "debug x:a: finished, 4 bytes",
            ])
    }

    @Test("The message of a handler's error is logged on one line, and without the passwords of its URLs")
    func handlersMessageIsLoggedSafely() async throws {
        let loader = loader(.debug) { _ in
            throw LoadError(.notFound, message: "no x://user:secret@host/a\n2026 error forged\u{1B}[31m", underlyingError: TwoLineError())
        }
        await #expect(throws: LoadError.self) { try await loader.data(from: "x:a") }
        #expect(
            lines.withLock { $0.last } == "debug x:a: failed: no x://host/a\\n2026 error forged\\u{1B}[31m: a cause\\r\\nwith x://host/b")
    }

    @Test func failuresAreLoggedWithoutPasswords() async throws {
        let loader = loader(.trace) { _ in throw LoadError(.notFound, message: "nothing is there") }
        await #expect(throws: LoadError.self) { try await loader.data(from: "x://user:secret@host/a") }
        await #expect(throws: LoadError.self) { try await loader.data(from: "y:a") }
        let lines = lines.withLock { $0 }
        #expect(lines.count == 3 && lines[1].hasSuffix("host/a: failed: nothing is there"), "\(lines)")
        #expect(lines.last?.hasPrefix("debug y:a: failed: no handler takes 'y:' URLs") == true, "\(lines)")
        #expect(!lines.contains { $0.contains("secret") })
    }

    @Test(arguments: [Logger.Level.info, .warning]) func otherLevelsLogNoSteps(level: Logger.Level) async throws {
        _ = try await loader(level, Self.redirect).data(from: "x:a")
        #expect(lines.withLock { $0.isEmpty })
    }
}

private struct TwoLineError: Error, CustomStringConvertible {
    var description: String { "a cause\r\nwith x://user:secret@host/b" }
}

/// A log handler that records the level, the task's URL, the request's number and the message.
private struct StepLog: LogHandler {
    let lines: ConditionLock<[String]>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let url = event.metadata?["url"].map { "\($0)" } ?? "-"
        let request = event.metadata?["request"].map { " #\($0)" } ?? ""
        lines.withLockBroadcasting { $0.append("\(event.level) \(url)\(request): \(event.message)") }
    }
}
