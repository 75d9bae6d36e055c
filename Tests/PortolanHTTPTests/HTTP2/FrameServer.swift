// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import ServerSupport
import Synchronization

@testable import PortolanHTTP

/// An HTTP/2 server on loopback, without TLS. A closure of the test handles each frame. The server itself only respects
/// the client's windows.
final class FrameServer: Sendable {
    typealias Script = @Sendable (Connection, ScriptedServer.Frame) -> Void

    struct Counts {
        var connections = 0
        var openStreams = 0
        var mostStreams = 0
        var goAways = 0
        /// The content bytes that were sent, by stream.
        var written: [Int: Int] = [:]
    }

    let server: ScriptedServer
    private let state: ConditionLock<Counts>

    var counts: Counts { state.withLock { $0 } }

    func wait(until condition: (Counts) -> Bool) {
        state.wait { condition($0) ? () : nil }
    }

    init(streams: Int = 100, script: @escaping Script) throws {
        let state = ConditionLock(Counts())
        self.state = state
        server = try ScriptedServer { number in
            state.withLockBroadcasting { $0.connections += 1 }
            let connection = Connection(number, state)
            return [
                .receiveThrough("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), .send(ServerFrames.settings([(3, streams)])),
                .respondToFrames { connection.respond(to: $0, script) }, .close,
            ]
        }
    }

    func request(_ path: String = "/") throws -> Request {
        var request = try Request(server.url(path))
        request.httpVersion = .http2
        return request
    }

    /// One connection of a client, with its streams by number.
    final class Connection: @unchecked Sendable {  // … because only the thread of the connection uses it
        private typealias F = ServerFrames

        private struct Stream {
            var window: Int
            var hasClientEnded = false
            var hasServerEnded = false
            var pending: [UInt8] = []
            var sent = 0
            var endsAfterPending = false
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
            sendPending()
            defer { output = [] }
            return isClosing ? nil : output
        }

        private func process(_ frame: ScriptedServer.Frame) {
            let value = frame.payload.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            switch frame.type {
            case 1:
                // `try?` because a test that needs the path fails without it.
                path = (try? decoder.decode(frame.payload))?.first { $0.name == ":path" }?.text ?? ""
                streams[frame.stream] = Stream(window: initialWindow)
                state.withLockBroadcasting {
                    $0.openStreams += 1
                    $0.mostStreams = max($0.mostStreams, $0.openStreams)
                }
            case 3: end(frame.stream)
            case 4 where frame.flags & 1 == 0: apply(frame.payload)
            case 7: state.withLockBroadcasting { $0.goAways += 1 }
            case 8 where frame.stream == 0: window += value
            case 8: streams[frame.stream]?.window += value
            default: break
            }
            if frame.endsRequest {
                streams[frame.stream]?.hasClientEnded = true
                endIfComplete(frame.stream)
            }
        }

        private func apply(_ settings: [UInt8]) {
            for start in stride(from: 0, to: settings.count - 5, by: 6) where settings[start + 1] == 4 {
                let value = settings[start + 2..<start + 6].reduce(0) { $0 << 8 | Int($1) }
                for number in streams.keys { streams[number]?.window += value - initialWindow }
                initialWindow = value
            }
            output += F.settingsAcknowledgement
        }

        private func end(_ number: Int) {
            if streams.removeValue(forKey: number) != nil { state.withLockBroadcasting { $0.openStreams -= 1 } }
        }

        private func endIfComplete(_ number: Int) {
            if let stream = streams[number], stream.hasClientEnded, stream.hasServerEnded { end(number) }
        }

        /// Sends the bytes that the windows allow.
        private func sendPending() {
            for number in streams.keys.sorted() {
                while let stream = streams[number], stream.sent < stream.pending.count, min(window, stream.window) > 0 {
                    let count = min(window, stream.window, 16_384, stream.pending.count - stream.sent)
                    let isLast = stream.endsAfterPending && stream.sent + count == stream.pending.count
                    output += F.data(Array(stream.pending[stream.sent..<stream.sent + count]), stream: number, ends: isLast)
                    window -= count
                    streams[number]?.window -= count
                    streams[number]?.sent += count
                    state.withLockBroadcasting { $0.written[number, default: 0] += count }
                    if isLast { serverEnded(number) }
                }
            }
        }

        private func serverEnded(_ number: Int) {
            streams[number]?.hasServerEnded = true
            endIfComplete(number)
        }

        // MARK: Calls of the script

        func respond(_ stream: Int, _ status: Int = 200, ends: Bool = true) {
            output += F.headers([(":status", String(status))], stream: stream, ends: ends)
            if ends { serverEnded(stream) }
        }

        /// Responds with these frames. The last one must end the stream.
        func respond(_ stream: Int, _ frames: [UInt8]) {
            output += frames
            serverEnded(stream)
        }

        func send(_ stream: Int, _ bytes: [UInt8], ends: Bool = true) {
            streams[stream]?.pending += bytes
            if ends { streams[stream]?.endsAfterPending = true }
        }

        func reset(_ stream: Int, _ code: Int) {
            output += F.reset(code, stream: stream)
            end(stream)
        }

        func allowNoStreams(refusing stream: Int) {
            output += F.settings([(3, 0)])
            reset(stream, 7)
        }

        func goAway(last: Int) { output += F.goAway(last: last) }

        func close() { isClosing = true }
    }
}
