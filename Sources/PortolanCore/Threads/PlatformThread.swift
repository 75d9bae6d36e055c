// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A thread of the operating system, for code that blocks (`pthread_create(3)`).
package enum PlatformThread {
    /// Starts a detached thread. It blocks SIGPIPE, so that a peer that closes its connection causes the error EPIPE
    /// and does not end the process.
    ///
    /// - Throws: ``LoadError/Code/noResources``, with the reason.
    package static func start(stackSize: Int = 512 << 10, _ operation: @escaping @Sendable () -> Void) throws(LoadError) {
        let job = Job(operation)
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        unsafe pthread_attr_setstacksize(&attributes, stackSize)
        var thread = pthread_t()
        let context = unsafe Unmanaged.passRetained(job).toOpaque()
        let status = unsafe pthread_create(&thread, &attributes, { unsafe Job.main($0) }, context)
        guard status == 0 else {
            unsafe Unmanaged<Job>.fromOpaque(context).release()
            throw LoadError(.noResources, message: "no thread could be started (errno \(status)); run fewer loads at the same time")
        }
    }

    private final class Job: Sendable {
        let operation: @Sendable () -> Void

        init(_ operation: @escaping @Sendable () -> Void) {
            self.operation = operation
        }

        static func main(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
            guard let context = unsafe context else { return nil }
            let job = unsafe Unmanaged<Job>.fromOpaque(context).takeRetainedValue()
            var signals = sigset_t()
            unsafe sigemptyset(&signals)
            unsafe sigaddset(&signals, SIGPIPE)
            unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
            SignalStack.whileAdded(job.operation)
            return nil
        }
    }
}
