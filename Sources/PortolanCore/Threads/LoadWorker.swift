// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The state of one thread of a ``LoadThreadPool``. Only that thread uses it.
@safe
final class LoadWorker {
    private let pool: LoadThreadPool
    /// Whether the running job has a slot of the pool.
    var hasSlot = false

    init(of pool: LoadThreadPool) { self.pool = pool }

    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        return unsafe pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// Makes this the worker of the calling thread. The caller must retain it until the thread ends.
    func becomeCurrent() {
        guard let key = Self.key else { return }
        unsafe pthread_setspecific(key, Unmanaged.passUnretained(self).toOpaque())
    }

    private static var current: LoadWorker? {
        guard let key, let worker = unsafe pthread_getspecific(key) else { return nil }
        return unsafe Unmanaged<LoadWorker>.fromOpaque(worker).takeUnretainedValue()
    }

    /// Calls `operation`, in which the thread waits for a load. If the thread runs a job with a slot of a pool, another
    /// job can use that slot during the wait.
    ///
    /// - Throws: ``LoadError/Code/noResources`` if too many jobs of the pool wait, and the errors of `operation`.
    static func withSlotReleased(_ operation: () throws(LoadError) -> Void) throws(LoadError) {
        guard let worker = current, worker.hasSlot else { return try operation() }
        try worker.pool.releaseSlot()
        worker.hasSlot = false
        defer {
            worker.pool.reacquireSlot()
            worker.hasSlot = true
        }
        try operation()
    }
}
