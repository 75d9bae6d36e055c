// SPDX-License-Identifier: Apache-2.0

/// A snapshot of a download or upload that the transfer service makes.
public struct BackgroundTransfer: Codable, Hashable, Identifiable, Sendable {
    /// What a transfer is doing. The raw values do not change between versions.
    public enum State: String, Codable, Hashable, Sendable {
        /// It has not begun, or it will be tried again.
        case waiting
        case running
        /// The server asks for a user name and a password. ``BackgroundSession/resume(_:user:password:)`` answers.
        case needsCredential
        /// The file is complete, or was sent.
        case finished
        case failed
        case cancelled

        /// Whether the transfer has ended for good.
        public var hasEnded: Bool { self == .finished || self == .failed || self == .cancelled }
    }

    public enum Kind: String, Codable, Hashable, Sendable {
        case download, upload
    }

    /// Unique for the user, and never used again.
    public internal(set) var id: Int64
    /// The identifier of the session that has added the transfer.
    public let session: String
    public let kind: Kind
    /// Without user name and password.
    public let url: String
    public let method: String
    /// The absolute path of the file that is written or sent. A finished download has the path that the file got, which
    /// can have a number at its end.
    public internal(set) var path: String
    public internal(set) var state = State.waiting
    /// Why the transfer waits, has failed, or needs a credential, or what the user should know about the complete file;
    /// `nil` if there is nothing to say.
    public internal(set) var message: String?
    /// The code of the last error, as `LoadError.Code`; `nil` if there was none.
    public internal(set) var errorCode: Int32?
    /// The status of the last response, such as 200; `nil` if there was none.
    public internal(set) var status: Int?
    /// The number of attempts that have ended without success.
    public internal(set) var failures = 0
    /// When the next attempt begins, in seconds since 1970; `nil` if no time is set.
    public internal(set) var nextAttempt: Double?
    /// The number of bytes that were written to the file, or were sent.
    public internal(set) var bytes: Int64 = 0
    /// The number of bytes in all; `nil` if it is unknown.
    public internal(set) var expectedBytes: Int64?
}
