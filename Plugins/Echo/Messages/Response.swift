// SPDX-License-Identifier: Apache-2.0

/// What comes before a body.
struct Response: Equatable, Sendable {
    /// 0: none.
    var status: Int32 = 0
    /// `type/subtype`.
    var type: String?
    var charset: String?
    /// For saving the body.
    var name: String?
    /// How many bytes will be delivered; `nil`: not known.
    var length: Int64?
    var fields: [Field] = []
}

/// A point that a load passes on its way.
enum Step: Int32, CaseIterable, Sendable {
    case nameFound = 1
    case connected, secured, reused, requestSent, firstByte
}

/// The question for a user and a password.
struct Question: Sendable {
    let protocolName: String
    /// Empty: the host of the URL that is served.
    let host: String
    let port: Int?
    let realm: String?
    /// How many answers were wrong so far.
    let failureCount: Int32
    /// Why the last one was.
    let previous: Failure?
}

/// What became of the question.
enum Reply: Sendable {
    case right
    case wrong
    /// Nobody has an answer for this protection space.
    case none
    case cancelled
}
