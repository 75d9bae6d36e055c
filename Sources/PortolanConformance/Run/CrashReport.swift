// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The information that a crashing process leaves: the address, the place in the code, and whether its memory was
/// limited.
struct CrashReport {
    private static let mark: UInt8 = 0x01
    private static let signals = [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS]

    /// The memory that the handler writes to; set once before the handler is installed.
    // … because a signal handler can access nothing else
    nonisolated(unsafe) private static var words: UnsafeMutablePointer<portolan_last_words>?
    /// The limits of this process before the plugin's code ran; set with `words`.
    // … because a signal handler can access nothing else
    nonisolated(unsafe) private static var limits = portolan_limits()

    /// Installs handlers that write a crash of this process to the call log. The signal then ends the process as usual.
    static func installHandlers(_ callLog: CallLog) {
        // The first call of this function loads code and allocates memory. A handler must not do that, because it can
        // interrupt malloc(3).
        unsafe write(0, nil, nil, to: callLog.lastWords)
        callLog.clear()
        unsafe words = unsafe callLog.lastWords
        _ = unsafe portolan_get_limits(0, &limits)
        // Separate stacks, because a thread's own stack may have caused the crash.
        SignalStack.addToThisAndLaterThreads()
        for signal in signals {
            var action = sigaction()
            unsafe action.__sigaction_handler.sa_sigaction = { number, information, context in
                unsafe CrashReport.report(number, information, context)
            }
            action.sa_flags = SA_SIGINFO | Int32(SA_ONSTACK) | Int32(bitPattern: UInt32(SA_RESETHAND))
            unsafe sigaction(signal, &action, nil)
        }
    }

    private static func report(_ number: Int32, _ information: UnsafeMutablePointer<siginfo_t>?, _ context: UnsafeRawPointer?) {
        if let words = unsafe words { unsafe write(number, information, context, to: words) }
        raise(number)
    }

    /// Uses only functions that are safe in a signal handler (`signal-safety(7)`), and allocates nothing.
    private static func write(
        _ number: Int32, _ information: UnsafeMutablePointer<siginfo_t>?, _ context: UnsafeRawPointer?,
        to words: UnsafeMutablePointer<portolan_last_words>
    ) {
        var address = unsafe information.map { unsafe UInt(bitPattern: $0.pointee._sifields._sigfault.si_addr) } ?? 0
        let lacksMemory: UInt8 = unsafe portolan_has_less_memory(&limits) == 0 ? 0 : 1
        var head: (UInt8, UInt8, UInt8) = (mark, UInt8(truncatingIfNeeded: number), lacksMemory)
        unsafe portolan_add_words(words, &head, 3)
        unsafe portolan_add_words(words, &address, 8)
        unsafe portolan_write_stack(words, context)
    }

    let signal: Int32
    /// Names the address of an invalid access; `nil` for signals other than SIGSEGV and SIGBUS.
    let addressPhrase: String?
    /// Whether the process had a lower limit of memory than before the plugin's code ran.
    let lacksMemory: Bool
    /// The stack without the handler's own frames.
    let stack: CrashStack?

    /// - Parameter bytes: ``CallLog/crashBytes``. The result is `nil` if they contain no report.
    init?(_ bytes: [UInt8]) {
        guard let start = bytes.firstIndex(of: Self.mark), bytes.count >= start + 11 else { return nil }
        signal = Int32(bytes[start + 1])
        lacksMemory = bytes[start + 2] != 0
        let address = bytes[(start + 3)..<(start + 11)].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        addressPhrase = signal == SIGSEGV || signal == SIGBUS ? "at the address 0x\(String(address, radix: 16))" : nil
        stack = Self.stack(of: bytes[(start + 11)...])
    }

    private static func stack(of bytes: ArraySlice<UInt8>) -> CrashStack? {
        let frames = bytes.split(separator: 0x0A).compactMap { place(String(decoding: $0, as: UTF8.self)) }
        // The handler's frames belong to this program; then comes the trampoline through which the kernel called it.
        let places = frames.drop { $0.object.isEmpty }.dropFirst()
        // The address in a calling frame is the return address, which is after the call.
        let calls = places.dropFirst().map { CodePlace(object: $0.object, offset: $0.offset == 0 ? 0 : $0.offset - 1) }
        return places.isEmpty ? nil : CrashStack(places: places.prefix(1) + calls)
    }

    /// Parses a line such as `/usr/lib/tide.so(+0x1169)`, or, for this program, `(+0x1169)`.
    private static func place(_ line: String) -> CodePlace? {
        guard line.hasSuffix(")"), let bracket = line.lastIndex(of: "("), line[bracket...].hasPrefix("(+0x"),
            let offset = UInt64(line[bracket...].dropFirst(4).dropLast(), radix: 16)
        else { return nil }
        return CodePlace(object: String(line[..<bracket]), offset: offset)
    }

    /// For example `SIGFPE: an arithmetic error`.
    static func name(of signal: Int32) -> String {
        switch signal {
        case SIGSEGV: "SIGSEGV: it accessed memory that it does not own or no longer borrows, or wrote to const memory"
        case SIGBUS: "SIGBUS: it accessed memory that does not exist"
        case SIGABRT: "SIGABRT: it called abort, or its heap is damaged"
        case SIGILL: "SIGILL: an illegal instruction, or a Swift trap"
        case SIGFPE: "SIGFPE: an arithmetic error"
        case SIGKILL: "SIGKILL"
        case SIGPIPE: "SIGPIPE: it wrote to a closed pipe or socket"
        default: "signal \(signal)"
        }
    }
}
