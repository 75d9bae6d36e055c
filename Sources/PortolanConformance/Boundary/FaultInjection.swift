// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Makes system functions fail for one library. Only the library's own calls of these functions are affected; all other
/// calls in the process work as before.
@safe
enum FaultInjection {
    enum Resource: Sendable {
        /// Allocation: `malloc(3)` and similar functions, and C++'s operator new.
        case memory
        /// The creation of threads.
        case threads
        /// The end of the process. It is always refused: the calling thread waits for ever.
        case end
    }

    private static let callCounter = Atomic(0)
    private static let firstRefusedCall = Atomic(Int.max)
    private static let lastRefusedCall = Atomic(Int.max)
    private static let attemptedEnd = Mutex<String?>(nil)
    private static let sleepsAtCalls = Atomic(false)

    /// Replaces the functions of `resource` that `library` calls.
    ///
    /// - Returns: Whether the library calls any of them.
    static func interpose(on resource: Resource, for library: ProbedLibrary) -> Bool {
        // Creates the key of `LibraryThread` before the library can use up the available keys.
        if resource == .threads, !LibraryThread.canCount { return false }
        var isCalled = false
        for function in functions(of: resource) where unsafe library.replace(function.name, by: function.pointer) { isCalled = true }
        return isCalled
    }

    /// Refuses the calls with these numbers. The count starts again at 1 now.
    static func refuse(_ numbers: ClosedRange<Int>) {
        callCounter.store(0, ordering: .sequentiallyConsistent)
        firstRefusedCall.store(numbers.lowerBound, ordering: .sequentiallyConsistent)
        lastRefusedCall.store(numbers.upperBound, ordering: .sequentiallyConsistent)
    }

    /// Lets other threads run at each call, so that threads interleave in the functions of the library. The first
    /// calls sleep, because on a busy machine, `sched_yield(2)` lets other processes run instead of other threads. The
    /// number of sleeps is limited, because some libraries call a function thousands of times per load.
    static func sleepAtEachCall() { sleepsAtCalls.store(true, ordering: .relaxed) }

    /// Restarts the count, and refuses no call.
    static func allowAll() { refuse(Int.max...Int.max) }

    /// The number of calls since the last ``refuse(_:)`` or ``allowAll()``.
    static var callCount: Int { callCounter.load(ordering: .sequentiallyConsistent) }

    /// The number of running threads that the library's own calls have started since ``interpose(on:for:)`` of
    /// ``Resource/threads``.
    static var threadCount: Int { LibraryThread.count.load(ordering: .sequentiallyConsistent) }

    /// The first function with which the library tried to end the process; `nil` if it did not try.
    static var attemptedEndFunction: String? { attemptedEnd.withLock(\.self) }

    /// Counts a call.
    ///
    /// - Returns: Whether this call must be refused.
    private static func mustRefuseNextCall() -> Bool {
        let number = callCounter.add(1, ordering: .sequentiallyConsistent).newValue
        if sleepsAtCalls.load(ordering: .relaxed) { if number < 4096 { usleep(1) } else { sched_yield() } }
        return number >= firstRefusedCall.load(ordering: .sequentiallyConsistent)
            && number <= lastRefusedCall.load(ordering: .sequentiallyConsistent)
    }

    /// Does the same as ``mustRefuseNextCall()``, and sets errno if the call must be refused.
    private static func mustRefuseNextAllocation() -> Bool {
        guard mustRefuseNextCall() else { return false }
        errno = ENOMEM
        return true
    }

    private static func wait(insteadOf function: String) -> Never {
        attemptedEnd.withLock { $0 = $0 ?? function }
        while true { pause() }
    }

    /// An interposed function.
    @safe
    private struct Function {
        let name: String
        let pointer: UnsafeMutableRawPointer

        init<Pointer>(_ name: String, _ function: Pointer) {
            self.name = name
            // A C function is its address.
            unsafe pointer = unsafe unsafeBitCast(function, to: UnsafeMutableRawPointer.self)
        }
    }

    private static func functions(of resource: Resource) -> [Function] {
        switch resource {
        case .memory: memoryFunctions + newFunctions
        case .threads: threadFunctions
        case .end: endFunctions
        }
    }

    private static var memoryFunctions: [Function] {
        let allocate: @convention(c) (Int) -> UnsafeMutableRawPointer? = {
            unsafe FaultInjection.mustRefuseNextAllocation() ? nil : malloc($0)
        }
        let clear: @convention(c) (Int, Int) -> UnsafeMutableRawPointer? = {
            unsafe FaultInjection.mustRefuseNextAllocation() ? nil : calloc($0, $1)
        }
        let resize: @convention(c) (UnsafeMutableRawPointer?, Int) -> UnsafeMutableRawPointer? = {
            unsafe FaultInjection.mustRefuseNextAllocation() ? nil : realloc($0, $1)
        }
        let resizeList: @convention(c) (UnsafeMutableRawPointer?, Int, Int) -> UnsafeMutableRawPointer? = {
            unsafe FaultInjection.mustRefuseNextAllocation() ? nil : reallocarray($0, $1, $2)
        }
        let align: @convention(c) (Int, Int) -> UnsafeMutableRawPointer? = {
            unsafe FaultInjection.mustRefuseNextAllocation() ? nil : aligned_alloc($0, $1)
        }
        let alignInto: @convention(c) (UnsafeMutablePointer<UnsafeMutableRawPointer?>, Int, Int) -> Int32 = {
            unsafe FaultInjection.mustRefuseNextCall() ? ENOMEM : posix_memalign($0, $1, $2)
        }
        let copy: @convention(c) (UnsafePointer<CChar>) -> UnsafeMutablePointer<CChar>? = {
            unsafe FaultInjection.mustRefuseNextAllocation() ? nil : strdup($0)
        }
        let copyPart: @convention(c) (UnsafePointer<CChar>, Int) -> UnsafeMutablePointer<CChar>? = {
            unsafe FaultInjection.mustRefuseNextAllocation() ? nil : strndup($0, $1)
        }
        return unsafe [
            Function("malloc", allocate),
            Function("calloc", clear),
            Function("realloc", resize),
            Function("reallocarray", resizeList),
            Function("aligned_alloc", align),
            Function("posix_memalign", alignInto),
            Function("strdup", copy),
            Function("strndup", copyPart),
        ]
    }

    /// C++'s operator new, by the names of the Itanium C++ ABI. Empty under Valgrind, which ends the process instead of
    /// an exception.
    private static var newFunctions: [Function] {
        if unsafe getenv("LD_PRELOAD").map({ unsafe String(cString: $0).contains("vgpreload") }) == true { return [] }
        typealias New = @convention(c) (Int) -> UnsafeMutableRawPointer?
        typealias AlignedNew = @convention(c) (Int, Int) -> UnsafeMutableRawPointer?
        typealias NothrowNew = @convention(c) (Int, UnsafeRawPointer?) -> UnsafeMutableRawPointer?
        let new: New = unsafe portolan_new
        let newList: New = unsafe portolan_new_list
        let alignedNew: AlignedNew = unsafe portolan_new_aligned
        let alignedNewList: AlignedNew = unsafe portolan_new_aligned_list
        let nothrowNew: NothrowNew = unsafe portolan_new_nothrow
        let nothrowNewList: NothrowNew = unsafe portolan_new_nothrow_list
        typealias AlignedNothrowNew = @convention(c) (Int, Int, UnsafeRawPointer?) -> UnsafeMutableRawPointer?
        let alignedNothrowNew: AlignedNothrowNew = unsafe portolan_new_aligned_nothrow
        let alignedNothrowNewList: AlignedNothrowNew = unsafe portolan_new_aligned_nothrow_list
        portolan_refuse_new { FaultInjection.mustRefuseNextCall() ? 1 : 0 }
        return unsafe [
            Function("_Znwm", new),
            Function("_Znam", newList),
            Function("_ZnwmSt11align_val_t", alignedNew),
            Function("_ZnamSt11align_val_t", alignedNewList),
            Function("_ZnwmRKSt9nothrow_t", nothrowNew),
            Function("_ZnamRKSt9nothrow_t", nothrowNewList),
            Function("_ZnwmSt11align_val_tRKSt9nothrow_t", alignedNothrowNew),
            Function("_ZnamSt11align_val_tRKSt9nothrow_t", alignedNothrowNewList),
        ]
    }

    private static var threadFunctions: [Function] {
        typealias Create =
            @convention(c) (
                UnsafeMutableRawPointer, UnsafeMutableRawPointer?, UnsafeMutableRawPointer, UnsafeMutableRawPointer?
            ) -> Int32
        let create: Create = { thread, attributes, body, argument in
            guard !FaultInjection.mustRefuseNextCall(), let symbol = unsafe dlsym(nil, "pthread_create") else { return EAGAIN }
            typealias Body = @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
            let run: Body = { unsafe LibraryThread.run($0) { unsafe unsafeBitCast($0, to: Body.self)($1) } ?? nil }
            return unsafe LibraryThread.begin(body, argument) { threadHandle in
                unsafe unsafeBitCast(symbol, to: Create.self)(
                    thread, attributes, unsafeBitCast(run, to: UnsafeMutableRawPointer.self), threadHandle)
            }
        }
        typealias CreateOfC11 = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer, UnsafeMutableRawPointer?) -> Int32
        let createOfC11: CreateOfC11 = { thread, body, argument in
            // thrd_error (threads.h)
            guard !FaultInjection.mustRefuseNextCall(), let symbol = unsafe dlsym(nil, "thrd_create") else { return 2 }
            typealias Body = @convention(c) (UnsafeMutableRawPointer?) -> Int32
            let run: Body = { unsafe LibraryThread.run($0) { unsafe unsafeBitCast($0, to: Body.self)($1) } ?? 0 }
            return unsafe LibraryThread.begin(body, argument) { threadHandle in
                unsafe unsafeBitCast(symbol, to: CreateOfC11.self)(
                    thread, unsafeBitCast(run, to: UnsafeMutableRawPointer.self), threadHandle)
            }
        }
        return unsafe [
            Function("pthread_create", create),
            Function("thrd_create", createOfC11),
        ]
    }

    private static var endFunctions: [Function] {
        let abort: @convention(c) () -> Void = { FaultInjection.wait(insteadOf: "abort") }
        let exit: @convention(c) (Int32) -> Void = { _ in FaultInjection.wait(insteadOf: "exit") }
        let quickExit: @convention(c) (Int32) -> Void = { _ in FaultInjection.wait(insteadOf: "quick_exit") }
        let exitAtOnce: @convention(c) (Int32) -> Void = { _ in FaultInjection.wait(insteadOf: "_exit") }
        return [
            Function("abort", abort),
            Function("exit", exit),
            Function("quick_exit", quickExit),
            Function("_exit", exitAtOnce),
            Function("_Exit", exitAtOnce),
        ]
    }
}

/// The body and the argument of a thread that the library has started.
@safe
private final class LibraryThread {
    static let count = Atomic(0)
    /// The key whose destructor subtracts an ended thread from ``count``, also after pthread_exit(3). `nil` if the
    /// system has no free key.
    private static let endKey: pthread_key_t? = {
        var key = pthread_key_t()
        return unsafe pthread_key_create(&key) { _ in LibraryThread.count.subtract(1, ordering: .sequentiallyConsistent) } == 0 ? key : nil
    }()

    static var canCount: Bool { endKey != nil }

    private let body: UnsafeMutableRawPointer
    private let argument: UnsafeMutableRawPointer?

    private init(_ body: UnsafeMutableRawPointer, _ argument: UnsafeMutableRawPointer?) {
        unsafe (self.body, self.argument) = unsafe (body, argument)
    }

    /// - Parameter create: Starts a thread that passes its argument to ``run(_:_:)``; returns 0 on success.
    static func begin(
        _ body: UnsafeMutableRawPointer, _ argument: UnsafeMutableRawPointer?, _ create: (UnsafeMutableRawPointer) -> Int32
    ) -> Int32 {
        let threadHandle = unsafe Unmanaged.passRetained(LibraryThread(body, argument))
        count.add(1, ordering: .sequentiallyConsistent)
        let status = unsafe create(threadHandle.toOpaque())
        if status != 0 {
            count.subtract(1, ordering: .sequentiallyConsistent)
            unsafe threadHandle.release()
        }
        return status
    }

    static func run<Result>(
        _ pointer: UnsafeMutableRawPointer?, _ call: (UnsafeMutableRawPointer, UnsafeMutableRawPointer?) -> Result
    ) -> Result? {
        guard let pointer = unsafe pointer else { return nil }
        let threadHandle = unsafe Unmanaged<LibraryThread>.fromOpaque(pointer).takeRetainedValue()
        // The value only has to be non-null. A thread whose end cannot be counted is not counted at all.
        let isCounted = endKey.map { unsafe pthread_setspecific($0, pointer) } == 0
        if !isCounted { count.subtract(1, ordering: .sequentiallyConsistent) }
        return unsafe call(threadHandle.body, threadHandle.argument)
    }
}
