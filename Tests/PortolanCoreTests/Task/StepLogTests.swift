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
        var configuration = Loader.Configuration()
        configuration.handlers = [StubHandler(identifier: "org.example.stub", schemes: .only(["x"]), respond: respond)]
        var logger = Logger(label: "test") { [lines] _ in StepLog(lines: lines) }
        logger.logLevel = level
        configuration.logger = logger
        return Loader(configuration: configuration, registry: ProtocolRegistry())
    }

    private static func redirect(_ request: Request) throws -> StubResponse {
        try request.url.path == "a" ? .redirect(to: URLRecord(parsing: "x:b")) : .text("four")
    }

    @Test func stepsAreLoggedWithTheURLOfTheTask() async throws {
        let (body, _) = try await loader(.debug, Self.redirect).data(from: "x:a")
        #expect(body.count == 4)
        #expect(
            lines.withLock { $0 } == [
                "debug x:a: loaded by org.example.stub", "debug x:a: redirected to x:b", "debug x:a: loaded by org.example.stub",
                "debug x:a: finished, 4 bytes",
            ])
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

private struct StepLog: LogHandler {
    let lines: ConditionLock<[String]>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lines.withLockBroadcasting { $0.append("\(event.level) \(event.metadata?["url"].map { "\($0)" } ?? "-"): \(event.message)") }
    }
}
