// SPDX-License-Identifier: Apache-2.0

/// Buffers bytes from a nested load for its parent load. The nested load appends bytes while the parent load reads the
/// last taken bytes.
///
/// Two blocks are swapped, so bytes are copied only when they are appended. A block that is large enough is not
/// reallocated.
@safe
struct ByteQueue: ~Copyable {
    private var filling = Block()
    private var lent = Block()

    var count: Int { filling.count }

    mutating func append(_ bytes: borrowing RawSpan) {
        filling.append(bytes)
    }

    /// Returns all waiting bytes. They stay valid until the next call of this function, or until the queue is
    /// destroyed.
    mutating func take() -> UnsafeRawBufferPointer {
        lent.count = 0
        swap(&filling, &lent)
        return unsafe lent.contents
    }

    @safe
    private struct Block: ~Copyable, @unchecked Sendable {  // … because it owns its memory
        private var memory = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
        var count = 0

        var contents: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(rebasing: memory[..<count]) }

        mutating func append(_ bytes: borrowing RawSpan) {
            reserve(count + bytes.byteCount)
            unsafe bytes.withUnsafeBytes { source in
                unsafe UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: source)
            }
            count += bytes.byteCount
        }

        private mutating func reserve(_ needed: Int) {
            guard unsafe needed > memory.count else { return }
            let larger = unsafe UnsafeMutableRawBufferPointer.allocate(byteCount: max(needed, 2 * memory.count, 16 << 10), alignment: 16)
            unsafe larger.copyMemory(from: contents)
            unsafe memory.deallocate()
            unsafe memory = larger
        }

        deinit { unsafe memory.deallocate() }
    }
}
