// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import Testing

/// One load of the echo plugin after another, each judged by the core's gate.
enum Echo {
    static let plugin = Result { () throws(LoadError) in try Fixtures.plugin("echo") }

    /// Loads `url` to its end.
    @discardableResult
    static func run(
        _ url: String, _ client: RecordingClient = RecordingClient(), of other: Plugin? = nil,
        _ change: (inout Request) throws -> Void = { _ in },
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> RecordingClient {
        let attempt = try start(url, client, of: other, change)
        attempt.waitUntilEnded()
        #expect(attempt.violations.isEmpty, sourceLocation: sourceLocation)
        #expect(client.events.filter(\.isEnd).count <= 1, sourceLocation: sourceLocation)
        return client
    }

    /// - Parameter box: is given the attempt before it starts.
    static func start(
        _ url: String, _ client: RecordingClient = RecordingClient(), of other: Plugin? = nil,
        heldIn box: HandlerLoadBox? = nil, _ change: (inout Request) throws -> Void = { _ in }
    ) throws -> TestHandlerLoad {
        var request = try Request(url)
        try change(&request)
        let attempt = try TestHandlerLoad(other ?? plugin.get(), request, client: client)
        box?.attempt = attempt.attempt
        attempt.start()
        return attempt
    }

    /// Loads `url` until the condition holds for the events, stops it, and waits until nothing is left of it.
    static func stop(
        _ url: String, _ client: RecordingClient = RecordingClient(), body: Body? = nil, when condition: ([RecordingClient.Event]) -> Bool
    ) throws -> [RecordingClient.Event] {
        let own = try Fixtures.plugin("echo")
        let attempt = try start(url, client, of: own) { $0.body = body }
        client.wait(until: condition)
        attempt.attempt.end(with: PluginCancelTests.cancelled)
        own.waitUntilIdle()
        #expect(attempt.violations.isEmpty)
        return client.events
    }

    /// The byte at offset i of a body that only has a size.
    static func pattern(_ range: Range<Int>) -> [UInt8] { range.map { UInt8($0 % 251) } }
}

extension RecordingClient {
    var text: String { String(decoding: bytes, as: UTF8.self) }
}
