// SPDX-License-Identifier: Apache-2.0

package import CPortolan

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Owns a C value and everything that it points to, in one allocation.
///
/// The bytes are overwritten before they are freed, because they can contain credentials.
@safe
package struct CStorage<Root>: ~Copyable, @unchecked Sendable {  // … because the memory does not change between `init` and `deinit`
    private let memory: UnsafeMutableRawPointer
    private let size: Int

    /// - Parameter build: makes the value, and allocates its parts in the arena. It is called twice: first to measure
    ///   the size, with an arena that returns NULL pointers, and then to write the value.
    package init(_ build: (inout CArena) -> Root) {
        var arena = CArena()
        _ = unsafe arena.reserve(Root.self, count: 1)
        _ = build(&arena)
        size = arena.usedSize
        unsafe memory = .allocate(byteCount: size, alignment: CArena.alignment)
        arena = unsafe CArena(memory)
        let root = unsafe arena.reserve(Root.self, count: 1)
        unsafe root?.initialize(to: build(&arena))
    }

    package var pointer: UnsafePointer<Root> {
        unsafe UnsafePointer(memory.assumingMemoryBound(to: Root.self))
    }

    deinit {
        // Not `memset`, because the compiler can remove it before a `free` (explicit_bzero(3)).
        unsafe explicit_bzero(memory, size)
        unsafe memory.deallocate()
    }
}

/// Allocates the parts of a ``CStorage`` value, one after the other.
@safe
package struct CArena: ~Copyable {
    package static let alignment = 16
    /// The memory of the arena; `nil` while measuring.
    private let base: UnsafeMutableRawPointer?
    /// The number of bytes that were reserved, with padding.
    package private(set) var usedSize = 0

    /// Makes an arena that only measures the size.
    package init() { unsafe base = nil }
    /// Makes an arena that allocates in `base`, which has the measured size.
    package init(_ base: UnsafeMutableRawPointer) { unsafe self.base = base }

    /// Reserves memory for `count` values, which the caller initialises. Returns `nil` while measuring, and if
    /// `count` is 0.
    package mutating func reserve<Value>(_ type: Value.Type, count: Int) -> UnsafeMutablePointer<Value>? {
        let alignment = MemoryLayout<Value>.alignment
        usedSize = (usedSize + alignment - 1) / alignment * alignment
        defer { usedSize += MemoryLayout<Value>.stride * count }
        guard count > 0, let base = unsafe base else { return nil }
        return unsafe (base + usedSize).bindMemory(to: Value.self, capacity: count)
    }

    /// Allocates a list with the result of `make` for each element of `source`.
    package mutating func list<Source: Collection, Value>(
        _ source: Source, _ make: (Source.Element, inout CArena) -> Value
    ) -> (start: UnsafePointer<Value>?, count: Int) {
        let start = unsafe reserve(Value.self, count: source.count)
        for (index, element) in source.enumerated() {
            let value = make(element, &self)
            if let start = unsafe start { unsafe (start + index).initialize(to: value) }
        }
        return unsafe (start.map { unsafe UnsafePointer($0) }, source.count)
    }

    /// Copies `bytes`, and appends a NUL that `length` does not count.
    package mutating func string(_ bytes: borrowing RawSpan) -> portolan_string {
        let count = bytes.byteCount
        let start = unsafe reserve(CChar.self, count: count + 1)
        if let start = unsafe start {
            unsafe bytes.withUnsafeBytes { unsafe UnsafeMutableRawBufferPointer(start: start, count: count).copyMemory(from: $0) }
            unsafe start[count] = 0
        }
        return unsafe portolan_string(bytes: start, length: count)
    }

    package mutating func string(_ text: String) -> portolan_string {
        let utf8 = text.utf8
        return unsafe string(utf8.span.bytes)
    }

    package mutating func string(_ array: [UInt8]) -> portolan_string {
        unsafe string(array.span.bytes)
    }

    /// `nil` gives an absent string.
    package mutating func string(_ text: String?) -> portolan_string {
        guard let text else { return unsafe portolan_string() }
        return unsafe string(text)
    }
}
