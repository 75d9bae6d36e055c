// SPDX-License-Identifier: Apache-2.0

/// Limits a peer's frames that make no progress: PING, SETTINGS, WINDOW_UPDATE, unknown frames, empty DATA and so on. A
/// pure state machine.
///
/// Each of them costs one credit. Time gives credit back, and so does everything that advances a transfer. A long
/// transfer may have any number of such frames, and an inactive connection about a thousand in half a minute.
///
/// RFC 9113 §10.5
struct HTTP2FloodLimit {
    /// How many frames a peer may send at once, and in each ``period`` after that.
    static let frames = 1000
    static let period: UInt64 = 30_000_000_000
    /// How many DATA frames without content may follow one another.
    static let emptyFrames = 32

    private static let mostCredit = 10_000
    private static let requestCredit = 4
    private static let headCredit = 10
    private static let dataCredit = 2
    private static let bytesForCredit = 64
    /// Content of a stream that has ended may still be on the way. Small pieces of it cost credit.
    private static let smallPiece = 1024

    /// How many CONTINUATION frames one field section may have.
    private let continuations: Int
    private var credit = HTTP2FloodLimit.frames
    private var lastRefill: UInt64?
    private var emptyInSequence = 0
    private var continuationsInSequence = 0

    init(continuations: Int) { self.continuations = continuations }

    /// Counts a frame of the peer.
    ///
    /// - Parameters:
    ///   - isOpen: whether the frame's stream carries an exchange.
    ///   - now: in nanoseconds.
    /// - Returns: the rule that the peer broke; `nil` if it may continue.
    mutating func take(_ found: HTTP2FrameScanner.Found, isOpen: Bool, now: UInt64) -> HTTP2ProtocolRule? {
        continuationsInSequence = found.frame.type == .continuation ? continuationsInSequence + 1 : 0
        switch found.frame.type {
        case .continuation: return continuationsInSequence > continuations ? .fieldSectionTooLarge : nil
        case .headers where isOpen:
            earn(Self.headCredit)
            return nil
        case .data where found.contentLength > 0:
            emptyInSequence = 0
            if isOpen {
                earn(Self.dataCredit + found.contentLength / Self.bytesForCredit)
                return nil
            }
            return found.contentLength < Self.smallPiece ? spend(now) : nil
        case .data where !found.frame.endsStream:
            emptyInSequence += 1
            return emptyInSequence > Self.emptyFrames ? .tooManyFrames : spend(now)
        case .data where isOpen: return nil
        default: return spend(now)
        }
    }

    mutating func didSendRequest() { earn(Self.requestCredit) }

    mutating func didSendData(_ count: Int) { earn(Self.dataCredit + count / Self.bytesForCredit) }

    private mutating func earn(_ amount: Int) { credit = min(credit + amount, Self.mostCredit) }

    private mutating func spend(_ now: UInt64) -> HTTP2ProtocolRule? {
        refill(now)
        credit -= 1
        return credit < 0 ? .tooManyFrames : nil
    }

    private mutating func refill(_ now: UInt64) {
        guard let last = lastRefill else {
            lastRefill = now
            return
        }
        let share = Self.period / UInt64(Self.frames)
        let earned = (max(now, last) - last) / share
        guard earned > 0 else { return }
        lastRefill = last + earned * share
        if credit < Self.frames { credit = min(credit + Int(min(earned, UInt64(Self.frames))), Self.frames) }
    }
}
