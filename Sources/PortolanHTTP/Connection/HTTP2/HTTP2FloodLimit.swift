// SPDX-License-Identifier: Apache-2.0

/// Limits how many frames without progress a peer can send: PING, SETTINGS, WINDOW_UPDATE, unknown frames, empty DATA
/// and similar frames. A pure state machine.
///
/// Each of these frames costs one credit. Time and all frames that advance a transfer give credit. So a long transfer
/// can have any number of such frames, and an inactive connection about 1000 in 30 seconds.
///
/// RFC 9113 §10.5
struct HTTP2FloodLimit {
    /// How many frames without progress a peer can send immediately, and in each later ``period``.
    static let frameLimit = 1000
    static let period: UInt64 = 30_000_000_000  // nanoseconds
    /// How many empty DATA frames can follow one another.
    static let emptyFrameLimit = 32

    private static let maximumCredit = 10_000
    private static let requestCredit = 4
    private static let headCredit = 10
    private static let dataCredit = 2
    private static let bytesPerCredit = 64
    /// DATA frames for a stream that has ended cost credit if they have fewer bytes than this.
    private static let smallPieceSize = 1024

    /// How many CONTINUATION frames one field section can have.
    private let maximumContinuations: Int
    private var credit = HTTP2FloodLimit.frameLimit
    private var lastRefill: UInt64?
    private var emptyFramesInSequence = 0
    private var continuationsInSequence = 0

    init(maximumContinuations: Int) { self.maximumContinuations = maximumContinuations }

    /// Counts a frame of the peer.
    ///
    /// - Parameters:
    ///   - isOpen: whether the frame's stream is open.
    ///   - now: the time of the event loop in nanoseconds.
    /// - Returns: the broken rule; `nil` if the peer is within the limits.
    mutating func record(_ scanned: HTTP2FrameScanner.ScannedFrame, isOpen: Bool, now: UInt64) -> HTTP2ProtocolRule? {
        continuationsInSequence = scanned.frame.type == .continuation ? continuationsInSequence + 1 : 0
        switch scanned.frame.type {
        case .continuation: return continuationsInSequence > maximumContinuations ? .fieldSectionTooLarge : nil
        case .headers where isOpen:
            earn(Self.headCredit)
            return nil
        case .data where scanned.contentLength > 0:
            emptyFramesInSequence = 0
            if isOpen {
                earn(Self.dataCredit + scanned.contentLength / Self.bytesPerCredit)
                return nil
            }
            return scanned.contentLength < Self.smallPieceSize ? spend(now) : nil
        case .data where !scanned.frame.endsStream:
            emptyFramesInSequence += 1
            return emptyFramesInSequence > Self.emptyFrameLimit ? .tooManyFrames : spend(now)
        case .data where isOpen: return nil
        default: return spend(now)
        }
    }

    mutating func didSendRequest() { earn(Self.requestCredit) }

    mutating func didSendData(_ count: Int) { earn(Self.dataCredit + count / Self.bytesPerCredit) }

    private mutating func earn(_ amount: Int) { credit = min(credit + amount, Self.maximumCredit) }

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
        let nanosecondsPerCredit = Self.period / UInt64(Self.frameLimit)
        let earnedCredit = (max(now, last) - last) / nanosecondsPerCredit
        guard earnedCredit > 0 else { return }
        lastRefill = last + earnedCredit * nanosecondsPerCredit
        if credit < Self.frameLimit { credit = min(credit + Int(min(earnedCredit, UInt64(Self.frameLimit))), Self.frameLimit) }
    }
}
