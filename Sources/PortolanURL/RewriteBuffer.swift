// SPDX-License-Identifier: Apache-2.0

/// An output text that needs no memory while it is equal to the input text.
///
/// While everything appended so far is a prefix of the source, only its length is stored. At the first difference that
/// prefix is copied, and from then on the buffer has its own bytes. So a URL that is already canonical is serialised
/// without a copy, and the parser needs no special case for it. Each call must receive the same source.
struct RewriteBuffer {
    private var sharedCount = 0
    private var copy: [UInt8] = []
    private var hasDiverged = false

    /// The number of bytes written.
    var count: Int { hasDiverged ? copy.count : sharedCount }

    /// The bytes written, or nil if they are the first `count` bytes of the source.
    var ownBytes: [UInt8]? { hasDiverged ? copy : nil }

    /// Makes a buffer that starts with bytes of another text.
    init(copying prefix: Span<UInt8>) {
        hasDiverged = true
        appendOwn(0..<prefix.count, of: prefix)
    }

    init() {}

    @inline(__always)
    mutating func append(_ byte: UInt8, source: Span<UInt8>) {
        if !hasDiverged {
            if sharedCount < source.count, source[sharedCount] == byte {
                sharedCount += 1
                return
            }
            diverge(from: source)
        }
        copy.append(byte)
    }

    /// Appends the bytes of the source at `range`.
    @inline(__always)
    mutating func append(_ range: Range<Int>, of source: Span<UInt8>) {
        if range.isEmpty { return }
        if !hasDiverged {
            if range.lowerBound == sharedCount {
                sharedCount = range.upperBound
                return
            }
            diverge(from: source)
        }
        appendOwn(range, of: source)
    }

    /// Appends bytes that are not from the source.
    mutating func append(contentsOf bytes: Span<UInt8>, source: Span<UInt8>) {
        if bytes.isEmpty { return }
        if !hasDiverged { diverge(from: source) }
        appendOwn(0..<bytes.count, of: bytes)
    }

    /// Removes everything after the first `length` bytes.
    mutating func truncate(to length: Int) {
        if hasDiverged { copy.removeLast(copy.count - length) } else { sharedCount = length }
    }

    /// Inserts bytes at an offset that is already written.
    mutating func insert(_ bytes: [UInt8], at offset: Int, source: Span<UInt8>) {
        if !hasDiverged { diverge(from: source) }
        copy.insert(contentsOf: bytes, at: offset)
    }

    /// The byte written at `offset`.
    func byte(at offset: Int, source: Span<UInt8>) -> UInt8 {
        hasDiverged ? copy[offset] : source[offset]
    }

    private mutating func diverge(from source: Span<UInt8>) {
        hasDiverged = true
        copy.reserveCapacity(source.count + 16)
        appendOwn(0..<sharedCount, of: source)
    }

    private mutating func appendOwn(_ range: Range<Int>, of bytes: Span<UInt8>) {
        unsafe bytes.extracting(range).withUnsafeBufferPointer { unsafe copy.append(contentsOf: $0) }
    }
}
