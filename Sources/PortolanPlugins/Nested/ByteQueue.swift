// SPDX-License-Identifier: Apache-2.0

/// Bytes on their way from an inner load to an outer one: filled by the one while the other looks at what it took last.
///
/// Two blocks change places, so nothing is copied but what comes in, and neither is allocated anew once it is large enough.
@safe
struct ByteQueue: ~Copyable {
    private var filling = Block()
    private var lent = Block()

    var count: Int { filling.count }

    mutating func append(_ bytes: borrowing RawSpan) {
        filling.append(bytes)
    }

    /// All that waits. Stays where it is until the next call of this function, or the queue's end.
    mutating func take() -> UnsafeRawBufferPointer {
        lent.count = 0
        swap(&filling, &lent)
        return unsafe lent.contents
    }

    @safe
    private struct Block: ~Copyable, @unchecked Sendable {  // … because it is memory of its own
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
