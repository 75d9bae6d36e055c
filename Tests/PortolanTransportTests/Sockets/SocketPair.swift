// SPDX-License-Identifier: Apache-2.0

import Glibc
import PortolanCore
import Synchronization

@testable import PortolanTransport

/// Two connected sockets: a nonblocking one for a transport, and a blocking one for the test.
final class SocketPair: Sendable {
    /// The transport closes this socket.
    let transportSocket: CInt
    private let testSocket: CInt
    private let isOpen = Atomic(true)

    struct Failure: Error { let errorNumber: CInt }

    init() throws {
        var sockets: [CInt] = [-1, -1]
        guard unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &sockets) == 0 else {
            throw Failure(errorNumber: errno)
        }
        (transportSocket, testSocket) = (sockets[0], sockets[1])
        _ = fcntl(transportSocket, F_SETFL, O_NONBLOCK)
        // A test that waits for bytes that never arrive ends after 20 seconds.
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        unsafe setsockopt(testSocket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close() }

    func close() {
        if isOpen.exchange(false, ordering: .relaxed) { _ = Glibc.close(testSocket) }
    }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe Glibc.send(testSocket, bytes, bytes.count, CInt(MSG_NOSIGNAL))
    }

    /// - Parameter readSize: the maximum number of bytes of each read.
    /// - Returns: `count` bytes; fewer at the end of the stream.
    func receive(_ count: Int, readSize: Int = 64 << 10) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: readSize)
        while bytes.count < count {
            let receivedCount = unsafe recv(testSocket, &buffer, min(readSize, count - bytes.count), 0)
            guard receivedCount > 0 else { break }
            bytes += buffer[..<receivedCount]
        }
        return bytes
    }

    /// Whether the transport has closed its socket. Waits for bytes or the close.
    var hasEnded: Bool { receive(1).isEmpty }
}

/// A receiver that records what a transport reports.
final class RecordingReceiver: ByteConnectionReceiver, Sendable {
    struct Report {
        var text = ""
        var endCount = 0
        var isIdle = false
        var writableCount = 0
    }

    private let state = Mutex(Report())
    private let onReport: @Sendable (Report) -> Void

    /// - Parameter onReport: called after each report.
    init(_ onReport: @escaping @Sendable (Report) -> Void = { _ in }) { self.onReport = onReport }

    var report: Report { state.withLock { $0 } }
    var isIdle: Bool { report.isIdle }

    private func update(_ change: (inout Report) -> Void) {
        onReport(
            state.withLock { state in
                change(&state)
                return state
            })
    }

    func becomeIdle() { state.withLock { $0.isIdle = true } }
    func didReceive(_ bytes: borrowing RawSpan) {
        let text = unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        update { $0.text += text }
    }
    func transportIsWritable() { update { $0.writableCount += 1 } }
    func transportDidEnd(_ failure: SocketError?) { update { $0.endCount += 1 } }
}
