// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import Testing

/// Runs loads of the echo plugin and checks each for violations.
enum Echo {
    static let plugin = Result { () throws(LoadError) in try Fixtures.plugin("echo") }

    /// Loads `url` with the shared plugin or with another one, and waits for the end.
    ///
    /// - Parameter change: changes the request before the load starts.
    @discardableResult
    static func run(
        _ url: String, _ client: RecordingClient = RecordingClient(), cached: CachedResponse? = nil, of otherPlugin: Plugin? = nil,
        _ change: (inout Request) throws -> Void = { _ in },
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> RecordingClient {
        let load = try start(url, client, cached: cached, of: otherPlugin, change)
        load.waitUntilEnded()
        #expect(load.violations.isEmpty, sourceLocation: sourceLocation)
        #expect(client.events.filter(\.isEnd).count <= 1, sourceLocation: sourceLocation)
        return client
    }

    /// - Parameter box: receives the handler load before it starts.
    static func start(
        _ url: String, _ client: RecordingClient = RecordingClient(), cached: CachedResponse? = nil, of otherPlugin: Plugin? = nil,
        heldIn box: HandlerLoadBox? = nil, _ change: (inout Request) throws -> Void = { _ in }
    ) throws -> TestHandlerLoad {
        var request = try Request(url)
        try change(&request)
        let handler = try #require((otherPlugin ?? plugin.get()).handlers.first)
        let load = TestHandlerLoad(handler, request, cached: cached, client: client)
        box?.handlerLoad = load.handlerLoad
        load.start()
        return load
    }

    /// Loads `url` until the events meet the condition, stops the load, and waits until the plugin is idle.
    static func stop(
        _ url: String, _ client: RecordingClient = RecordingClient(), body: Body? = nil, when condition: ([RecordingClient.Event]) -> Bool
    ) throws -> [RecordingClient.Event] {
        let plugin = try Fixtures.plugin("echo")
        let load = try start(url, client, of: plugin) { $0.body = body }
        client.wait(until: condition)
        load.handlerLoad.end(with: PluginCancelTests.cancelled)
        plugin.waitUntilIdle()
        #expect(load.violations.isEmpty)
        return client.events
    }

    /// The bytes at these offsets of the body of `echo:size`.
    static func pattern(_ range: Range<Int>) -> [UInt8] { range.map { UInt8($0 % 251) } }
}

extension RecordingClient {
    var text: String { String(decoding: bytes, as: UTF8.self) }
}
