// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import PortolanTransport

@Suite("Sockets") struct SocketTests {
    /// OpenSSL can send an alert after a callback has closed the socket. At that time, the descriptor's number can
    /// belong to another file.
    @Test func closedSocketMakesNoSystemCall() throws {
        let pair = try SocketPair()
        let socket = Socket(pair.transportSocket)
        socket.close()
        #expect(socket.peek() == .end)
        var bytes: [UInt8] = [1, 2, 3]
        unsafe bytes.withUnsafeMutableBytes { buffer in
            guard case .end = unsafe socket.receive(buffer) else { Issue.record("bytes were read"); return }
            guard case .failed(.system(EPIPE)) = unsafe socket.send(UnsafeRawBufferPointer(buffer)) else {
                Issue.record("bytes were sent")
                return
            }
        }
        #expect(socket.send(file: 0, from: 0, atMost: 1) == -Int(EPIPE))
    }
}
