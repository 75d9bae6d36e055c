// SPDX-License-Identifier: Apache-2.0

/// A client's answer to what a load delivered.
public enum Flow: Int32, Hashable, Sendable {
    /// Deliver nothing more, and owe no end. Final.
    case stopped = -1
    /// What was delivered is taken; deliver nothing more until ``ProtocolLoad/resumeLoading()``.
    case pause = 0
    case keepGoing = 1
}

/// A moment in a load's life, for its metrics; the core takes the time.
public enum LoadStep: Int32, Hashable, Sendable, CaseIterable {
    case nameFound = 1
    case connected, secured, reused, requestSent, firstByte
}
