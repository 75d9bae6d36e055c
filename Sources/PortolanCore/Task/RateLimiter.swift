// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Computes when the next bytes may pass, so that a rate is kept. It has no clock; the caller passes the time.
///
/// Each piece may pass at once, and the next one must wait for the time that this piece takes at the rate. Unused time
/// is not saved, so after a pause no more than one piece passes at once.
struct RatePacer {
    /// At least 1.
    let bytesPerSecond: Int
    /// The time, in nanoseconds, from which the next bytes may pass.
    private(set) var nextTime = Int64.min

    init(bytesPerSecond: Int) { self.bytesPerSecond = max(1, bytesPerSecond) }

    /// Counts bytes that have passed at the time `now`, in nanoseconds.
    mutating func count(_ byteCount: Int, at now: Int64) {
        let duration = Int128(byteCount) * 1_000_000_000 / Int128(bytesPerSecond)
        nextTime = Int64(clamping: Int128(max(nextTime, now)) + duration)
    }
}

/// Keeps one rate for all loads of a loader.
final class RateLimiter: Sendable {
    /// In nanoseconds. A shorter wait is added to the next one, because timers have a resolution of some milliseconds.
    private static let shortestWait: Int64 = 5_000_000

    private let pacer: Mutex<RatePacer>
    private let clock: any LoadClock
    /// The size of a piece of a body that is sent, in bytes: what the rate allows in 0.1 s, but at least 1 KiB and at
    /// most 64 KiB.
    let pieceSize: Int

    init(bytesPerSecond: Int, clock: any LoadClock) {
        pacer = Mutex(RatePacer(bytesPerSecond: bytesPerSecond))
        self.clock = clock
        pieceSize = min(max(1 << 10, bytesPerSecond / 10), 64 << 10)
    }

    /// Counts bytes that have passed.
    func count(_ byteCount: Int) {
        let now = clock.preciseNanosecondsNow
        pacer.withLock { $0.count(byteCount, at: now) }
    }

    /// Calls `action` once, when more bytes may pass.
    ///
    /// - Returns: the timer that calls `action`; `nil` if more bytes may pass now. Then `action` is not called.
    func whenReady(_ action: @escaping @Sendable () -> Void) -> ScheduledTimer? {
        let (now, next) = (clock.preciseNanosecondsNow, pacer.withLock { $0.nextTime })
        guard next > now, next - now >= Self.shortestWait else { return nil }
        let timer = ScheduledTimer(action)
        clock.schedule(timer, at: clock.now + .nanoseconds(next - now))
        return timer
    }
}

/// The limits of a loader (``Loader/Configuration/maximumReceiveRate``, ``Loader/Configuration/maximumSendRate``).
struct RateLimits: Sendable {
    let receiving: RateLimiter?
    let sending: RateLimiter?

    /// Returns `nil` if no rate is limited.
    init?(_ configuration: Loader.Configuration) {
        receiving = configuration.maximumReceiveRate.map { RateLimiter(bytesPerSecond: $0, clock: configuration.clock) }
        sending = configuration.maximumSendRate.map { RateLimiter(bytesPerSecond: $0, clock: configuration.clock) }
        if receiving == nil, sending == nil { return nil }
    }

    /// Returns the request with a body that is read no faster than the rate allows.
    func limitingBody(of request: Request) -> Request {
        guard let sending, let body = request.body else { return request }
        var request = request
        request.body = body.limited(by: sending)
        return request
    }
}

/// Pauses the handler while the loader has received more than its rate allows, and limits bodies that are sent again.
final class RateLimitedClient: ForwardingClient {
    let next: any ProtocolClient
    private let limits: RateLimits
    private weak let task: LoadTask?
    /// The timer that ends a pause because of the limit; `nil` if there is no such pause.
    private let pause = Mutex<ScheduledTimer?>(nil)

    init(_ limits: RateLimits, of task: LoadTask, next: any ProtocolClient) {
        (self.limits, self.task, self.next) = (limits, task, next)
    }

    /// The load is over, so the timer must not retain its task.
    deinit { endPause() }

    private func endPause() { pause.withLock { $0.take() }?.cancel() }

    func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        guard let limiter = limits.receiving else { return next.didLoad(bytes) }
        // If a timer is pending, the caller has resumed the load before the limit allowed it. The timer must not end a
        // later pause of the reader.
        endPause()
        let flow = next.didLoad(bytes)
        limiter.count(bytes.byteCount)
        // The timer retains the task, because the loader does not retain a paused task.
        guard flow == .keepGoing, let task, let timer = limiter.whenReady({ task.readMore() }) else { return flow }
        pause.withLock { $0 = timer }
        return .pause
    }

    /// A request that leaves the load must not have the limited body, because the next load limits it again.
    func wasRedirected(to request: Request, redirectResponse: Response) -> Flow {
        guard limits.sending != nil, request.body != nil, let task else {
            return next.wasRedirected(to: request, redirectResponse: redirectResponse)
        }
        var request = request
        request.body = task.currentRequest.body
        return next.wasRedirected(to: request, redirectResponse: redirectResponse)
    }

    func needsNewBody(_ answer: @escaping @Sendable (Body?) -> Void) {
        guard let limiter = limits.sending else { return next.needsNewBody(answer) }
        next.needsNewBody { answer($0?.limited(by: limiter)) }
    }
}

extension Body {
    /// Returns the body, read no faster than the rate allows.
    fileprivate func limited(by limiter: RateLimiter) -> Body {
        Body(length: length, isRewindable: isRewindable, discard: { discard() }) { () throws(LoadError) in
            RateLimitedReader(try makeReader(), limiter)
        }
    }
}

private final class RateLimitedReader: BodyReader {
    private let reader: any BodyReader
    private let limiter: RateLimiter

    init(_ reader: any BodyReader, _ limiter: RateLimiter) { (self.reader, self.limiter) = (reader, limiter) }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        if limiter.whenReady(whenReady) != nil { return .wait }
        let limit = min(limiter.pieceSize, buffer.freeCapacity)
        var result = BodyRead.end
        var count = 0
        unsafe buffer.withUnsafeMutableBytes { bytes, initialized in
            let free = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[initialized..<initialized + limit])
            var piece = unsafe OutputRawSpan(buffer: free, initializedCount: 0)
            result = reader.read(into: &piece, whenReady: whenReady)
            count = unsafe piece.finalize(for: free)
            initialized += count
        }
        limiter.count(count)
        return result
    }

    func close() { reader.close() }
}
