// SPDX-License-Identifier: Apache-2.0

/// Buffers the bytes of a nested load for its parent load. The nested load appends bytes while the parent load uses the
/// bytes that it took last.
///
/// `take` swaps two blocks, so bytes are copied only when they are appended. Blocks are reused.
@safe
struct ByteQueue: ~Copyable {
    private var appendBlock = Block()
    private var takenBlock = Block()

    /// The number of bytes that were appended since the last call of ``take()``.
    var count: Int { appendBlock.count }

    mutating func append(_ bytes: borrowing RawSpan) {
        appendBlock.append(bytes)
    }

    /// Returns all appended bytes. They are valid until the next call of this function, or until the queue is
    /// destroyed.
    mutating func take() -> UnsafeRawBufferPointer {
        takenBlock.count = 0
        swap(&appendBlock, &takenBlock)
        return unsafe takenBlock.contents
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

        private mutating func reserve(_ size: Int) {
            guard unsafe size > memory.count else { return }
            let newMemory = unsafe UnsafeMutableRawBufferPointer.allocate(byteCount: max(size, 2 * memory.count, 16 << 10), alignment: 16)
            unsafe newMemory.copyMemory(from: contents)
            unsafe memory.deallocate()
            unsafe memory = newMemory
        }

        deinit { unsafe memory.deallocate() }
    }
}
