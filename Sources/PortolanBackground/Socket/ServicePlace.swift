// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import CPortolanLinux
    import FoundationEssentials
    public import PortolanCore
    import PortolanFileSystem
    import PortolanStore

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// The folders of a transfer service, which belong to one user.
    public struct ServicePlace: Hashable, Sendable {
        /// The folder of the socket and of the lock.
        public let runtimeFolder: String
        /// The folder of the journal.
        public let stateFolder: String

        var socket: String { "\(runtimeFolder)/transferd.sock" }
        /// Locked while a service runs. Contains the number of its process.
        var lock: String { "\(runtimeFolder)/transferd.lock" }
        /// Locked while a program starts the service.
        var startLock: String { "\(runtimeFolder)/start.lock" }

        public init(runtimeFolder: String, stateFolder: String) {
            (self.runtimeFolder, self.stateFolder) = (runtimeFolder, stateFolder)
        }

        /// `portolan` in `$XDG_RUNTIME_DIR`, and `portolan/transfers` in `$XDG_STATE_HOME` or `~/.local/state`. Without
        /// `$XDG_RUNTIME_DIR`, the socket is in the state folder.
        ///
        /// - Throws: ``LoadError/Code/ioFailed`` if the environment names no folder.
        ///
        /// XDG Base Directory Specification
        public static func standard() throws(LoadError) -> Self {
            guard let state = StateFolder.standardPath else {
                throw LoadError(.ioFailed, message: "neither XDG_STATE_HOME nor HOME is an absolute path; set one of them")
            }
            let runtime = unsafe secure_getenv("XDG_RUNTIME_DIR").map { unsafe String(cString: $0) }
            let folder = runtime.flatMap { $0.hasPrefix("/") ? "\($0)/portolan" : nil }
            return Self(runtimeFolder: folder ?? "\(state)/transfers", stateFolder: "\(state)/transfers")
        }

        /// Creates the folder of the socket, and checks that no other user can change it.
        func prepare() throws(LoadError) {
            var path = ""
            for part in runtimeFolder.split(separator: "/") {
                path += "/\(part)"
                // A folder that exists is no error. The check below reports what is wrong.
                _ = unsafe mkdir(path, 0o700)
            }
            var status = stat()
            guard unsafe lstat(runtimeFolder, &status) == 0 else {
                throw LoadError(.ioFailed, message: "the folder '\(runtimeFolder)' can't be made: \(SystemError.last)")
            }
            guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
                throw LoadError(
                    .accessDenied,
                    message: "'\(runtimeFolder)' is not a folder that only you can change; remove it, or set XDG_RUNTIME_DIR to another one"
                )
            }
        }
    }

    /// A lock on a file (flock(2)). The kernel releases it when the process ends.
    struct FileLock {
        private let file: Descriptor

        /// - Parameter waits: whether to wait for another process.
        /// - Returns: `nil` if another process has the lock.
        init?(_ path: String, waits: Bool) throws(LoadError) {
            do throws(SystemError) {
                file = try FileSystem.openForAppending(path, followsLinks: false)
            } catch {
                throw LoadError(.ioFailed, message: "'\(path)' can't be opened: \(error)")
            }
            while flock(file.number, waits ? LOCK_EX : LOCK_EX | LOCK_NB) != 0 {
                if errno == EINTR { continue }
                try? file.close()  // because nothing was written
                return nil
            }
        }

        /// Replaces the contents of the file. A failure is ignored, because the contents only help people.
        func write(_ text: String) {
            try? FileSystem.truncate(file)
            try? file.write(all: Array(text.utf8))
        }

        func release() {
            FileSystem.unlock(file)
            // `try?` because nothing was written.
            try? file.close()
        }
    }
#endif
