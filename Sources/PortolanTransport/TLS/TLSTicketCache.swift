// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A session of OpenSSL (`SSL_SESSION`).
@safe
final class CachedTLSSession: @unchecked Sendable {  // … because OpenSSL counts its references atomically, and nothing changes it
    let session: OpaquePointer

    /// Copies the session. If a connection ends without close_notify, OpenSSL marks its session as not resumable
    /// (`SSL_free(3)`). RFC 5246 §7.2.1 no longer requires that, and the copy stays resumable.
    ///
    /// - Returns: `nil` if there is no memory.
    init?(copying session: OpaquePointer) {
        guard let copy = unsafe SSL_SESSION_dup(session) else { return nil }
        unsafe self.session = copy
    }

    /// Makes a copy for another connection. The end of that connection does not change this session.
    func copy() -> CachedTLSSession? { unsafe CachedTLSSession(copying: session) }

    deinit { unsafe SSL_SESSION_free(session) }
}

/// A server's ticket to resume a session (RFC 8446 §2.2), with the evaluation of the server at that time.
struct TLSTicket: Sendable {
    let session: CachedTLSSession
    /// The evaluation of the server in the original handshake, because a server shows no certificates when a session is
    /// resumed.
    let evaluation: ServerTrustEvaluation

    private var pointer: OpaquePointer { unsafe session.session }

    /// Whether the ticket must be used only once, so that an observer can't see that two connections are of the same
    /// client (RFC 8446 §C.4).
    fileprivate var isForOneUse: Bool { unsafe SSL_SESSION_get_protocol_version(pointer) >= TLS1_3_VERSION }

    /// - Parameter now: in seconds since 1970.
    fileprivate func isUsable(at now: Int64) -> Bool {
        let creationTime = unsafe Int64(SSL_SESSION_get_time(pointer))
        let lifetime = unsafe Int64(SSL_SESSION_get_timeout(pointer))
        return unsafe SSL_SESSION_is_resumable(pointer) == 1 && creationTime <= now && now < creationTime + lifetime
            && evaluation.isValid(at: now)
    }
}

/// The last tickets of some servers. Can be used on any thread.
final class TLSTicketCache: Sendable {
    private static let (maximumServerCount, maximumTicketCount) = (256, 4)

    private struct State {
        var tickets: [TLSPeer: [TLSTicket]] = [:]
        /// The server with the newest ticket is at the end.
        var order: [TLSPeer] = []
    }

    private let state = Mutex(State())

    func add(_ ticket: TLSTicket, for peer: TLSPeer) {
        state.withLock { state in
            state.order.removeAll { $0 == peer }
            state.order.append(peer)
            state.tickets[peer, default: []].append(ticket)
            if let count = state.tickets[peer]?.count, count > Self.maximumTicketCount { state.tickets[peer]?.removeFirst() }
            guard state.order.count > Self.maximumServerCount else { return }
            state.tickets[state.order.removeFirst()] = nil
        }
    }

    /// Returns the newest usable ticket. Removes it if it must be used only once.
    func ticket(for peer: TLSPeer, now: Int64) -> TLSTicket? {
        state.withLock { state in
            while let last = state.tickets[peer]?.last {
                guard last.isUsable(at: now) else {
                    state.tickets[peer]?.removeLast()
                    continue
                }
                if last.isForOneUse { state.tickets[peer]?.removeLast() }
                return last
            }
            state.tickets[peer] = nil
            state.order.removeAll { $0 == peer }
            return nil
        }
    }

    /// Removes the tickets of a server, after a handshake or a session with the server has failed.
    func removeAll(for peer: TLSPeer) {
        state.withLock { state in
            state.tickets[peer] = nil
            state.order.removeAll { $0 == peer }
        }
    }
}
