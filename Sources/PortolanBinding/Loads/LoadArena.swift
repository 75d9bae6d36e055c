// SPDX-License-Identifier: Apache-2.0

/// Memory that the bound C library borrows during one load. The memory is freed when the load ends. The steps of the
/// manifest's `setup` have a separate arena, which is never freed, because the library can keep pointers to its memory.
@safe
final class LoadArena {
    /// The addresses of the allocated blocks.
    private(set) var blocks: [UInt] = []
    private var texts: [[UInt8]: UInt] = [:]
    private var buffers: [Int: (address: UInt, capacity: Int)] = [:]

    deinit {
        for block in blocks { unsafe UnsafeMutableRawPointer(bitPattern: block)?.deallocate() }
    }

    private func allocate(_ count: Int) -> UnsafeMutableRawPointer {
        let block = UnsafeMutableRawPointer.allocate(byteCount: max(count, 1), alignment: 16)
        blocks.append(UInt(bitPattern: block))
        return unsafe block
    }

    /// Returns the address of a copy that ends with a NUL. Equal texts share one copy.
    func cStringAddress(of bytes: [UInt8]) -> UInt {
        if let address = texts[bytes] { return address }
        let block = unsafe allocate(bytes.count + 1)
        unsafe bytes.withUnsafeBytes { source in
            if let start = source.baseAddress { unsafe block.copyMemory(from: start, byteCount: source.count) }
        }
        unsafe block.storeBytes(of: 0, toByteOffset: bytes.count, as: UInt8.self)
        let address = UInt(bitPattern: block)
        texts[bytes] = address
        return address
    }

    /// Returns the address of a variable's buffer, which initially contains zeros. In a loop, the buffer is used again
    /// if it is large enough. Otherwise the new one has at least twice its size, so that all of them together have at
    /// most four times the largest one's size.
    func bufferAddress(ofVariable variable: Int, capacity: Int) -> UInt {
        let old = buffers[variable]
        if let old, old.capacity >= capacity { return old.address }
        let capacity = max(capacity, (old?.capacity ?? 0) * 2)
        let block = unsafe allocate(capacity)
        unsafe block.initializeMemory(as: UInt8.self, repeating: 0, count: capacity)
        let address = UInt(bitPattern: block)
        buffers[variable] = (address, capacity)
        return address
    }
}
