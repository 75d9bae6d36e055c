// SPDX-License-Identifier: Apache-2.0

import CPluginObservation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Asks the kernel whether memory can be read. The kernel reports EFAULT where a direct read would crash this process.
enum ReadableMemory {
    /// Whether each page between `start` and `start + count` can be read.
    static func contains(_ start: UnsafeRawPointer?, _ count: Int) -> Bool {
        guard count > 0 else { return count == 0 }
        guard let start = unsafe start, count <= 1 << 30 else { return false }
        var offset = 0
        while offset < count {
            guard unsafe isReadable(start + offset) else { return false }
            offset += GuardedPages.pageSize - Int(UInt(bitPattern: unsafe start + offset) % UInt(GuardedPages.pageSize))
        }
        return true
    }

    private static func isReadable(_ byte: UnsafeRawPointer) -> Bool {
        unsafe portolan_can_read(byte) == 1 || isReadableByPipe(byte)
    }

    private static func isReadableByPipe(_ byte: UnsafeRawPointer) -> Bool {
        var descriptors: [Int32] = [-1, -1]
        guard unsafe pipe(&descriptors) == 0 else { return true }
        defer { for descriptor in descriptors { close(descriptor) } }
        return unsafe write(descriptors[1], byte, 1) == 1
    }
}
