// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import PortolanCore

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// The open file of a body.
    final class BodyFile: Sendable {
        private let descriptor: CInt
        let path: String

        private init(_ descriptor: CInt, _ path: String) { (self.descriptor, self.path) = (descriptor, path) }

        deinit { close(descriptor) }

        static func opened(_ path: String) throws(StoreError) -> BodyFile {
            // `O_NONBLOCK`, because a FIFO would block.
            try opened(path, O_RDONLY | O_NONBLOCK)
        }

        static func created(_ path: String) throws(StoreError) -> BodyFile {
            try opened(path, O_WRONLY | O_CREAT | O_EXCL)
        }

        private static func opened(_ path: String, _ flags: CInt) throws(StoreError) -> BodyFile {
            let descriptor = unsafe open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw .system(errno, "'\(path)' can't be opened", at: path) }
            return BodyFile(descriptor, path)
        }

        /// The size of the file in bytes.
        func size() throws(StoreError) -> Int64 {
            var status = stat()
            guard unsafe fstat(descriptor, &status) == 0 else { throw .system(errno, "'\(path)' can't be examined", at: path) }
            return Int64(status.st_size)
        }

        func expectSequentialReads() { _ = posix_fadvise(descriptor, 0, 0, CInt(POSIX_FADV_SEQUENTIAL)) }

        /// Reads octets to the start of a buffer, which becomes larger if it is too small for them.
        ///
        /// - Throws: ``StoreError/Code/corrupt`` if the file ends before the range does; otherwise the error of
        ///   `pread(2)`.
        func read(_ range: Range<Int64>, into buffer: inout [UInt8]) throws(StoreError) {
            if buffer.count < range.count { buffer = [UInt8](repeating: 0, count: range.count) }
            var (count, problem) = (0, CInt(0))
            unsafe buffer.withUnsafeMutableBytes { bytes in
                while count < range.count {
                    let result = unsafe pread(
                        descriptor, bytes.baseAddress?.advanced(by: count), range.count - count, off_t(range.lowerBound) + count)
                    if result < 0, errno == EINTR { continue }
                    if result < 0 { problem = errno }
                    if result <= 0 { return }
                    count += result
                }
            }
            guard problem == 0 else { throw .system(problem, "'\(path)' can't be read", at: path) }
            guard count == range.count else { throw StoreError(.corrupt, "'\(path)' is too short") }
        }

        /// Reads octets.
        ///
        /// - Throws: ``StoreError/Code/corrupt`` if the file ends before the range does; otherwise the error of
        ///   `pread(2)`.
        func read(_ range: Range<Int64>) throws(StoreError) -> [UInt8] {
            var octets: [UInt8] = []
            try read(range, into: &octets)
            return octets
        }

        /// Writes octets at a position.
        func write(_ octets: borrowing RawSpan, at position: Int64) throws(StoreError) {
            var written = 0
            while written < octets.byteCount {
                let result = unsafe octets.withUnsafeBytes { bytes in
                    unsafe pwrite(
                        descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written, off_t(position) + written)
                }
                if result < 0, errno == EINTR { continue }
                guard result > 0 else { throw .system(result < 0 ? errno : ENOSPC, "'\(path)' can't be written", at: path) }
                written += result
            }
        }
    }
#endif
