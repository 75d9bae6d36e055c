// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A session of OpenSSL (`SSL_SESSION`), freed with the last reference.
@safe
final class CachedTLSSession: @unchecked Sendable {  // … because OpenSSL counts its references atomically, and nothing changes it
    let session: OpaquePointer

    /// Copies the session. OpenSSL marks the session of a connection that ends without close_notify as not resumable
    /// (`SSL_free(3)`), and RFC 5246 §7.2.1 no longer requires that.
    ///
    /// - Returns: `nil` if there is no memory.
    init?(copying session: OpaquePointer) {
        guard let copy = unsafe SSL_SESSION_dup(session) else { return nil }
        unsafe self.session = copy
    }

    /// A copy for another connection. The end of that connection does not change this session.
    func copy() -> CachedTLSSession? { unsafe CachedTLSSession(copying: session) }

    deinit { unsafe SSL_SESSION_free(session) }
}

/// A server's ticket to resume a session (RFC 8446 §2.2), with the evaluation of the server at that time.
struct TLSTicket: Sendable {
    let kept: CachedTLSSession
    /// The chain that the server showed in the handshake, and the verdict on it, because a resumed session shows no
    /// chain.
    let evidence: ServerTrustEvaluation

    private var session: OpaquePointer { unsafe kept.session }

    /// Whether the ticket may be used only once, so that an observer can't link two connections to the same client
    /// (RFC 8446 §C.4).
    fileprivate var isForOneUse: Bool { unsafe SSL_SESSION_get_protocol_version(session) >= TLS1_3_VERSION }

    /// - Parameter now: in seconds since 1970.
    fileprivate func isUsable(at now: Int64) -> Bool {
        let made = unsafe Int64(SSL_SESSION_get_time(session))
        let lifetime = unsafe Int64(SSL_SESSION_get_timeout(session))
        return unsafe SSL_SESSION_is_resumable(session) == 1 && made <= now && now < made + lifetime && evidence.isValid(at: now)
    }
}

/// The tickets of the servers that sent one last. Any thread.
final class TLSTicketCache: Sendable {
    private static let (mostServers, mostTickets) = (256, 4)

    private struct State {
        var tickets: [TLSPeer: [TLSTicket]] = [:]
        /// The server that sent a ticket last is at the end.
        var order: [TLSPeer] = []
    }

    private let state = Mutex(State())

    func add(_ ticket: TLSTicket, for peer: TLSPeer) {
        state.withLock { state in
            state.order.removeAll { $0 == peer }
            state.order.append(peer)
            state.tickets[peer, default: []].append(ticket)
            if let count = state.tickets[peer]?.count, count > Self.mostTickets { state.tickets[peer]?.removeFirst() }
            guard state.order.count > Self.mostServers else { return }
            state.tickets[state.order.removeFirst()] = nil
        }
    }

    /// The next ticket to use. A ticket for one use is removed.
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

    /// Removes the tickets of a server that rejected them, or that is no longer trusted.
    func removeAll(for peer: TLSPeer) {
        state.withLock { state in
            state.tickets[peer] = nil
            state.order.removeAll { $0 == peer }
        }
    }
}
