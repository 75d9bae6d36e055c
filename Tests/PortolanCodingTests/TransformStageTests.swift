// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCoding

/// The bytes that a stage buffers during a pause, and their order.
@Suite struct TransformStageTests {
    private func makeStage(_ client: any ProtocolClient) throws -> ContentDecodingStage {
        ContentDecodingStage(for: try Request("http://a/"), next: client)
    }

    private let hello = CodedBody.hello

    @Test func endInAPauseComesAfterTheData() throws {
        let client = RecordingClient { _, _ in .pause }
        let stage = try makeStage(client)
        #expect(stage.didReceive(try CodedBody.response("gzip"), storage: .allowed) == .pause)
        #expect(stage.didLoad(CodedBody.gzip) == .pause, "buffered, although the load should have waited")
        stage.didReceiveTrailers([.eTag: "x"])
        stage.didFinishLoading()
        #expect(client.events == [.response(nil)])
        #expect(stage.resume() == .pause)
        #expect(client.events == [.response(nil), .data(hello.count)])
        #expect(stage.resume() == .stopped)
        #expect(client.events == [.response(nil), .data(hello.count), .trailers, .finished])
        #expect(client.trailers == [.eTag: "x"])
        #expect(stage.resume() == .stopped)
    }

    @Test func failureInAPauseComesAfterTheData() throws {
        let client = RecordingClient { index, _ in index == 0 ? .pause : .keepGoing }
        let stage = try makeStage(client)
        _ = stage.didReceive(try CodedBody.response("gzip"), storage: .allowed)
        _ = stage.didLoad(CodedBody.gzip)
        let error = LoadError(.connectionLost, message: "gone")
        stage.didFail(with: error)
        #expect(stage.resume() == .stopped)
        #expect(client.events == [.response(nil), .data(hello.count), .failed(error)])
    }

    @Test func failureWithoutAPauseComesImmediately() throws {
        let client = RecordingClient()
        let stage = try makeStage(client)
        _ = stage.didReceive(try CodedBody.response("gzip"), storage: .allowed)
        let error = LoadError(.connectionLost, message: "gone")
        stage.didFail(with: error)
        stage.didFinishLoading()
        #expect(client.events == [.response(nil), .failed(error)])
    }

    @Test func malformedBodyEndsTheLoad() throws {
        let client = RecordingClient()
        let stage = try makeStage(client)
        _ = stage.didReceive(try CodedBody.response("gzip"), storage: .allowed)
        #expect(stage.didLoad(hello) == .stopped)
        #expect(stage.didLoad(hello) == .stopped)
        stage.didReceiveTrailers([:])
        stage.didFinishLoading()
        stage.didFail(with: LoadError(.unknown, message: ""))
        #expect(client.events.count == 2 && client.error?.code == .decodingFailed)
    }

    @Test func noEventFollowsAStop() throws {
        let client = RecordingClient { _, event in event == .response(nil) ? .keepGoing : .stopped }
        let stage = try makeStage(client)
        _ = stage.didReceive(try CodedBody.response("gzip"), storage: .allowed)
        #expect(stage.didLoad(Deflated.make(CodedBody.long, .gzip)) == .stopped)
        #expect(stage.didLoad(CodedBody.gzip) == .stopped)
        stage.didFinishLoading()
        #expect(stage.resume() == .stopped)
        #expect(client.events.count == 2)
    }

    @Test func trailersOfATruncatedBodyAreDropped() throws {
        let client = RecordingClient()
        let stage = try makeStage(client)
        var load = StagedLoad(try CodedBody.response("gzip"), [Array(CodedBody.gzip.dropLast())])
        load.trailers = [.eTag: "x"]
        load.play(to: stage) { stage.resume() }
        #expect(client.error?.code == .truncated && client.trailers == nil)
    }

    /// A resume can arrive while the load's thread still calls the client.
    @Test func resumeBeforeThePauseReturnsIsNotLost() throws {
        let stageOfClient = Mutex<ContentDecodingStage?>(nil)
        let client = RecordingClient { _, _ in
            #expect(stageOfClient.withLock { $0 }?.resume() == .pause)
            return .pause
        }
        let stage = try makeStage(client)
        stageOfClient.withLock { $0 = stage }
        defer { stageOfClient.withLock { $0 = nil } }
        let coded = Deflated.make(CodedBody.long, .gzip)
        #expect(stage.didReceive(try CodedBody.response("gzip"), storage: .allowed) == .keepGoing)
        #expect(stage.didLoad(coded) == .keepGoing)
        stage.didFinishLoading()
        #expect(client.bytes == CodedBody.long && client.events.last == .finished)
    }

    @Test func otherEventsPassThrough() throws {
        let client = RecordingClient()
        let stage = try makeStage(client)
        stage.didReach(.firstByte)
        stage.didReceiveInterim(try CodedBody.response("", status: .earlyHints))
        stage.didSend(bodyBytes: 1, total: 2, expected: 3)
        #expect(stage.wasRedirected(to: try Request("http://b/"), redirectResponse: try CodedBody.response("")) == .keepGoing)
        stage.didFail(with: LoadError(.timedOut, message: "late"))
        #expect(client.events.count == 5)
    }

    /// The client can pause between any two pieces, whatever the size of one read of the connection.
    @Test(arguments: ["gzip", "gzip, gzip"]) func outputOfOneReadIsDeliveredInPieces(_ codings: String) throws {
        let body = [UInt8](repeating: 7, count: 10 << 20)
        var coded = Deflated.make(body, .gzip)
        if codings == "gzip, gzip" { coded = Deflated.make(coded, .gzip) }
        let (reader, waiting) = (RecordingClient(), RecordingClient { _, event in event == .data(64 << 10) ? .pause : .keepGoing })
        for client in [reader, waiting] {
            let stage = try makeStage(client)
            _ = stage.didReceive(try CodedBody.response(codings), storage: .allowed)
            #expect(stage.didLoad(coded) == (client === waiting ? .pause : .keepGoing))
        }
        #expect(reader.bytes == body)
        #expect(reader.events.allSatisfy { if case .data(let count) = $0 { count <= 256 << 10 } else { true } })
        #expect(reader.events.contains(.data(256 << 10)), "large bodies come in larger pieces")
        #expect(waiting.bytes.count == 64 << 10)
    }

    @Test func pausedStageKeepsOneBufferOfOutput() throws {
        let client = RecordingClient { _, _ in .pause }
        let stage = try makeStage(client)
        _ = stage.didReceive(try CodedBody.response("gzip"), storage: .allowed)
        _ = stage.resume()
        let coded = Deflated.make([UInt8](repeating: 7, count: 10 << 20), .gzip)
        _ = stage.didLoad(coded)
        #expect(client.bytes.count == 64 << 10)
        // The buffer grows after it was full once.
        for count in 1...39 {
            #expect(stage.resume() == .pause)
            #expect(client.bytes.count == (64 + count * 256) << 10)
        }
        #expect(stage.resume() == .pause)
        #expect(client.bytes.count == 10 << 20)
        #expect(stage.resume() == .keepGoing)
    }
}

extension ForwardingClient {
    fileprivate func didLoad(_ bytes: [UInt8]) -> Flow {
        let span = unsafe bytes.span.bytes
        return didLoad(span)
    }
}
