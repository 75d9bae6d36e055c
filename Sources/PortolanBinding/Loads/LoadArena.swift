// SPDX-License-Identifier: Apache-2.0

/// The memory that a library borrows from one load. All of it lives until the load is over, and the memory of `setup`
/// as long as the process, because a library may retain what it was given.
@safe
final class LoadArena {
    /// The addresses of the allocated blocks.
    private(set) var blocks: [UInt] = []
    private var texts: [[UInt8]: UInt] = [:]
    private var buffers: [Int: UInt] = [:]

    deinit {
        for block in blocks { unsafe UnsafeMutableRawPointer(bitPattern: block)?.deallocate() }
    }

    private func allocate(_ count: Int) -> UnsafeMutableRawPointer {
        let block = UnsafeMutableRawPointer.allocate(byteCount: max(count, 1), alignment: 16)
        blocks.append(UInt(bitPattern: block))
        return unsafe block
    }

    /// A copy that ends with a NUL. Equal texts share one copy.
    func text(_ bytes: [UInt8]) -> UInt {
        if let known = texts[bytes] { return known }
        let block = unsafe allocate(bytes.count + 1)
        unsafe bytes.withUnsafeBytes { source in
            if let start = source.baseAddress { unsafe block.copyMemory(from: start, byteCount: source.count) }
        }
        unsafe block.storeBytes(of: 0, toByteOffset: bytes.count, as: UInt8.self)
        let address = UInt(bitPattern: block)
        texts[bytes] = address
        return address
    }

    /// The buffer of a variable, which initially contains zeros.
    func buffer(_ variable: Int, capacity: Int) -> UInt {
        if let known = buffers[variable] { return known }
        let block = unsafe allocate(capacity)
        unsafe block.initializeMemory(as: UInt8.self, repeating: 0, count: capacity)
        let address = UInt(bitPattern: block)
        buffers[variable] = address
        return address
    }
}
