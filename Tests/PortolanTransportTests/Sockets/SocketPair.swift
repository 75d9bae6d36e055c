// SPDX-License-Identifier: Apache-2.0

import Glibc
import PortolanCore
import Synchronization

@testable import PortolanTransport

/// Two connected sockets: a nonblocking one for a transport, and a blocking one for the test.
final class SocketPair: Sendable {
    /// The socket of the transport, which closes it.
    let ours: CInt
    private let peers: CInt
    private let isOpen = Atomic(true)

    struct Failure: Error { let number: CInt }

    init() throws {
        var both: [CInt] = [-1, -1]
        guard unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &both) == 0 else {
            throw Failure(number: errno)
        }
        (ours, peers) = (both[0], both[1])
        _ = fcntl(ours, F_SETFL, O_NONBLOCK)
        // A test that waits for bytes that never arrive still ends.
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        unsafe setsockopt(peers, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close() }

    func close() {
        if isOpen.exchange(false, ordering: .relaxed) { _ = Glibc.close(peers) }
    }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe Glibc.send(peers, bytes, bytes.count, CInt(MSG_NOSIGNAL))
    }

    /// - Parameter size: the maximum size of each read.
    /// - Returns: `count` bytes; fewer at the end of the stream.
    func receive(_ count: Int, size: Int = 64 << 10) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: size)
        while bytes.count < count {
            let got = unsafe recv(peers, &piece, min(size, count - bytes.count), 0)
            guard got > 0 else { break }
            bytes += piece[..<got]
        }
        return bytes
    }

    /// Whether the other side has closed its socket.
    var hasEnded: Bool { receive(1).isEmpty }
}

/// Records the reports of a transport.
final class RecordingReceiver: ByteConnectionReceiver, Sendable {
    struct Report {
        var text = ""
        var ends = 0
        var isIdle = false
        var isWritableCount = 0
    }

    private let state = Mutex(Report())
    private let onReport: @Sendable (Report) -> Void

    /// - Parameter heard: called after each report.
    init(_ onReport: @escaping @Sendable (Report) -> Void = { _ in }) { self.onReport = onReport }

    var report: Report { state.withLock { $0 } }
    var isIdle: Bool { report.isIdle }

    private func note(_ change: (inout Report) -> Void) {
        onReport(
            state.withLock { state in
                change(&state)
                return state
            })
    }

    func becomeIdle() { state.withLock { $0.isIdle = true } }
    func didReceive(_ bytes: borrowing RawSpan) {
        let text = unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        note { $0.text += text }
    }
    func transportIsWritable() { note { $0.isWritableCount += 1 } }
    func transportDidEnd(_ failure: SocketError?) { note { $0.ends += 1 } }
}
