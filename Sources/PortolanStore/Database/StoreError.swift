// SPDX-License-Identifier: Apache-2.0

/// Why a store on disk can't be opened, read or written.
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of an error. The raw values do not change between versions.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// Another process has locked the file for too long.
        public static let busy = Code(rawValue: "busy")
        /// The file or its file system can't be written.
        public static let readOnly = Code(rawValue: "read-only")
        /// The file system has no space left, or the user's disk quota is used up.
        public static let full = Code(rawValue: "full")
        /// The permissions of the file or its folder do not allow the access.
        public static let accessDenied = Code(rawValue: "access-denied")
        /// Another user owns the file or its folder, others can change the folder, or one of the two is a symbolic
        /// link.
        public static let notPrivate = Code(rawValue: "not-private")
        /// Something else than a regular file has the name of a store's file, or something else than a folder has the
        /// name of its folder. Also for a path that no file can have.
        public static let wrongKind = Code(rawValue: "wrong-kind")
        /// The file is damaged, and was not replaced.
        public static let corrupt = Code(rawValue: "corrupt")
        /// A newer version of Portolan wrote the file.
        public static let newerVersion = Code(rawValue: "newer-version")
        /// The file is a database of another program.
        public static let foreignFile = Code(rawValue: "foreign-file")
        /// The process can't get more memory, threads or file descriptors.
        public static let noResources = Code(rawValue: "no-resources")
        /// The system or SQLite reports another error.
        public static let ioFailed = Code(rawValue: "io-failed")
        /// The state folder or the cache is closed.
        public static let closed = Code(rawValue: "closed")
        /// The path of the user's state or cache folder is unknown.
        public static let noFolder = Code(rawValue: "no-folder")
    }

    /// The kind of the error, for programs.
    public let code: Code
    /// What happened, and what to do about it, in one line. Contains no cookie and no password.
    public let message: String

    package init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    public var description: String { message }
}
