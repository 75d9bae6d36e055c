// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import Testing

/// Upload bodies of a plugin: from memory, a file or a stream, read once or twice, at the plugin's pace.
@Suite(.timeLimit(.minutes(2))) struct UploadTests {
    private static let bytes = (0..<5000).map { UInt8(ascii: "a") + UInt8($0 % 26) }

    private func upload(_ body: Body, to url: String, _ client: RecordingClient = RecordingClient()) throws -> TestHandlerLoad {
        let plugin = try Fixtures.plugin(url.hasPrefix("carrier") ? "carrier" : url.hasPrefix("ticker") ? "fixture-events" : "template")
        let load = try TestHandlerLoad(plugin, Request(url, method: .put, body: body), client: client)
        load.run()
        plugin.waitUntilIdle()
        #expect(load.violations.isEmpty)
        return load
    }

    @Test(arguments: ["template://echo", "ticker://echo"])
    func fileIsSent(url: String) throws {
        let folder = try TemporaryFolder()
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let load = try upload(.file(path: folder.write(bytes, to: "body")), to: url)
        #expect(load.client.bytes == bytes)
        #expect(load.client.events.first == .response(300_000))
        #expect(folder.openDescriptorCount == 0)
    }

    /// Reads a body, rewinds it and reads it again: the bytes are the same, and the count of sent bytes restarts.
    @Test(arguments: CarrierTests.styles, ["bytes", "file", "stream"])
    func bodyIsReadTwice(style: String, kind: String) throws {
        let folder = try TemporaryFolder()
        let stream = HandFedBody()
        stream.feed(Array(Self.bytes[..<3000]))
        stream.feed(Array(Self.bytes[3000...]))
        stream.finish()
        let body: Body =
            switch kind {
            case "bytes": .bytes(Self.bytes)
            case "file": try .file(path: folder.write(Self.bytes, to: "body"))
            default: stream.body(length: nil)
            }
        let load = try upload(body, to: "\(style)://twice", RecordingClient(newBody: .bytes(Self.bytes)))
        #expect(load.client.bytes == Self.bytes + Self.bytes)
        let sentTotals = load.client.events.compactMap { if case .sent(let total) = $0 { total } else { nil } }
        #expect(sentTotals.filter { $0 == 5000 }.count == 2)
        #expect(load.client.events.filter { $0 == .newBody }.count == (kind == "stream" ? 1 : 0))
    }

    @Test(arguments: CarrierTests.styles)
    func streamThatCannotBeRewoundFailsTheLoad(style: String) throws {
        let source = HandFedBody()
        source.feed([1])
        source.finish()
        #expect(try upload(source.body(length: nil), to: "\(style)://twice").client.error?.code == .bodyFailed)
    }

    /// The delegate can supply the new body later, and its first bytes later still. The host wakes the plugin for both.
    @Test(arguments: CarrierTests.styles)
    func loadWaitsForANewBody(style: String) throws {
        let (firstBody, newBody) = (HandFedBody(), HandFedBody())
        let plugin = try Fixtures.plugin("carrier")
        let delegate = NewBodyDelegate()
        let registry = ProtocolRegistry()
        for handler in plugin.handlers { registry.register(handler) }
        let request = try Request("\(style)://twice", method: .put, body: firstBody.body(length: nil))
        Loader(configuration: .init(), registry: registry).task(for: request, delegate: delegate).resume()
        firstBody.feed(Array("one;".utf8))
        firstBody.finish()
        delegate.waitForNewBodyRequest()(newBody.body(length: nil))
        newBody.feed(Array("two;".utf8))
        newBody.feed(Array("three".utf8))
        newBody.finish()
        #expect(delegate.waitForEnd() == "one;two;three")
        plugin.waitUntilIdle()
    }

    @Test(arguments: CarrierTests.styles)
    func progressReportsSentBytes(style: String) async throws {
        let registry = ProtocolRegistry()
        for handler in try Fixtures.plugin("carrier").handlers { registry.register(handler) }
        let delegate = RecordingDelegate()
        let request = try Request("\(style)://twice", method: .put, body: .bytes(Self.bytes))
        let task = Loader(configuration: .init(), registry: registry).task(for: request, delegate: delegate)
        task.resume()
        await delegate.ended()
        #expect(task.progress.bytesSent == 5000)
        #expect(task.progress.expectedBytesToSend == 5000)
        #expect(task.progress.bytesReceived == 10_000)
        #expect(task.progress.fractionReceived == 1)
    }

    /// While the reader is not ready, the plugin reads only one piece of the body.
    @Test(arguments: [("template://echo", 16384), ("ticker://echo", 4096)])
    func slowClientSlowsTheUpload(url: String, piece: Int) throws {
        let source = CountingBody(length: 1 << 20)
        let plugin = try Fixtures.plugin(url.hasPrefix("ticker") ? "fixture-events" : "template")
        let client = RecordingClient { _, event in if case .data = event { .pause } else { .keepGoing } }
        let load = try TestHandlerLoad(plugin, Request(url, method: .put, body: source.body), client: client)
        load.start()
        for round in 1...3 {
            client.wait { Self.hasPieces(round, $0) }
            #expect(source.readCount == round * piece)
            load.handlerLoad.resume()
        }
        client.wait { Self.hasPieces(4, $0) }
        load.handlerLoad.end(with: PluginCancelTests.cancelled)
        plugin.waitUntilIdle()
        #expect(source.readCount == 4 * piece)
    }

    /// Whether `count` pieces have arrived, or the load has ended.
    private static func hasPieces(_ count: Int, _ events: [RecordingClient.Event]) -> Bool {
        events.last?.isEnd == true || events.count { if case .data = $0 { true } else { false } } >= count
    }

    /// A body of zeros that counts the bytes read.
    private final class CountingBody: BodyReader {
        private let length: Int
        private let count = ConditionLock(0)

        init(length: Int) { self.length = length }

        var body: Body { Body(length: Int64(length), isRewindable: false) { self } }
        var readCount: Int { count.withLock { $0 } }

        func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
            count.withLock { count in
                guard count < length else { return .end }
                while buffer.freeCapacity > 0, count < length {
                    unsafe buffer.append(0, as: UInt8.self)
                    count += 1
                }
                return .bytes
            }
        }

        func close() {}
    }

    /// Stores the decision for a new body, and the delivered bytes.
    private final class NewBodyDelegate: LoadDelegate {
        private struct State {
            var answer: (@Sendable (Body?) -> Void)?
            var bytes: [UInt8] = []
            var hasEnded = false
        }

        private let state = ConditionLock(State())

        func waitForNewBodyRequest() -> @Sendable (Body?) -> Void { state.wait { $0.answer.take() } }
        func waitForEnd() -> String { state.wait { $0.hasEnded ? String(decoding: $0.bytes, as: UTF8.self) : nil } }

        func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
            unsafe bytes.withUnsafeBytes { bytes in state.withLock { state in unsafe state.bytes.append(contentsOf: bytes) } }
            return .keepGoing
        }
        func loadTask(_ task: LoadTask, needsNewBody answer: @escaping @Sendable (Body?) -> Void) {
            state.withLockBroadcasting { $0.answer = answer }
        }
        func loadTask(_ task: LoadTask, didEndWith error: LoadError?) { state.withLockBroadcasting { $0.hasEnded = true } }
    }
}
