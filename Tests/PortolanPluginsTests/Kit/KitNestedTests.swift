// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanData
import PortolanPlugins
import Testing

/// Nested loads of the kit.
@Suite(.timeLimit(.minutes(10))) struct KitNestedTests {
    private let stub = PluginStubHandler()
    private let kit: Kit
    private let loader: Loader

    init() throws {
        kit = try Kit()
        let registry = ProtocolRegistry()
        registry.register(stub)
        registry.register(kit.handler)
        loader = Loader(configuration: Loader.Configuration(), registry: registry)
    }

    private func waitUntilIdle() {
        kit.waitUntilIdle()
        stub.waitUntilIdle()
    }

    @Test(arguments: ["kit:nested?stub:1000000", "kit:nested?kit:nested?stub:1000000"])
    func bytesOfANestedLoadArrive(_ url: String) throws {
        let (data, response) = try loader.waitForData(for: Request(url))
        #expect(data.count == 1_000_000 && data.allSatisfy { $0 == 7 })
        #expect(response.mimeType?.essence == "application/octet-stream")
        waitUntilIdle()
    }

    /// Otherwise a plugin that decodes the nested body would have nothing to decode. This plugin delivers what it gets,
    /// also for HEAD.
    @Test func nestedLoadOfAHeadRequestHasABody() throws {
        let registry = ProtocolRegistry()
        registry.register(DataHandler())
        registry.register(kit.handler)
        let loader = Loader(configuration: Loader.Configuration(), registry: registry)
        var request = try Request("kit:nested?data:,abc")
        request.method = .head
        #expect(Array(try loader.waitForData(for: request).0) == Array("abc".utf8))
        kit.waitUntilIdle()
    }

    @Test(arguments: ["kit:nested?stub:0?fail", "kit:nested?stub:500000?fail", "kit:nested?kit:nested?stub:500000?fail"])
    func failureOfTheNestedLoadIsTheCauseOfTheParentsFailure(_ url: String) throws {
        let error = #expect(throws: LoadError.self) { try loader.waitForData(for: Request(url)) }
        #expect(error?.code == PluginStubHandler.failure.code, "\(String(describing: error))")
        var rootCause = error
        while let cause = rootCause?.underlyingError as? LoadError { rootCause = cause }
        #expect(rootCause == PluginStubHandler.failure && error != PluginStubHandler.failure)
        waitUntilIdle()
    }

    @Test(arguments: ["kit:nested?nosuch:x", "kit:nested?/relative"]) func nestedRequestWithAnInvalidURLFails(_ url: String) throws {
        #expect(#expect(throws: LoadError.self) { try loader.waitForData(for: Request(url)) }?.underlyingError != nil)
        waitUntilIdle()
    }

    /// The nested load hangs after 10000 bytes. The parent releases it, which closes it.
    @Test func releasedNestedLoadIsClosed() throws {
        let (data, _) = try loader.waitForData(for: Request("kit:stop-nested-early?stub:10000?hang"))
        #expect(String(decoding: data, as: UTF8.self) == "enough")
        waitUntilIdle()
    }

    @Test func stoppingTheParentLoadStopsTheNestedLoad() async throws {
        let (bytes, _) = try await loader.bytes(for: Request("kit:nested?stub:10000?hang"))
        for try await chunk in bytes {
            #expect(!chunk.isEmpty)
            break
        }
        bytes.task.cancel()
        waitUntilIdle()
    }

    @Test func thousandConcurrentLoadsAllEnd() throws {
        let request = try Request("kit:nested?kit:nested?stub:20000")
        let bodyLengths = ConditionLock<[Int]>([])
        for _ in 0..<1000 {
            loader.load(request) { result in
                let count = (try? result.get().0.count) ?? -1  // because a failure counts as a wrong count
                bodyLengths.withLockBroadcasting { $0.append(count) }
            }
        }
        #expect(Set(bodyLengths.wait { $0.count == 1000 ? $0 : nil }) == [20000])
        waitUntilIdle()
    }
}
