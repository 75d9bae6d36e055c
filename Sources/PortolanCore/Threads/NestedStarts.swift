// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Counts the loads that a thread starts inside each other. A load that needs no I/O reports its end while it starts,
/// and its delegate can then start the next load. A long chain of such loads would use up the stack, so another thread
/// continues it.
enum NestedStarts {
    /// The largest number of loads that start inside each other on one thread.
    static let limit = 16

    /// The key of a thread's number of starts that have not returned, which is stored as the bits of a pointer.
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        return unsafe pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// Runs `start`, which starts a load.
    ///
    /// - Returns: `false`, without running it, if too many starts on this thread have not returned.
    static func run(_ start: () -> Void) -> Bool {
        guard let key else {
            start()
            return true
        }
        let outer = unsafe pthread_getspecific(key)
        let depth = UInt(bitPattern: outer)
        guard depth < limit else { return false }
        unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: depth + 1))
        start()
        unsafe pthread_setspecific(key, outer)
        return true
    }
}
