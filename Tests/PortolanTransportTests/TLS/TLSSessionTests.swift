// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import PortolanCore
import ServerSupport
import TestThreads
import Testing

@testable import PortolanTransport

@Suite("TLS sessions", .timeLimit(.minutes(1))) struct TLSSessionTests {
    @Test("A close_notify for which the socket has no room is sent later, and only once")
    func closeNotifyIsSentLater() async throws {
        let server = try await SecureServer("good", .script([.receiveToEnd, .send(text: "seen")]))
        try await inOwnThread {
            let transport = try BlockableTransport(port: server.port)
            let delegate = TrustingDelegate()
            var settings = TLSSettings()
            settings.verification = .none
            let context = try TLSContext(settings, roots: TLSContext.Roots(), protocols: [], identity: nil)
            let session = try TLSSession(context, over: transport, as: .client(serverName: nil, ticket: nil), delegate: delegate)
            while true {
                guard case .done = session.handshake() else {
                    transport.waitToRead()
                    continue
                }
                break
            }
            let head = Array("a\r\n\r\n".utf8)
            guard case .moved = unsafe head.withUnsafeBytes({ unsafe session.write($0) }) else {
                Issue.record("the head was not sent")
                return
            }
            let sendCount = transport.sendCount
            transport.acceptsBytes = false
            #expect(!session.shutDown())
            #expect(transport.sendCount == sendCount)
            transport.acceptsBytes = true
            #expect(session.shutDown())
            #expect(transport.sendCount == sendCount + 1)
            #expect(session.shutDown())
            #expect(transport.sendCount == sendCount + 1)
            // The server responds when it has received close_notify. The socket is still open for sending.
            var response = [UInt8](repeating: 0, count: 4)
            reading: while true {
                switch unsafe response.withUnsafeMutableBytes({ unsafe session.read(into: $0) }) {
                case .bytes: break reading
                case .wantsRead: transport.waitToRead()
                case .wantsWrite, .paused, .end, .failed: return _ = Issue.record("no response came")
                }
            }
            #expect(response == Array("seen".utf8))
        }
        try await server.stop()
    }

    @Test("A session reads a limited number of bytes in one loop iteration, and continues in the next")
    func readsOfOneIterationAreLimited() async throws {
        let size = 1 << 20
        let server = try await SecureServer("good", .script([.send([UInt8](repeating: 7, count: size))]))
        try await inOwnThread {
            let transport = try BlockableTransport(port: server.port)
            let delegate = TrustingDelegate()
            var settings = TLSSettings()
            settings.verification = .none
            let context = try TLSContext(settings, roots: TLSContext.Roots(), protocols: [], identity: nil)
            let session = try TLSSession(context, over: transport, as: .client(serverName: nil, ticket: nil), delegate: delegate)
            while true {
                guard case .done = session.handshake() else {
                    transport.waitToRead()
                    continue
                }
                break
            }
            _ = unsafe Array("a\r\n\r\n".utf8).withUnsafeBytes { unsafe session.write($0) }
            session.beginIteration()
            var (count, iterationBytes, iterationCount) = (0, 0, 0)
            var buffer = [UInt8](repeating: 0, count: 16 << 10)
            reading: while count < size {
                switch unsafe buffer.withUnsafeMutableBytes({ unsafe session.read(into: $0) }) {
                case .bytes(let readCount): (count, iterationBytes) = (count + readCount, iterationBytes + readCount)
                case .wantsRead: transport.waitToRead()
                case .paused:
                    #expect(iterationBytes <= TLSSession.iterationLimit + 64 << 10)
                    (iterationBytes, iterationCount) = (0, iterationCount + 1)
                    session.beginIteration()
                case .wantsWrite, .end, .failed: break reading
                }
            }
            #expect(count == size && iterationCount >= 3)
        }
        try await server.stop()
    }

    @Test("A session is resumed for a day after the verification of the certificate, and not after the certificate has expired")
    func certificateVerificationExpiresAfterADay() throws {
        let chain = [try certificates().der("good")]
        let end = try #require(ServerCertificate(der: chain[0])?.notAfter.seconds)
        let time: Int64 = 1_800_000_000
        let evaluation = ServerTrustEvaluation(chain: chain, error: nil, time: time)
        let day: Int64 = 24 * 3600
        #expect(!evaluation.isValid(at: time - 1))
        #expect(evaluation.isValid(at: time))
        #expect(evaluation.isValid(at: time + day - 1))
        #expect(!evaluation.isValid(at: time + day))
        let evaluationAtTheEnd = ServerTrustEvaluation(chain: chain, error: nil, time: end)
        #expect(evaluationAtTheEnd.isValid(at: end) && !evaluationAtTheEnd.isValid(at: end + 1))
    }
}

/// A transport over a socket that accepts no bytes while `acceptsBytes` is `false`. Use it on one thread.
private final class BlockableTransport: TLSRecordTransport {
    private let socket: Socket
    var acceptsBytes = true
    private(set) var sendCount = 0

    struct Failure: Error {}

    init(port: Int) throws {
        guard let address = IPAddress("127.0.0.1"), let socket = Socket.make(AF_INET) else { throw Failure() }
        self.socket = socket
        let status = socket.connect(to: SocketAddress(address, port: port))
        guard status == 0 || status == EINPROGRESS else { throw Failure() }
        wait(for: POLLOUT)
    }

    deinit { socket.close() }

    func waitToRead() { wait(for: POLLIN) }

    private func wait(for event: CInt) {
        var request = pollfd(fd: socket.descriptor, events: Int16(event), revents: 0)
        unsafe poll(&request, 1, 20_000)
    }

    func receive(_ target: UnsafeMutableRawBufferPointer) -> TransferResult { unsafe socket.receive(target) }
    var isDrainedByShortRead: Bool { socket.isDrainedByShortRead }

    func send(_ bytes: UnsafeRawBufferPointer) -> TransferResult {
        guard acceptsBytes else { return .wouldBlock }
        sendCount += 1
        return unsafe socket.send(bytes)
    }
}

/// A delegate that trusts each certificate chain, and has no client certificate.
private final class TrustingDelegate: TLSSessionDelegate {
    func session(_ session: TLSSession, didReceive chain: [[UInt8]], _ finding: ChainError?) -> Bool? { true }
    func session(_ session: TLSSession, identityFor issuers: [[UInt8]]) -> ClientIdentityChoice? { ClientIdentityChoice.none }
}
