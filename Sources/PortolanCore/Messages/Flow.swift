// SPDX-License-Identifier: Apache-2.0

/// What a client returns for a delivery of a load.
public enum Flow: Int32, Hashable, Sendable {
    /// Deliver nothing more, not even an end. Final.
    case stopped = -1
    /// The delivery was accepted. Deliver nothing more until ``ProtocolLoad/resumeLoading()``.
    case pause = 0
    case keepGoing = 1
}

/// A step of a load, for its metrics. The core records the time.
public enum LoadStep: Int32, Hashable, Sendable, CaseIterable {
    case nameFound = 1
    case connected, secured, reused, requestSent, firstByte
}
