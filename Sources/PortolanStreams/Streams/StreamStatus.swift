// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// The status of a stream.
public enum StreamStatus: Sendable, Equatable {
    case notOpen
    /// The stream was opened, and is not ready yet. For example, it connects a socket.
    case opening
    case open
    /// The source is being read. A thread that waits for bytes leaves the status ``open``.
    case reading
    /// The sink is being written. A thread that waits for space leaves the status ``open``.
    case writing
    /// All bytes were read. ``open`` again after ``StreamPropertyKey/currentOffset`` was set.
    case atEnd
    case closed
    /// The stream failed. Its `error` has the reason.
    case error
}

/// What a stream reports to the handler that was given to `schedule`.
public enum StreamEvent: Sendable, Equatable {
    /// The stream is open. The first event, unless opening fails. Reported only once, also if several handlers follow
    /// each other.
    case openCompleted
    /// A read returns immediately. Not repeated before the stream was read.
    case bytesAvailable
    /// A write accepts at least one byte immediately. Not repeated before bytes were written.
    case spaceAvailable
    /// All bytes were read. The last event, unless ``StreamPropertyKey/currentOffset`` is set afterwards.
    case endEncountered
    /// The stream failed. The last event.
    case errorOccurred(LoadError)
}
