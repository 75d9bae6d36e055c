// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Separate stacks for signal handlers with `SA_ONSTACK` (`sigaltstack(2)`). Without one, a handler cannot run when the
/// stack of its thread has overflowed.
package enum SignalStack {
    private static let isAddedToThreads = Atomic(false)
    /// Lives as long as the process. Without this pointer, LeakSanitizer reports the memory, because only the kernel
    /// has another one.
    // … because it is set once, before threads are started
    nonisolated(unsafe) private static var firstStack: UnsafeMutableRawPointer?

    /// In bytes. Enough for a handler that walks the stack of the thread, with the registers that the kernel stores
    /// there.
    private static let size = 1 << 16

    /// Gives a separate stack to the calling thread, permanently, and to each thread of ``PlatformThread`` that starts
    /// from now on.
    package static func addToThisAndLaterThreads() {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        unsafe firstStack = unsafe memory
        unsafe set(stack(at: memory))
        isAddedToThreads.store(true, ordering: .relaxed)
    }

    /// Calls `operation`, on a thread with a separate stack if threads have one.
    static func whileAdded(_ operation: () -> Void) {
        guard isAddedToThreads.load(ordering: .relaxed) else { return operation() }
        let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        let earlier = unsafe set(stack(at: memory))
        operation()
        unsafe set(earlier)
        unsafe memory.deallocate()
    }

    private static func stack(at memory: UnsafeMutableRawPointer) -> stack_t {
        var stack = unsafe stack_t()
        unsafe stack.ss_sp = unsafe memory
        unsafe stack.ss_size = size
        return unsafe stack
    }

    /// Returns the earlier stack.
    @discardableResult
    private static func set(_ stack: stack_t) -> stack_t {
        var (stack, earlier) = unsafe (stack, stack_t())
        unsafe sigaltstack(&stack, &earlier)
        return unsafe earlier
    }
}
