// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A regular file that is open for reading. It is closed when the value is destroyed.
///
/// All reads of files for `file:`, for request bodies and for system tables use this type. It accepts only regular
/// files, so it never waits for the writer of a FIFO.
package struct RegularFile: ~Copyable, Sendable {
    package let path: LocalPath
    /// The size in bytes when the file was opened; `nil` if the size is unknown, because the kernel generates the
    /// contents during the read (`proc(5)`, `sysfs(5)`).
    package let size: Int64?
    /// The time of the last modification, in seconds since 1970.
    package let modificationTime: Int64
    /// The user ID of the owner.
    let owner: uid_t
    /// The nine permission bits (`inode(7)`).
    let permissions: mode_t
    private let descriptor: CInt

    /// Opens the file at `path`, through symbolic links.
    ///
    /// - Throws: ``LoadError/Code/notFound``, ``LoadError/Code/accessDenied``, ``LoadError/Code/isDirectory``,
    ///   ``LoadError/Code/notRegularFile``, ``LoadError/Code/noResources``, ``LoadError/Code/noMemory``, otherwise
    ///   ``LoadError/Code/ioFailed``.
    package init(at path: LocalPath) throws(LoadError) {
        // The type is checked before open(2), because open(2) affects some files: it releases the writer of a FIFO, or
        // rewinds a tape.
        var attributes = stat()
        let check = unsafe Self.call(with: path) { unsafe stat($0, &attributes) }
        guard check.result == 0 else { throw .fileSystem(.stat, check.number, path) }
        try Self.requireRegular(attributes, path)
        // O_NONBLOCK and O_NOCTTY have no effect on a regular file. They matter if another kind of file has replaced
        // the checked file.
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
        let (descriptor, number) = unsafe Self.call(with: path) { unsafe open($0, flags) }
        guard descriptor >= 0 else { throw .fileSystem(.open, number, path) }
        do throws(LoadError) {
            guard unsafe fstat(descriptor, &attributes) == 0 else { throw LoadError.fileSystem(.stat, errno, path) }
            try Self.requireRegular(attributes, path)
        } catch {
            close(descriptor)
            throw error
        }
        self.path = path
        self.descriptor = descriptor
        modificationTime = Int64(attributes.st_mtim.tv_sec)
        owner = attributes.st_uid
        permissions = attributes.st_mode & 0o777
        size = Self.hasSize(attributes, descriptor) ? Int64(attributes.st_size) : nil
    }

    deinit { close(descriptor) }

    /// Advises the kernel to read ahead, because the file will be read from start to end (`posix_fadvise(2)`).
    package func expectSequentialReads() {
        // A failure is ignored: the reads are only slower.
        _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL)
    }

    /// Appends bytes of the file to `buffer`, from `offset` on: as many as fit, but at most `limit`.
    ///
    /// - Returns: the number of bytes. It is less than requested only at the end of the file or before an error, which
    ///   the next read throws.
    /// - Throws: ``LoadError/Code/ioFailed``, or the error of ``init(at:)`` for the same `errno`.
    package func read(into buffer: inout OutputRawSpan, atMost limit: Int = .max, from offset: Int64) throws(LoadError) -> Int {
        let requestedCount = min(buffer.freeCapacity, limit)
        var (total, error): (Int, CInt?) = (0, nil)
        unsafe buffer.withUnsafeMutableBytes { bytes, initialized in
            while total < requestedCount {
                let free = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[initialized..<initialized + requestedCount - total])
                let count = unsafe pread(descriptor, free.baseAddress, free.count, off_t(offset) + off_t(total))
                if count < 0, errno == EINTR { continue }
                if count < 0 { error = errno }
                guard count > 0 else { break }
                initialized += count
                total += count
            }
        }
        // Bytes that were read before an error are returned. The next read fails again.
        if let error, total == 0 { throw .fileSystem(.read, error, path) }
        return total
    }

    /// Sends bytes of the file with `send` (``FileBackedReader/send(_:)``).
    package func send(_ count: Int, from offset: Int64, _ send: (CInt, Int64, Int) -> FileSendResult) -> FileSendResult {
        send(descriptor, offset, count)
    }

    private static func requireRegular(_ attributes: stat, _ path: LocalPath) throws(LoadError) {
        switch attributes.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw .isDirectory(path)
        case S_IFIFO: throw .notRegular(path, "a FIFO")
        case S_IFSOCK: throw .notRegular(path, "a socket")
        case S_IFCHR, S_IFBLK: throw .notRegular(path, "a device")
        default: throw .notRegular(path, "not a regular file")
        }
    }

    /// Whether `st_size` is the real size. For a file without allocated blocks, this is checked by a read of the last
    /// byte.
    private static func hasSize(_ attributes: stat, _ descriptor: CInt) -> Bool {
        guard attributes.st_blocks == 0 else { return true }
        var byte: UInt8 = 0
        var count: Int
        repeat { count = unsafe pread(descriptor, &byte, 1, max(attributes.st_size - 1, 0)) } while count < 0 && errno == EINTR
        return attributes.st_size == 0 ? count == 0 : count != 0
    }

    /// Makes a system call with a path, and repeats it if a signal interrupts it (`signal(7)`).
    ///
    /// - Returns: the result of the call, and the value of `errno`.
    private static func call(with path: LocalPath, _ function: (UnsafePointer<CChar>) -> CInt) -> (result: CInt, number: CInt) {
        unsafe (path.bytes + [0]).withUnsafeBytes { bytes in
            // Not `nil`, because the array has at least one element.
            let text = unsafe bytes.assumingMemoryBound(to: CChar.self).baseAddress.unsafelyUnwrapped
            while true {
                let result = unsafe function(text)
                let number = errno
                if result >= 0 || number != EINTR { return (result, number) }
            }
        }
    }
}
