// SPDX-License-Identifier: Apache-2.0

import CPortolan
import CPluginObservation
import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Reports a crash in a plugin in one line on standard error, for a command that opens plugins in its own process.
package enum PluginCrash {
    /// The opened plugins; set once before the handlers are installed, and `nil` in a program that does not ask for
    /// reports.
    // … because a signal handler can access nothing else
    nonisolated(unsafe) private static var opened: UnsafeMutablePointer<portolan_opened_plugins>?
    // … because it is set with `opened`
    nonisolated(unsafe) private static var showsStack = false
    // … because it is set with `opened`; the earlier actions for `signals`, in the same order
    nonisolated(unsafe) private static var earlierActions: UnsafeMutablePointer<sigaction>?
    // … because it is set with `opened`
    nonisolated(unsafe) private static var continuesWithEarlierAction = false
    // … because it is set with `opened`
    nonisolated(unsafe) private static var isSilent = false
    private static let lock = Mutex(())

    private static var signals: [Int32] { [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP] }

    /// Installs handlers for the signals of crashes. Call this function once, before plugins are opened and threads are
    /// started.
    ///
    /// The line replaces the report of Swift's runtime about the plugin's crash, unless `SWIFT_BACKTRACE` is set. A
    /// crash in other code is reported as if this function was not called.
    ///
    /// - Parameters:
    ///   - showsStack: Whether to print the stack after the line.
    ///   - isSilent: Whether to print nothing.
    package static func reportCrashes(showsStack: Bool, isSilent: Bool) {
        guard unsafe opened == nil, let opened = unsafe portolan_new_opened_plugins() else { return }
        // The first call loads code and allocates memory. A signal handler must do neither.
        _ = unsafe portolan_describe_crash(opened, "", nil, nil, 0)
        unsafe (Self.opened, Self.showsStack, Self.isSilent) = (opened, showsStack, isSilent)
        // A handler can then also report the overflow of a stack.
        SignalStack.addToThisAndLaterThreads()
        unsafe continuesWithEarlierAction = unsafe getenv("SWIFT_BACKTRACE") != nil
        let earlier = UnsafeMutablePointer<sigaction>.allocate(capacity: signals.count)
        unsafe earlier.initialize(repeating: sigaction(), count: signals.count)
        unsafe earlierActions = unsafe earlier
        for (index, signal) in signals.enumerated() {
            var action = sigaction()
            unsafe action.__sigaction_handler.sa_sigaction = { number, information, context in
                unsafe PluginCrash.report(number, information, context)
            }
            action.sa_flags = SA_SIGINFO | Int32(SA_ONSTACK)
            unsafe sigaction(signal, &action, earlier + index)
        }
    }

    /// Uses only functions that are safe in a signal handler (`signal-safety(7)`), and allocates nothing.
    private static func report(_ number: Int32, _ information: UnsafeMutablePointer<siginfo_t>?, _ context: UnsafeRawPointer?) {
        let (name, index): (StaticString, Int) =
            switch number {
            case SIGSEGV: ("SIGSEGV", 0)
            case SIGBUS: ("SIGBUS", 1)
            case SIGILL: ("SIGILL", 2)
            case SIGFPE: ("SIGFPE", 3)
            case SIGABRT: ("SIGABRT", 4)
            default: ("SIGTRAP", 5)
            }
        let hasAddress = number == SIGSEGV || number == SIGBUS
        let address = unsafe hasAddress ? information.flatMap { unsafe UnsafeRawPointer($0.pointee._sifields._sigfault.si_addr) } : nil
        var isOfPlugin = false
        if let opened = unsafe opened {
            isOfPlugin = unsafe name.utf8Start.withMemoryRebound(to: CChar.self, capacity: name.utf8CodeUnitCount + 1) { name in
                guard unsafe portolan_begin_description(opened, name) != 0 else { return true }
                // Unwinding a damaged stack can crash, too.
                portolan_block_crashes(0)
                defer { portolan_block_crashes(1) }
                return unsafe portolan_describe_crash(opened, name, context, address, showsStack ? 1 : 0) != 0
            }
            if isOfPlugin, unsafe !isSilent { unsafe portolan_print_words(opened.pointee.words, STDERR_FILENO) }
        }
        // The signal is blocked until this function returns. Then it ends the process, or the earlier handler runs.
        if let earlier = unsafe earlierActions, unsafe !isOfPlugin || continuesWithEarlierAction {
            unsafe sigaction(number, earlier + index, nil)
        } else {
            signal(number, SIG_DFL)
        }
        raise(number)
    }

    /// Calls `open`, which opens the library at `path`. If it crashes, the report says so.
    static func whileOpening<Result, Failure: Error>(_ path: String, _ open: () throws(Failure) -> Result) throws(Failure) -> Result {
        guard let opened = unsafe opened else { return try open() }
        // Only the handler on this thread reads the copy.
        let copy = unsafe strdup(path)
        unsafe portolan_set_opening(opened, copy)
        defer {
            unsafe portolan_set_opening(opened, nil)
            unsafe free(copy)
        }
        return try open()
    }

    /// Adds an opened plugin to the table that the handlers read.
    ///
    /// - Parameter functions: The functions that the host calls, with their names in the contract.
    static func didOpen(_ identifier: String, _ functions: [(name: StaticString, address: UnsafeRawPointer?)]) {
        guard let opened = unsafe opened else { return }
        let known = unsafe functions.compactMap { function in
            unsafe function.address.map { address in
                unsafe portolan_called_function(
                    address: address, name: UnsafeRawPointer(function.name.utf8Start).assumingMemoryBound(to: CChar.self))
            }
        }
        guard let first = unsafe known.first, let base = unsafe portolan_base_of(first.address) else { return }
        let list = unsafe UnsafeMutablePointer<portolan_called_function>.allocate(capacity: known.count)
        unsafe list.initialize(from: known, count: known.count)
        lock.withLock { _ in
            unsafe portolan_add_opened_plugin(
                opened,
                portolan_opened_plugin(base: base, identifier: strdup(identifier), functions: list, function_count: known.count))
        }
    }
}
