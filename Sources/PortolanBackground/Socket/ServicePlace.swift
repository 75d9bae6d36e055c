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
        /// The folder of the socket.
        public let runtimeFolder: String
        /// The folder of the journal, of the locks, and of a second socket.
        public let stateFolder: String

        /// The service listens at each of these paths. A program can have another runtime folder than the service, and
        /// a runtime folder is removed when its user logs out, so there is also a socket beside the journal. A path
        /// that is too long for a socket is left out, unless all paths are too long.
        var sockets: [String] {
            let folders = runtimeFolder == stateFolder ? [runtimeFolder] : [runtimeFolder, stateFolder]
            let paths = folders.map { "\($0)/transferd.sock" }
            let usable = paths.filter { $0.utf8.count <= LocalSocket.pathLimit }
            return usable.isEmpty ? paths : usable
        }

        /// Locked while a service runs. Contains the number of its process.
        var lock: String { "\(stateFolder)/transferd.lock" }
        /// Locked while a program starts the service.
        var startLock: String { "\(stateFolder)/start.lock" }
        /// The standard error output of a service that a program has started.
        var log: String { "\(stateFolder)/transferd.log" }

        public init(runtimeFolder: String, stateFolder: String) {
            (self.runtimeFolder, self.stateFolder) = (runtimeFolder, stateFolder)
        }

        /// `portolan` in `$XDG_RUNTIME_DIR`, and `portolan/transfers` in `$XDG_STATE_HOME` or `~/.local/state`. Without
        /// `$XDG_RUNTIME_DIR`, the only socket is in the state folder.
        ///
        /// - Throws: `LoadError.Code.ioFailed` if neither `XDG_STATE_HOME` nor `HOME` is an absolute path.
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

        /// Creates the folders, and checks that no other user can change them.
        func prepare() throws(LoadError) {
            try Self.prepare(stateFolder)
            try Self.prepare(runtimeFolder)
        }

        /// Renames a log that has become long.
        func limitLog() {
            // `try?` because a log that can't be read is not renamed, and the service can still append to it.
            guard let file = try? FileSystem.openForReading(log) else { return }
            defer { try? file.close() }
            if FileSystem.size(of: file) ?? 0 > Self.logLimit { _ = unsafe rename(log, "\(log).old") }
        }

        private static let logLimit: Int64 = 1 << 20

        private static func prepare(_ folder: String) throws(LoadError) {
            var (path, problem) = ("", SystemError?.none)
            for part in folder.split(separator: "/") {
                path += "/\(part)"
                // A folder that exists is no error. The check below reports what is wrong.
                problem = unsafe mkdir(path, 0o700) == 0 ? nil : .last
            }
            var status = stat()
            guard unsafe lstat(folder, &status) == 0 else {
                throw LoadError(.ioFailed, message: "the folder '\(folder)' can't be made: \(problem ?? .last)")
            }
            guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
                throw LoadError(
                    .accessDenied,
                    message:
                        "'\(folder)' is not a folder that only you can change; remove it, or set another XDG_RUNTIME_DIR or XDG_STATE_HOME"
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
            // `try?` because the folder keeps others out.
            try? FileSystem.setMode(0o600, of: file)
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
            // `try?` because the contents only help people.
            try? file.close()
        }
    }
#endif
