// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import Testing

/// Nested loads through `portolan.nested/1`, in both styles.
@Suite(.timeLimit(.minutes(2))) struct NestedTests {
    private let stubHandler = PluginStubHandler()
    private let registry = ProtocolRegistry()
    private let plugins: [Plugin]

    init() throws {
        let threads = LoadThreadPool(limit: 4)
        plugins = [try Fixtures.plugin("relay", threads: threads), try Fixtures.plugin("fixture-events", threads: threads)]
        registry.register(stubHandler)
        for plugin in plugins {
            for handler in plugin.handlers { registry.register(handler) }
        }
    }

    private func loader(_ change: (inout Loader.Configuration) -> Void = { _ in }) -> Loader {
        var configuration = Loader.Configuration()
        change(&configuration)
        return Loader(configuration: configuration, registry: registry)
    }

    private func waitUntilIdle() {
        for plugin in plugins { plugin.waitUntilIdle() }
        stubHandler.waitUntilIdle()
    }

    @Test(arguments: [
        "relay:stub:1000000", "relay:relay:relay:stub:1000000", "ticker://nest?url=stub%3A1000000",
        "ticker://nest?url=relay%3Astub%3A1000000",
        "relay:ticker://nest?url=relay%3Astub%3A1000000",
    ])
    func bytesOfANestedLoadArrive(_ url: String) throws {
        let (data, response) = try loader().waitForData(for: Request(url))
        #expect(data.count == 1_000_000)
        #expect(data.allSatisfy { $0 == 7 })
        #expect(response.mimeType?.essence == "application/octet-stream")
        waitUntilIdle()
    }

    @Test(arguments: [
        "relay:stub:0?fail", "relay:stub:500000?fail", "relay:relay:stub:500000?fail", "ticker://nest?url=stub%3A0%3Ffail",
        "ticker://nest?url=stub%3A500000%3Ffail",
    ])
    func failureOfTheNestedLoadIsTheCauseOfTheParentsFailure(_ url: String) throws {
        let error = #expect(throws: LoadError.self) { try loader().waitForData(for: Request(url)) }
        var rootCause = error
        while let cause = rootCause?.underlyingError as? LoadError { rootCause = cause }
        #expect(rootCause == PluginStubHandler.failure)
        #expect(error != PluginStubHandler.failure)
        waitUntilIdle()
    }

    @Test(arguments: ["relay:nosuch:x", "relay:///", "ticker://nest?url=%2Frelative"])
    func nestedRequestWithAnInvalidURLFails(_ url: String) throws {
        let error = #expect(throws: LoadError.self) { try loader().waitForData(for: Request(url)) }
        #expect(error?.underlyingError != nil)
        waitUntilIdle()
    }

    @Test func nestingDeeperThanTheLimitFails() throws {
        let loader = loader { $0.nestingLimit = 2 }
        #expect(try loader.waitForData(for: Request("relay:relay:stub:10")).0.count == 10)
        let error = #expect(throws: LoadError.self) { try loader.waitForData(for: Request("relay:relay:relay:stub:10")) }
        var codes: [LoadError.Code] = []
        var nextError = error
        while let error = nextError {
            codes.append(error.code)
            nextError = error.underlyingError as? LoadError
        }
        #expect(codes.contains(.nestedTooDeep), "\(codes)")
        waitUntilIdle()
    }

    @Test(arguments: ["relay:stub:10000?hang", "relay:relay:stub:10000?hang", "ticker://nest?url=stub%3A10000%3Fhang"])
    func stoppingTheParentLoadStopsTheNestedLoad(_ url: String) async throws {
        let (bytes, _) = try await loader().bytes(for: Request(url))
        for try await chunk in bytes {
            #expect(!chunk.isEmpty)
            break
        }
        bytes.task.cancel()
        waitUntilIdle()
    }

    /// A thousand loads, nested three times, with four threads for blocking loads.
    @Test(arguments: ["relay:relay:relay:stub:20000", "relay:ticker://nest?url=relay%3Astub%3A20000"])
    func thousandConcurrentLoadsAllEnd(_ url: String) throws {
        let loader = loader()
        let request = try Request(url)
        let bodyLengths = ConditionLock<[Int]>([])
        for _ in 0..<1000 {
            loader.load(request) { result in
                let count = (try? result.get().0.count) ?? -1  // because a failure counts as a wrong count
                bodyLengths.withLockBroadcasting { $0.append(count) }
            }
        }
        let counts = bodyLengths.wait { $0.count == 1000 ? $0 : nil }
        #expect(Set(counts) == [20000])
        waitUntilIdle()
    }
}
