// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import ServerSupport
import Synchronization

@testable import PortolanHTTP

/// An HTTP/2 server on loopback, without TLS. A closure of the test (the script) responds to each frame. The server
/// queues the content that the script sends, and sends it as the client's flow-control windows allow.
final class FrameServer: Sendable {
    typealias Script = @Sendable (Connection, ScriptedServer.Frame) -> Void

    struct Counts {
        var connectionCount = 0
        var openStreamCount = 0
        var maximumOpenStreamCount = 0
        var goAwayCount = 0
        /// The number of content bytes that the server has sent, by stream.
        var sentContentBytes: [Int: Int] = [:]
    }

    let server: ScriptedServer
    private let state: ConditionLock<Counts>

    var counts: Counts { state.withLock { $0 } }

    func wait(until condition: (Counts) -> Bool) {
        state.wait { condition($0) ? () : nil }
    }

    /// - Parameters:
    ///   - maximumStreams: the number of concurrent streams that the server allows.
    ///   - script: is called for each frame of a client.
    init(maximumStreams: Int = 100, script: @escaping Script) throws {
        let state = ConditionLock(Counts())
        self.state = state
        server = try ScriptedServer { number in
            state.withLockBroadcasting { $0.connectionCount += 1 }
            let connection = Connection(number, state)
            return [
                .receiveThrough("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), .send(ServerFrames.settings([(3, maximumStreams)])),
                .respondToFrames { connection.respond(to: $0, script) }, .close,
            ]
        }
    }

    func request(_ path: String = "/") throws -> Request {
        var request = try Request(server.url(path))
        request.httpVersion = .http2
        return request
    }

    /// The server's side of one connection, with its streams.
    final class Connection: @unchecked Sendable {  // … because only the thread of the connection uses it
        private typealias Frames = ServerFrames

        private struct Stream {
            var window: Int
            var hasClientEnded = false
            var hasServerEnded = false
            /// All content of the response, including the bytes that are already sent.
            var content: [UInt8] = []
            var sentByteCount = 0
            var isContentComplete = false
        }

        /// The number of the connection, from 0.
        let number: Int
        private let state: ConditionLock<Counts>
        private let decoder = HPACKDecoder()
        private var output: [UInt8] = []
        private var isClosing = false
        private var window = 65_535
        private var initialWindow = 65_535
        private var streams: [Int: Stream] = [:]
        /// The path of the last request.
        private(set) var path = ""

        fileprivate init(_ number: Int, _ state: ConditionLock<Counts>) {
            self.number = number
            self.state = state
        }

        fileprivate func respond(to frame: ScriptedServer.Frame, _ script: Script) -> [UInt8]? {
            process(frame)
            script(self, frame)
            sendAllowedContent()
            defer { output = [] }
            return isClosing ? nil : output
        }

        private func process(_ frame: ScriptedServer.Frame) {
            let value = frame.payload.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            switch frame.type {
            case 1:  // HEADERS
                // `try?` because a test that needs the path fails without it.
                path = (try? decoder.decode(frame.payload))?.first { $0.name == ":path" }?.text ?? ""
                streams[frame.stream] = Stream(window: initialWindow)
                state.withLockBroadcasting {
                    $0.openStreamCount += 1
                    $0.maximumOpenStreamCount = max($0.maximumOpenStreamCount, $0.openStreamCount)
                }
            case 3: removeStream(frame.stream)  // RST_STREAM
            case 4 where frame.flags & 1 == 0: applySettings(frame.payload)  // SETTINGS without ACK
            case 7: state.withLockBroadcasting { $0.goAwayCount += 1 }
            case 8 where frame.stream == 0: window += value  // WINDOW_UPDATE
            case 8: streams[frame.stream]?.window += value
            default: break
            }
            if frame.endsRequest {
                streams[frame.stream]?.hasClientEnded = true
                removeIfBothSidesEnded(frame.stream)
            }
        }

        /// Applies SETTINGS_INITIAL_WINDOW_SIZE (4).
        private func applySettings(_ settings: [UInt8]) {
            for start in stride(from: 0, to: settings.count - 5, by: 6) where settings[start + 1] == 4 {
                let value = settings[start + 2..<start + 6].reduce(0) { $0 << 8 | Int($1) }
                for number in streams.keys { streams[number]?.window += value - initialWindow }
                initialWindow = value
            }
            output += Frames.settingsAcknowledgement
        }

        private func removeStream(_ number: Int) {
            if streams.removeValue(forKey: number) != nil { state.withLockBroadcasting { $0.openStreamCount -= 1 } }
        }

        private func removeIfBothSidesEnded(_ number: Int) {
            if let stream = streams[number], stream.hasClientEnded, stream.hasServerEnded { removeStream(number) }
        }

        /// Sends the content bytes that the flow-control windows allow.
        private func sendAllowedContent() {
            for number in streams.keys.sorted() {
                while let stream = streams[number], stream.sentByteCount < stream.content.count, min(window, stream.window) > 0 {
                    let count = min(window, stream.window, 16_384, stream.content.count - stream.sentByteCount)
                    let isLast = stream.isContentComplete && stream.sentByteCount + count == stream.content.count
                    output += Frames.data(
                        Array(stream.content[stream.sentByteCount..<stream.sentByteCount + count]), stream: number, endsStream: isLast)
                    window -= count
                    streams[number]?.window -= count
                    streams[number]?.sentByteCount += count
                    state.withLockBroadcasting { $0.sentContentBytes[number, default: 0] += count }
                    if isLast { serverDidEndStream(number) }
                }
            }
        }

        private func serverDidEndStream(_ number: Int) {
            streams[number]?.hasServerEnded = true
            removeIfBothSidesEnded(number)
        }

        // MARK: Methods for the script

        /// Responds with a head.
        ///
        /// - Parameter ends: whether the head ends the stream.
        func respond(_ stream: Int, _ status: Int = 200, endsStream: Bool = true) {
            output += Frames.headers([(":status", String(status))], stream: stream, endsStream: endsStream)
            if endsStream { serverDidEndStream(stream) }
        }

        /// Responds with these frames. The last one must end the stream.
        func respond(_ stream: Int, _ frames: [UInt8]) {
            output += frames
            serverDidEndStream(stream)
        }

        /// Adds content to the response. The server sends it as the flow-control windows allow.
        func send(_ stream: Int, _ bytes: [UInt8], endsStream: Bool = true) {
            streams[stream]?.content += bytes
            if endsStream { streams[stream]?.isContentComplete = true }
        }

        func reset(_ stream: Int, _ code: Int) {
            output += Frames.reset(code, stream: stream)
            removeStream(stream)
        }

        /// Sets SETTINGS_MAX_CONCURRENT_STREAMS (3) to 0, and refuses the stream (REFUSED_STREAM, 7).
        func allowNoStreams(refusing stream: Int) {
            output += Frames.settings([(3, 0)])
            reset(stream, 7)
        }

        /// - Parameter last: the last stream that the server processes.
        func goAway(last: Int) { output += Frames.goAway(last: last) }

        /// Closes the connection after the script returns. Its output is dropped.
        func close() { isClosing = true }
    }
}
