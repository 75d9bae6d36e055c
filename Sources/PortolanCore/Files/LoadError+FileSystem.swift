// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension LoadError {
    /// A system call, with the manual page that lists its errors.
    package enum FileSystemCall: String, Sendable, CaseIterable {
        case stat = "stat(2)"
        case open = "open(2)"
        case read = "pread(2)"
    }

    /// Returns the error for a failed system call on the file at `path`.
    ///
    /// - Parameter number: the value of `errno`.
    package static func fileSystem(_ call: FileSystemCall, _ number: CInt, _ path: LocalPath) -> LoadError {
        switch number {
        case ENOENT: LoadError(.notFound, message: "no file '\(path)'; check the path")
        case ENOTDIR: LoadError(.notFound, message: "no file '\(path)': a part of the path before its last '/' is not a directory")
        case ENAMETOOLONG: LoadError(.notFound, message: "no file '\(path)': the name is longer than the file system allows")
        case EACCES, EPERM:
            LoadError(
                .accessDenied,
                message:
                    "no permission to read file '\(path)'; give this user read permission for the file, and search permission for the folders above it"
            )
        case EISDIR: .isDirectory(path)
        case ENXIO, ENODEV: .notRegular(path, "a socket or a device")
        case EMFILE:
            LoadError(
                .noResources,
                message:
                    "file '\(path)' can't be opened: this process has no free descriptor; raise 'ulimit -n' or load fewer files at the same time"
            )
        case ENFILE: LoadError(.noResources, message: "file '\(path)' can't be opened: the system has no free descriptor; try again later")
        case ENOMEM: LoadError(.noMemory, message: "file '\(path)' can't be read: the kernel has no memory for it")
        case ELOOP:
            LoadError(.ioFailed, message: "file '\(path)' can't be opened: its symbolic links form a loop (\(call.rawValue), ELOOP)")
        default: LoadError(.ioFailed, message: "\(call.rawValue) failed on file '\(path)': \(text(of: number)) (errno \(number))")
        }
    }

    package static func isDirectory(_ path: LocalPath) -> LoadError {
        LoadError(.isDirectory, message: "'\(path)' is a directory, and Portolan lists no directories; name a file in it")
    }

    static func notRegular(_ path: LocalPath, _ kind: String) -> LoadError {
        LoadError(.notRegularFile, message: "'\(path)' is \(kind), and only regular files can be loaded; copy its contents to a file first")
    }

    /// Returns the system's text for a value of `errno` (`strerror_r(3)`).
    package static func text(of number: CInt) -> String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            guard let address = buffer.baseAddress else { return "unknown error" }
            guard unsafe strerror_r(number, address, buffer.count) == 0 else { return "unknown error" }
            return unsafe String(cString: address)
        }
    }
}
