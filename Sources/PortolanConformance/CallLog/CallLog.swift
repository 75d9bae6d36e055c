// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The last calls between runner and plugin, in memory that outlives the process that writes it, so that they can be
/// read after a crash.
@safe
final class CallLog: @unchecked Sendable {  // … because lines are written and read by one thread of a process at a time
    static let lineCount = 64
    private static let lineSize = 160
    private static let headSize = 64
    private static var wordsStart: Int { headSize + lineCount * lineSize }
    private static var size: Int { wordsStart + MemoryLayout<UInt32>.size + Int(PORTOLAN_LAST_WORDS) }

    /// The number of lines, then the lines, each ended by a NUL, then the bytes that a signal handler writes in a
    /// crash. The plugin can write to this memory, so nothing in it is trusted.
    private let memory: UnsafeMutableRawPointer
    private let start = MonotonicTime.nanoseconds
    private let lock = Mutex(())
    private let loadCount = Atomic(0)

    /// - Throws: If no memory can be mapped.
    init() throws(CheckSkipped) {
        let mapped = unsafe mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
        guard let mapped = unsafe mapped, unsafe mapped != MAP_FAILED else {
            throw CheckSkipped.resourceShortage("no memory could be mapped (errno \(errno))")
        }
        unsafe memory = mapped
    }

    /// Makes a log in the same memory, whose times begin now. Only for a process that exits after its check, and never
    /// unmaps the memory.
    private init(restarting callLog: CallLog) {
        unsafe memory = unsafe callLog.memory
        unsafe _ = Unmanaged.passRetained(callLog)
    }

    func restarted() -> CallLog { CallLog(restarting: self) }

    deinit { unmap() }

    /// Unmaps the memory only in this process, which must not use it again.
    func unmap() { unsafe munmap(memory, Self.size) }

    /// The memory in which a signal handler describes a crash.
    var lastWords: UnsafeMutablePointer<portolan_last_words> {
        unsafe (memory + Self.wordsStart).assumingMemoryBound(to: portolan_last_words.self)
    }

    /// The bytes that the signal handler wrote in a crash.
    var crashBytes: [UInt8] {
        let count = min(Int(clamping: unsafe lastWords.pointee.count), Int(PORTOLAN_LAST_WORDS))
        return unsafe Array(UnsafeRawBufferPointer(start: memory + Self.wordsStart + MemoryLayout<UInt32>.size, count: count))
    }

    /// Returns a number for a new load, from 1.
    func nextLoad() -> Int { loadCount.wrappingAdd(1, ordering: .relaxed).newValue }

    /// - Parameter load: The number of the load; `nil` if the call belongs to no load.
    func record(_ event: String, thread: Int32, load: Int? = nil) {
        let microseconds = (MonotonicTime.nanoseconds - start) / 1000
        let fraction = String(microseconds % 1000)
        let padded = String(repeating: "0", count: 3 - fraction.count) + fraction
        let loadText = load.map { "load \($0)  " } ?? ""
        let text = "\(microseconds / 1000).\(padded) ms  thread \(thread)  \(loadText)\(event)"
        let line = Array(text.utf8.prefix(Self.lineSize - 1)) + [0]
        lock.withLock { _ in
            // The number is negative only if the plugin has overwritten it.
            let count = max(0, unsafe memory.load(as: Int.self))
            let place = unsafe memory + Self.headSize + count % Self.lineCount * Self.lineSize
            unsafe place.copyMemory(from: line, byteCount: line.count)
            unsafe memory.storeBytes(of: count &+ 1, as: Int.self)
        }
    }

    /// Runs `action`, which calls the plugin's `function`, and records the begin and the end of the call.
    ///
    /// - Parameter url: The URL of the request that the function receives.
    func entering<Result, Failure: Error>(
        _ function: String, url: URLRecord? = nil, thread: Int32 = portolan_thread_number(), load: Int? = nil,
        _ action: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let address = url.map { " " + String(decoding: $0.description.utf8.prefix(Self.lineSize - 72), as: UTF8.self) } ?? ""
        record("→ \(function)\(address)", thread: thread, load: load)
        defer { record("← \(function)", thread: thread, load: load) }
        return try action()
    }

    /// The lines, oldest first.
    var lines: [String] {
        // The lock belongs to the process that writes. The lock of a process that has ended does not matter here.
        lock.withLock { _ in
            let count = unsafe memory.load(as: Int.self)
            guard count > 0 else { return [] }
            return (max(0, count - Self.lineCount)..<count).map { index in
                let place = unsafe memory + Self.headSize + index % Self.lineCount * Self.lineSize
                let bytes = unsafe UnsafeRawBufferPointer(start: place, count: Self.lineSize)
                return unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
        }
    }

    /// Deletes every line, and the bytes that a signal handler wrote.
    func clear() {
        lock.withLock { _ in unsafe memory.storeBytes(of: 0, as: Int.self) }
        unsafe lastWords.pointee.count = 0
    }
}
