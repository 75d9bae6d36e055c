// SPDX-License-Identifier: Apache-2.0

internal import PortolanCore

/// The output buffer of a decoder. Output that was not used yet stays in it.
@safe
struct DecodedBuffer: ~Copyable {  // … because it owns its memory and lets callers borrow written bytes only
    /// The capacity in bytes at first.
    ///
    /// zlib copies its window of 32 KiB each time the output is full. Measured with zlib alone on text of ratio 2.7: 16
    /// KiB cost 11 to 17 % of the speed, and 256 KiB gain up to 7 %. So the buffer grows once it was full. Most bodies
    /// never fill it.
    static let capacity = 64 << 10
    /// The capacity in bytes after the buffer was full once.
    static let largestCapacity = 256 << 10

    private var memory: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0

    init() {
        unsafe memory = .allocate(byteCount: Self.capacity, alignment: 16)
    }

    deinit { unsafe memory.deallocate() }

    var isEmpty: Bool { start == end }
    var isFull: Bool { unsafe end == memory.count }
    var count: Int { end - start }

    /// Calls `fill` to write behind the existing contents.
    mutating func append<Failure: Error, Result>(
        _ fill: (inout OutputRawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let room = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[end...])
        var output = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
        let result = try fill(&output)
        end += unsafe output.finalize(for: room)
        return result
    }

    /// Removes the first `count` bytes.
    mutating func drop(_ count: Int) {
        start = min(start + count, end)
        guard isEmpty else { return }
        if isFull { grow() }
        (start, end) = (0, 0)
    }

    private mutating func grow() {
        guard unsafe memory.count < Self.largestCapacity else { return }
        unsafe memory.deallocate()
        unsafe memory = .allocate(byteCount: Self.largestCapacity, alignment: 16)
    }

    /// Removes the last `count` bytes.
    mutating func dropLast(_ count: Int) {
        end = max(start, end - count)
        if isEmpty { (start, end) = (0, 0) }
    }

    func withContents<Failure: Error, Result>(_ use: (borrowing RawSpan) throws(Failure) -> Result) throws(Failure) -> Result {
        let contents = unsafe UnsafeRawBufferPointer(rebasing: memory[start..<end])
        return unsafe try use(contents.bytes)
    }
}
