// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Logging
import PortolanCore
import PortolanData
import PortolanPlugins
import PortolanTestSupport
import Synchronization
import Testing

/// Plugins in a real loader: redirects, challenges, nesting and threads, from the caller's view.
@Suite(.timeLimit(.minutes(2))) struct LoaderTests {
    private let threads = LoadThreadPool(limit: 4)

    private func loader(_ names: String..., configure: (inout Loader.Configuration) -> Void = { _ in }) throws -> Loader {
        let registry = ProtocolRegistry()
        registry.register(DataHandler())
        for name in names {
            for handler in try Fixtures.plugin(name, threads: threads).handlers { registry.register(handler) }
        }
        var configuration = Loader.Configuration()
        configuration.logger.logLevel = .critical
        configure(&configuration)
        return Loader(configuration: configuration, registry: registry)
    }

    // MARK: Nested loads

    @Test func nestedLoadsWorkThreeLevelsDeep() async throws {
        let loader = try loader("relay")
        let (body, response) = try await loader.data(from: "relay:relay:relay:data:text/html,inner")
        #expect(String(decoding: body, as: UTF8.self) == "inner")
        #expect(response.mimeType?.essence == "text/html")
    }

    /// Each load uses up to three threads at the same time. If nested loads waited for the four threads, no load would
    /// end.
    @Test func thousandLoadsNestedThreeTimesRunOnFourThreads() async throws {
        let loader = try loader("relay")
        let text = String(repeating: "0123456789", count: 1000)
        let bodies = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    let (body, _) = try await loader.data(from: "relay:relay:relay:data:,\(text)\(number)")
                    return String(decoding: body, as: UTF8.self)
                }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(bodies == Set((0..<1000).map { "\(text)\($0)" }))
    }

    @Test func nestingDeeperThanTheLimitFails() async throws {
        let loader = try loader("relay") { $0.nestingLimit = 2 }
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: "relay:relay:relay:data:,x") }
        #expect(Self.codes(of: error).contains(.nestedTooDeep))
    }

    @Test func failureOfTheNestedLoadIsTheCauseOfTheParentsFailure() async throws {
        let loader = try loader("relay")
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: "relay:data:;base64,A") }
        #expect(Self.codes(of: error).contains(.badURL))
    }

    @Test func eventDrivenLoadCanStartANestedLoad() async throws {
        let loader = try loader("fixture-events", "relay")
        let url = "ticker://nest?url=relay:data:,inner"
        let (body, _) = try await loader.data(from: url)
        #expect(String(decoding: body, as: UTF8.self).contains("inner"))
    }

    @Test(arguments: [
        ("misuse://closed-twice", "NEST-08"), ("misuse://used-after-close", "NEST-08"), ("misuse://null-place", "DESC-05"),
        ("misuse://null-handle", "ORDER-02"),
    ])
    func misuseOfANestedLoadFailsTheParentLoad(url: String, rule: String) async throws {
        let loader = try loader("misuse")
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: url) }
        #expect(error.rule?.id == rule)
    }

    // MARK: Redirects, challenges, uploads

    @Test func redirectLeadsToAnotherHandler() async throws {
        let (body, response) = try await loader("template").data(from: "template://redirect?to=data:,elsewhere")
        #expect(String(decoding: body, as: UTF8.self) == "elsewhere")
        #expect(response.url.description == "data:,elsewhere")
    }

    @Test func redirectToAFileURLIsRefused() async throws {
        let loader = try loader("template")
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: "template://redirect?to=file:///etc/passwd") }
        #expect(error.code == .badRedirect)
    }

    @Test func userInformationOfTheURLAnswersAChallenge() async throws {
        let loader = try loader("template")
        let (body, _) = try await loader.data(from: "template://guest:sesame@secret")
        #expect(!body.isEmpty)
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: "template://guest:wrong@secret") }
        #expect(error.code == .authenticationRequired)
        #expect(!error.description.contains("wrong"))
    }

    @Test func slowlyWrittenUploadIsEchoed() async throws {
        let loader = try loader("template")
        let pipe = BodyWriter(capacity: 10)
        async let result = loader.data(for: Request("template://echo", method: .put, body: pipe.body()))
        for number in 0..<100 { try await pipe.write(Array("piece \(number)\n".utf8)) }
        pipe.finish()
        let text = try await String(decoding: result.0, as: UTF8.self)
        #expect(text == (0..<100).map { "piece \($0)\n" }.joined())
    }

    // MARK: Backpressure and cancellation

    @Test(arguments: ["template://greet/World?times=200000", "ticker://2000?size=1400"])
    func slowReaderKeepsTheBufferBounded(url: String) async throws {
        let loader = try loader("template", "fixture-events") { $0.bufferSize = 4096 }
        let (chunks, response) = try await loader.bytes(from: url)
        var count: Int64 = 0
        for try await chunk in chunks {
            count += Int64(chunk.count)
            let bufferedCount = chunks.task.progress.bytesReceived - count
            // At most the limit and one more delivery are buffered.
            #expect(bufferedCount <= 4096 + 64 << 10)
        }
        #expect(count == 2_800_000)
        #expect(response.expectedLength == nil || response.expectedLength == count)
    }

    @Test(arguments: ["template://greet/World?times=1000", "ticker://20?size=100", "relay:template://greet/World?times=1000"], 0..<6)
    func noEventFollowsACancelAtAnyEvent(url: String, index: Int) async throws {
        let eventCount = Mutex(0)
        let delegate = RecordingDelegate { event, task in
            if case .failed = event { return .keepGoing }
            let isCancelEvent = eventCount.withLock { count in
                defer { count += 1 }
                return count == index
            }
            if isCancelEvent { task.cancel() }
            return .keepGoing
        }
        let task = try loader("template", "fixture-events", "relay").task(for: Request(url), delegate: delegate)
        task.resume()
        await delegate.ended()
        let endEvents = delegate.events.filter { if case .failed = $0 { true } else { $0 == .finished } }
        #expect(endEvents.count == 1)
        #expect(delegate.events.last == endEvents.first)
    }

    @Test func unregisteringWaitsForTheLastLoad() async throws {
        let registry = ProtocolRegistry()
        let plugin = try Fixtures.plugin("fixture", threads: threads)
        let registrations = plugin.handlers.map { registry.register($0) }
        let loader = Loader(configuration: .init(), registry: registry)
        let delegate = RecordingDelegate()
        let task = loader.task(for: try Request("fixture-events://silent"), delegate: delegate)
        task.resume()
        let removals = registrations.map { registry.unregister($0) }
        let error = try await #require(throws: LoadError.self) { try await loader.data(from: "fixture-events://good") }
        #expect(error.code == .unsupportedScheme)
        #expect(removals.contains { !$0.isFinished })
        task.cancel()
        for removal in removals { await removal.finished() }
        #expect(delegate.events.last == .failed(.cancelled))
    }

    /// The codes of an error and of its causes.
    private static func codes(of error: LoadError) -> [LoadError.Code] {
        [error.code] + ((error.underlyingError as? LoadError).map(codes) ?? [])
    }
}
