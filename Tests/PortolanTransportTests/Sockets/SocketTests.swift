// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import PortolanTransport

@Suite("Sockets") struct SocketTests {
    /// Another file may have the descriptor's number by then: TLS sends an alert after a callback has closed the
    /// connection.
    @Test func closedSocketMakesNoSystemCall() throws {
        let pair = try SocketPair()
        let socket = Socket(pair.ours)
        socket.close()
        #expect(socket.sight == .end)
        var bytes: [UInt8] = [1, 2, 3]
        unsafe bytes.withUnsafeMutableBytes { buffer in
            guard case .end = unsafe socket.receive(buffer) else { Issue.record("something was read"); return }
            guard case .failed(.system(EPIPE)) = unsafe socket.send(UnsafeRawBufferPointer(buffer)) else {
                Issue.record("something was sent")
                return
            }
        }
        #expect(socket.send(file: 0, from: 0, atMost: 1) == -Int(EPIPE))
    }
}
