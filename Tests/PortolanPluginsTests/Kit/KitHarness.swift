// SPDX-License-Identifier: Apache-2.0

import CPortolan
import Logging
import PortolanCore
import PortolanTestSupport
import TestThreads
import Testing

@testable import PortolanPlugins

/// The plugin of ``PluginKitTestHandler`` in the real host.
struct Kit: Sendable {
    let handler: any ProtocolHandler
    private let instance: HostedInstance

    init(_ json: String = "{}", logger: Logger = Logger(label: "tests")) throws {
        guard let entry = unsafe PluginKitTestHandler.entry(contractMajor: PORTOLAN_ABI_MAJOR) else {
            throw LoadError(.pluginNotLoadable, message: "the kit gives no descriptor")
        }
        let descriptor = unsafe try PluginDescriptor(entry.pointee)
        instance = unsafe try HostedInstance(
            descriptor, configuration: PluginConfiguration(json: json),
            extensions: { unsafe $0 == NestedTable.identifier ? UnsafeRawPointer(NestedTable.pointer) : nil }, logger: logger)
        handler = HostedHandler(descriptor.handlers[0], of: instance, threads: .shared)
    }

    func waitUntilIdle() { instance.waitUntilIdle() }

    /// Waits until the load has ended and the plugin is idle.
    func finish(_ load: TestHandlerLoad) async throws {
        try await inOwnThread {
            load.waitUntilEnded()
            waitUntilIdle()
        }
    }

    /// - Parameter box: receives the handler load before it starts.
    func start(
        _ url: String, _ client: RecordingClient = RecordingClient(), cached: CachedResponse? = nil, heldIn box: HandlerLoadBox? = nil,
        _ change: (inout Request) throws -> Void = { _ in }
    ) throws -> TestHandlerLoad {
        var request = try Request(url)
        try change(&request)
        let load = TestHandlerLoad(handler, request, cached: cached, client: client)
        box?.handlerLoad = load.handlerLoad
        load.start()
        return load
    }

    /// Runs a load to its end. Checks that it has no violations and ends at most once.
    @discardableResult
    func run(
        _ url: String, _ client: RecordingClient = RecordingClient(), cached: CachedResponse? = nil,
        _ change: (inout Request) throws -> Void = { _ in }, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> RecordingClient {
        let load = try start(url, client, cached: cached, change)
        try await finish(load)
        #expect(load.violations.isEmpty, sourceLocation: sourceLocation)
        #expect(client.events.filter(\.isEnd).count <= 1, sourceLocation: sourceLocation)
        return client
    }
}
