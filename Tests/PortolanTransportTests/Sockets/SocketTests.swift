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

    @Test(arguments: [
        (NetworkServiceType.default, 0), (.background, 0x04), (.responsiveData, 0x48), (.avStreaming, 0x68), (.responsiveAV, 0x80),
        (.video, 0x88), (.callSignaling, 0xA0), (.voice, 0xB8), (NetworkServiceType(rawValue: 0x20), 0x20),
    ])
    func serviceTypeIsTheFieldOfThePackets(_ row: (service: NetworkServiceType, field: Int)) throws {
        #expect(Int(row.service.rawValue) == row.field)
        for family in [AF_INET, AF_INET6] {
            let socket = try #require(Socket.make(family, for: row.service))
            #expect(socket.serviceField(family) == CInt(row.field) && socket.serviceField(AF_INET) == CInt(row.field))
        }
    }
}

extension Socket {
    /// The DS field of the socket's packets: getsockopt(2).
    func serviceField(_ family: CInt = AF_INET) -> CInt {
        var (field, size) = (CInt(-1), socklen_t(MemoryLayout<CInt>.size))
        let (level, option) = family == AF_INET6 ? (CInt(IPPROTO_IPV6), IPV6_TCLASS) : (CInt(IPPROTO_IP), IP_TOS)
        return unsafe getsockopt(descriptor, level, option, &field, &size) == 0 ? field : -1
    }
}
