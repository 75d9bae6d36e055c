// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Reads folders and small files.
enum Folder {
    struct Entry {
        let name: String
        /// Whether the entry is known to be a regular file. Some file systems do not report this.
        let isFile: Bool
    }

    /// The maximum number of entries of a folder.
    static let entryLimit = 1 << 16

    /// Returns the entries of the folder in lexical order, without names that are not UTF-8 or start with a dot
    /// (`readdir(3)`).
    ///
    /// - Throws: ``SystemCallError/tooLarge`` if there are more than `limit`, because their order depends on the file
    ///   system.
    static func entries(of path: String, atMost limit: Int = entryLimit) throws(SystemCallError) -> [Entry] {
        guard let stream = unsafe opendir(path) else { throw .last }
        defer { unsafe closedir(stream) }
        var entries: [Entry] = []
        while let entry = unsafe readdir(stream) {
            let type = unsafe entry.pointee.d_type
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { start in
                unsafe start.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(validatingCString: $0) }
            }
            guard let name, !name.hasPrefix(".") else { continue }
            guard entries.count < limit else { throw .tooLarge }
            entries.append(Entry(name: name, isFile: type == UInt8(truncatingIfNeeded: DT_REG)))
        }
        return entries.sorted { $0.name < $1.name }
    }

    /// Reads a regular file. Rejects a FIFO, which could block.
    ///
    /// - Parameter limit: the maximum size in bytes. If the file is larger, `limit + 1` bytes are read.
    static func contents(of path: String, atMost limit: Int) throws(SystemCallError) -> [UInt8] {
        try file(at: path, atMost: limit, flags: 0).contents
    }

    /// Same as ``contents(of:atMost:)`` for a file that is not a symbolic link. Also returns the status of the file
    /// that was read.
    static func fileWithoutFollowingLinks(at path: String, atMost limit: Int) throws(SystemCallError) -> (
        status: FileStatus, contents: [UInt8]
    ) {
        try file(at: path, atMost: limit, flags: O_NOFOLLOW)
    }

    private static func file(
        at path: String, atMost limit: Int, flags: CInt
    ) throws(SystemCallError) -> (status: FileStatus, contents: [UInt8]) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags)
        guard descriptor >= 0 else { throw errno == ENXIO ? .notRegular("a socket") : .last }
        defer { close(descriptor) }
        let status = try FileStatus(of: descriptor)
        guard status.kind == .regular else { throw status.kind == .folder ? .init(number: EISDIR) : .notRegular(status.kindDescription) }
        let size = min(Int(clamping: status.size), limit + 1)
        var failure: SystemCallError?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < size {
                let readCount = unsafe read(descriptor, buffer.baseAddress.map { unsafe $0 + count }, size - count)
                if readCount < 0, errno == EINTR { continue }
                if readCount < 0 { failure = .last }
                guard readCount > 0 else { return }
                count += readCount
            }
        }
        if let failure { throw failure }
        return (status, bytes)
    }

    /// Returns the text before the last slash. `nil` if there is no slash. Compares bytes, because in a `String` a
    /// slash before a combining mark is another character.
    static func parent(of path: String) -> String? {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) }
    }

    /// Returns the target of a symbolic link (`readlink(2)`).
    static func linkTarget(of path: String) throws(SystemCallError) -> String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let capacity = buffer.count
        let count = unsafe buffer.withUnsafeMutableBufferPointer { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
                unsafe characters.baseAddress.map { unsafe readlink(path, $0, capacity) } ?? -1
            }
        }
        guard count >= 0 else { throw .last }
        guard count < buffer.count, let text = String(validating: buffer[..<count], as: UTF8.self) else {
            throw SystemCallError(number: EILSEQ)
        }
        return text
    }
}
