// SPDX-License-Identifier: Apache-2.0

/// The header of a frame.
///
/// RFC 9113 §4.1
struct HTTP2Frame: Equatable, Sendable {
    let type: FrameType
    let flags: UInt8
    /// The number of the stream; 0 for the connection.
    let stream: Int32
    /// Length of the payload in bytes, including padding.
    let length: Int

    /// RFC 9113 §6
    struct FrameType: RawRepresentable, Hashable, Sendable {
        let rawValue: UInt8

        static let data = Self(rawValue: 0)
        static let headers = Self(rawValue: 1)
        static let priority = Self(rawValue: 2)
        static let resetStream = Self(rawValue: 3)
        static let settings = Self(rawValue: 4)
        static let pushPromise = Self(rawValue: 5)
        static let goAway = Self(rawValue: 7)
        static let windowUpdate = Self(rawValue: 8)
        static let continuation = Self(rawValue: 9)
    }

    /// The maximum length of the payload in bytes, if no setting allows more (RFC 9113 §6.5.2).
    static let maximumLength = 16_384

    /// For DATA and HEADERS.
    var endsStream: Bool { flags & 0x1 != 0 }
    /// For HEADERS and CONTINUATION.
    var endsSection: Bool { flags & 0x4 != 0 }
    /// For DATA.
    var isPadded: Bool { flags & 0x8 != 0 }
}

/// One parameter of a SETTINGS frame.
///
/// RFC 9113 §6.5.2, RFC 9218 §2.1
struct HTTP2Setting: Equatable, Sendable {
    let parameter: Parameter
    let value: UInt32

    struct Parameter: RawRepresentable, Hashable, Sendable {
        let rawValue: UInt16

        static let enablePush = Self(rawValue: 0x2)
        static let maxConcurrentStreams = Self(rawValue: 0x3)
        static let initialWindowSize = Self(rawValue: 0x4)
        static let maxHeaderListSize = Self(rawValue: 0x6)
        static let noRFC7540Priorities = Self(rawValue: 0x9)
    }
}

/// The fields of a request as bytes, in the order in which they are sent.
struct HTTP2FieldBlock: Sendable {
    struct Entry: Sendable {
        let nameCount: Int
        let valueCount: Int
        /// Whether the client, and every proxy on the way, must not add the field to a compression table (RFC 7541
        /// §6.2.3).
        let isNeverIndexed: Bool
    }

    /// All names and values, one after the other.
    private(set) var bytes: [UInt8] = []
    private(set) var entries: [Entry] = []

    mutating func reserve(entries count: Int, bytes byteCount: Int) {
        entries.reserveCapacity(count)
        bytes.reserveCapacity(byteCount)
    }

    /// - Parameter name: in lower case.
    mutating func append(_ name: String, _ value: Span<UInt8>, isNeverIndexed: Bool = false) {
        bytes.append(contentsOf: name.utf8)
        unsafe value.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
        entries.append(Entry(nameCount: name.utf8.count, valueCount: value.count, isNeverIndexed: isNeverIndexed))
    }
}
