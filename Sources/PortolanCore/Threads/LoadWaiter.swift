// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A thread that waits for one load, and may meanwhile do the load's work (``WaitableLoad``).
public final class LoadWaiter: Sendable {
    private let hasEnded = Monitor(false)
    private let thread = UInt(pthread_self())

    init() {}

    /// Whether the calling thread is the one.
    var isCurrent: Bool { UInt(pthread_self()) == thread }

    /// Whether what the thread waits for has come.
    public var isOver: Bool { hasEnded.withLock { $0 } }

    /// It has come. Any thread.
    func end() {
        if isCurrent { hasEnded.withLock { $0 = true } } else { hasEnded.signalling { $0 = true } }
    }

    /// Sleeps until it has come.
    func wait() {
        hasEnded.wait { $0 ? () : nil }
    }
}
