// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// What the fuzzer of event streams calls. Not a part of the API.
@_spi(Fuzzing) public enum EventStreamFuzzing {
    public struct ParsedStream: Equatable, Sendable {
        public let events: [ServerSentEvent]
        public let lastEventID: String
        public let retryDelay: Duration?

        public init(events: [ServerSentEvent], lastEventID: String, retryDelay: Duration?) {
            (self.events, self.lastEventID, self.retryDelay) = (events, lastEventID, retryDelay)
        }
    }

    /// Parses the pieces of a stream. Returns `nil` if an event is larger than `limit` bytes, or an ID is too
    /// long.
    public static func parse(_ pieces: [[UInt8]], limit: Int) -> ParsedStream? {
        var parser = EventStreamParser(limit: limit)
        let events = pieces.flatMap { parser.append($0) }
        return parser.failure == nil ? ParsedStream(events: events, lastEventID: parser.lastEventID, retryDelay: parser.retryDelay) : nil
    }
}
