// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Whether memory can be read, asked of the kernel: what can't be read is EFAULT there, and the end of the process here.
enum ReadableMemory {
    /// Whether each page between `start` and `start + count` can be read.
    static func contains(_ start: UnsafeRawPointer?, _ count: Int) -> Bool {
        guard count > 0 else { return count == 0 }
        guard let start = unsafe start, count <= 1 << 30 else { return false }
        var descriptors: [Int32] = [-1, -1]
        guard unsafe pipe(&descriptors) == 0 else { return true }
        defer { for descriptor in descriptors { close(descriptor) } }
        var offset = 0
        while offset < count {
            guard unsafe isReadable(start + offset, descriptors) else { return false }
            offset += GuardedPages.pageSize - Int(UInt(bitPattern: unsafe start + offset) % UInt(GuardedPages.pageSize))
        }
        return unsafe isReadable(start + (count - 1), descriptors)
    }

    private static func isReadable(_ byte: UnsafeRawPointer, _ pipe: [Int32]) -> Bool {
        guard unsafe write(pipe[1], byte, 1) == 1 else { return false }
        var back: UInt8 = 0
        return unsafe read(pipe[0], &back, 1) == 1
    }
}
