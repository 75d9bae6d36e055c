// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A regular file that is open for reading. It is closed when the value ends.
///
/// The only code that calls open(2), fstat(2), pread(2) and close(2) for `file:`, for upload bodies and for tables on
/// disk. It never waits on a FIFO, and accepts only regular files.
package struct RegularFile: ~Copyable, Sendable {
    package let path: LocalPath
    /// In bytes, as it was when the file was opened; `nil` for a file whose contents the kernel generates during the
    /// read, and which has no size beforehand (`proc(5)`, `sysfs(5)`).
    package let size: Int64?
    /// When the contents were last changed, in whole seconds since 1970.
    package let modified: Int64
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
        // Checked before it is opened, because opening alone affects some files: it releases the writer of a FIFO, or
        // rewinds a tape.
        var facts = stat()
        let look = unsafe Self.call(with: path) { unsafe stat($0, &facts) }
        guard look.result == 0 else { throw .fileSystem(.stat, look.number, path) }
        try Self.requireRegular(facts, path)
        // O_NONBLOCK and O_NOCTTY, in case another file has replaced the checked one. They have no effect on a regular
        // file.
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
        let (descriptor, number) = unsafe Self.call(with: path) { unsafe open($0, flags) }
        guard descriptor >= 0 else { throw .fileSystem(.open, number, path) }
        do throws(LoadError) {
            guard unsafe fstat(descriptor, &facts) == 0 else { throw LoadError.fileSystem(.stat, errno, path) }
            try Self.requireRegular(facts, path)
        } catch {
            close(descriptor)
            throw error
        }
        self.path = path
        self.descriptor = descriptor
        modified = Int64(facts.st_mtim.tv_sec)
        owner = facts.st_uid
        permissions = facts.st_mode & 0o777
        size = Self.hasSize(facts, descriptor) ? Int64(facts.st_size) : nil
    }

    deinit { close(descriptor) }

    /// Tells the kernel that the file will be read from start to end, so that it reads further ahead
    /// (`posix_fadvise(2)`).
    package func expectSequentialReads() {
        // Only advice: without it the reads are slower.
        _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL)
    }

    /// Appends bytes of the file from `offset` on to `buffer`: as many as fit, but at most `limit`.
    ///
    /// - Returns: the number of bytes. It is less than requested only at the end of the file, or if the next read will
    ///   meet an error.
    /// - Throws: ``LoadError/Code/ioFailed``, and the errors of ``init(at:)`` for the same `errno`.
    package func read(into buffer: inout OutputRawSpan, atMost limit: Int = .max, from offset: Int64) throws(LoadError) -> Int {
        let wanted = min(buffer.freeCapacity, limit)
        var (total, error): (Int, CInt?) = (0, nil)
        unsafe buffer.withUnsafeMutableBytes { bytes, initialized in
            while total < wanted {
                let free = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[initialized..<initialized + wanted - total])
                let count = unsafe pread(descriptor, free.baseAddress, free.count, off_t(offset) + off_t(total))
                if count < 0, errno == EINTR { continue }
                if count < 0 { error = errno }
                guard count > 0 else { break }
                initialized += count
                total += count
            }
        }
        // Bytes from before an error are returned. The next read meets the error again.
        if let error, total == 0 { throw .fileSystem(.read, error, path) }
        return total
    }

    /// Lets `send` take bytes from the file.
    package func send(_ count: Int, from offset: Int64, _ send: (CInt, Int64, Int) -> FileTransfer) -> FileTransfer {
        send(descriptor, offset, count)
    }

    private static func requireRegular(_ facts: stat, _ path: LocalPath) throws(LoadError) {
        switch facts.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw .isDirectory(path)
        case S_IFIFO: throw .notRegular(path, "a FIFO")
        case S_IFSOCK: throw .notRegular(path, "a socket")
        case S_IFCHR, S_IFBLK: throw .notRegular(path, "a device")
        default: throw .notRegular(path, "not a regular file")
        }
    }

    /// Whether `st_size` is reliable. Only a file without allocated blocks needs a check: a read of its last byte.
    private static func hasSize(_ facts: stat, _ descriptor: CInt) -> Bool {
        guard facts.st_blocks == 0 else { return true }
        var byte: UInt8 = 0
        var count: Int
        repeat { count = unsafe pread(descriptor, &byte, 1, max(facts.st_size - 1, 0)) } while count < 0 && errno == EINTR
        return facts.st_size == 0 ? count == 0 : count != 0
    }

    /// Calls the system with a path, and again if a signal interrupts the call (`signal(7)`).
    ///
    /// - Returns: the result of the call, and `errno` right after it.
    private static func call(with path: LocalPath, _ function: (UnsafePointer<CChar>) -> CInt) -> (result: CInt, number: CInt) {
        unsafe (path.bytes + [0]).withUnsafeBytes { bytes in
            // An array with at least one element has an address.
            let text = unsafe bytes.assumingMemoryBound(to: CChar.self).baseAddress.unsafelyUnwrapped
            while true {
                let result = unsafe function(text)
                let number = errno
                if result >= 0 || number != EINTR { return (result, number) }
            }
        }
    }
}
