// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCoding

/// The events that a decoding stage keeps while its client pauses, and their order after the pause.
@Suite struct TransformStageTests {
    /// Returns a decoding stage that sends its events to the client.
    private func makeStage(_ client: any ProtocolClient) throws -> ContentDecodingStage {
        ContentDecodingStage(for: try Request("http://a/"), next: client)
    }

    private let hello = CodedBody.hello

    @Test func endDuringAPauseIsDeliveredAfterTheData() throws {
        let client = RecordingClient { _, _ in .pause }
        let stage = try makeStage(client)
        #expect(stage.didReceive(try CodedBody.response("gzip"), storage: .allowed) == .pause)
        #expect(stage.didLoad(CodedBody.gzip) == .pause, "the client still pauses, so the stage keeps the data")
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

    @Test func failureDuringAPauseIsDeliveredAfterTheData() throws {
        let client = RecordingClient { index, _ in index == 0 ? .pause : .keepGoing }
        let stage = try makeStage(client)
        _ = stage.didReceive(try CodedBody.response("gzip"), storage: .allowed)
        _ = stage.didLoad(CodedBody.gzip)
        let error = LoadError(.connectionLost, message: "gone")
        stage.didFail(with: error)
        #expect(stage.resume() == .stopped)
        #expect(client.events == [.response(nil), .data(hello.count), .failed(error)])
    }

    @Test func failureWithoutAPauseIsDeliveredImmediately() throws {
        let client = RecordingClient()
        let stage = try makeStage(client)
        _ = stage.didReceive(try CodedBody.response("gzip"), storage: .allowed)
        let error = LoadError(.connectionLost, message: "gone")
        stage.didFail(with: error)
        stage.didFinishLoading()
        #expect(client.events == [.response(nil), .failed(error)])
    }

    @Test func noEventFollowsADecodingError() throws {
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

    @Test func noEventFollowsStopped() throws {
        let client = RecordingClient { _, event in event == .response(nil) ? .keepGoing : .stopped }
        let stage = try makeStage(client)
        _ = stage.didReceive(try CodedBody.response("gzip"), storage: .allowed)
        #expect(stage.didLoad(Zlib.compress(CodedBody.longContents, .gzip)) == .stopped)
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

    /// `resume()` can be called while the client still handles an event, before the client returns `.pause`.
    @Test func resumeBeforeTheClientReturnsPauseIsNotLost() throws {
        let stageOfClient = Mutex<ContentDecodingStage?>(nil)
        let client = RecordingClient { _, _ in
            #expect(stageOfClient.withLock { $0 }?.resume() == .pause)
            return .pause
        }
        let stage = try makeStage(client)
        stageOfClient.withLock { $0 = stage }
        defer { stageOfClient.withLock { $0 = nil } }
        let codedBody = Zlib.compress(CodedBody.longContents, .gzip)
        #expect(stage.didReceive(try CodedBody.response("gzip"), storage: .allowed) == .keepGoing)
        #expect(stage.didLoad(codedBody) == .keepGoing)
        stage.didFinishLoading()
        #expect(client.bytes == CodedBody.longContents && client.events.last == .finished)
    }

    @Test func otherEventsAreForwarded() throws {
        let client = RecordingClient()
        let stage = try makeStage(client)
        stage.didReach(.firstByte)
        stage.didReceiveInterim(try CodedBody.response("", status: .earlyHints))
        stage.didSend(bodyBytes: 1, total: 2, expected: 3)
        #expect(stage.wasRedirected(to: try Request("http://b/"), redirectResponse: try CodedBody.response("")) == .keepGoing)
        stage.didFail(with: LoadError(.timedOut, message: "late"))
        #expect(client.events.count == 5)
    }

    /// The stage divides its output into pieces, also if it received all input in one piece. So the client can pause
    /// between the pieces of the output.
    @Test(arguments: ["gzip", "gzip, gzip"]) func outputOfOneInputPieceIsDeliveredInPieces(_ contentEncoding: String) throws {
        let body = [UInt8](repeating: 7, count: 10 << 20)
        var codedBody = Zlib.compress(body, .gzip)
        if contentEncoding == "gzip, gzip" { codedBody = Zlib.compress(codedBody, .gzip) }
        let readingClient = RecordingClient()
        let pausingClient = RecordingClient { _, event in event == .data(64 << 10) ? .pause : .keepGoing }
        for client in [readingClient, pausingClient] {
            let stage = try makeStage(client)
            _ = stage.didReceive(try CodedBody.response(contentEncoding), storage: .allowed)
            #expect(stage.didLoad(codedBody) == (client === pausingClient ? .pause : .keepGoing))
        }
        #expect(readingClient.bytes == body)
        #expect(readingClient.events.allSatisfy { if case .data(let count) = $0 { count <= 256 << 10 } else { true } })
        #expect(readingClient.events.contains(.data(256 << 10)), "the stage delivers a large body in larger pieces")
        #expect(pausingClient.bytes.count == 64 << 10)
    }

    @Test func pausedStageDecodesOneBufferOfOutputAtATime() throws {
        let client = RecordingClient { _, _ in .pause }
        let stage = try makeStage(client)
        _ = stage.didReceive(try CodedBody.response("gzip"), storage: .allowed)
        _ = stage.resume()
        let codedBody = Zlib.compress([UInt8](repeating: 7, count: 10 << 20), .gzip)
        _ = stage.didLoad(codedBody)
        #expect(client.bytes.count == 64 << 10)
        // The buffer grows from 64 KiB to 256 KiB after it was full once.
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
