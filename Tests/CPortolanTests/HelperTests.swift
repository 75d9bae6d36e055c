// SPDX-License-Identifier: Apache-2.0

import CPortolan
import Testing

/// The helpers that write messages and ranges, and those that call the client and a nested load.
@Suite struct HelperTests {
    @Test(arguments: [
        ("a b", "'a b'"), ("", "''"), ("x\ny\u{7F}", "'x?y?'"), ("\u{E9}\u{85}z", "'\u{E9}?z'"), ("\u{2028}q\u{2029}", "'?q?'"),
        ("\u{2027}\u{1F9ED}", "'\u{2027}\u{1F9ED}'"), (String(repeating: "a", count: 120), "'\(String(repeating: "a", count: 120))'"),
        (String(repeating: "a", count: 121), "'\(String(repeating: "a", count: 120))\u{2026}'"),
        (String(repeating: "a", count: 119) + "\u{E9}", "'\(String(repeating: "a", count: 119))\u{2026}'"),
        (String(repeating: "\u{2028}", count: 41), "'\(String(repeating: "?", count: 40))\u{2026}'"),
    ])
    func quotedTextIsOneLine(text: String, quoted: String) {
        let written = unsafe withString(text) { text in unsafe fill(capacity: 256) { unsafe portolan_quote(text, $0, $1) } }
        #expect(written == FillResult(result: Int64(quoted.utf8.count), writtenBytes: Array(quoted.utf8)))
        let withoutRoom = unsafe withString(text) { text in unsafe fill(capacity: 2) { unsafe portolan_quote(text, $0, $1) } }
        #expect(withoutRoom == FillResult(result: Int64(quoted.utf8.count), writtenBytes: []))
    }

    @Test(
        arguments: [
            ([0xFF, 0x61], "'?a'"), ([0xC3], "'?'"), ([0xC0, 0x80], "'??'"), ([0xED, 0xA0, 0x80], "'???'"),
            ([0xF4, 0x90, 0x80, 0x80], "'????'"),
            ([0xE0, 0x9F, 0xBF], "'???'"), ([0xF0, 0x8F, 0xBF, 0xBF], "'????'"), ([0xE2, 0x82], "'??'"), ([0], "'?'"),
        ] as [([UInt8], String)])
    func invalidBytesAreReplaced(bytes: [UInt8], quoted: String) {
        let written = unsafe withString(bytes) { text in unsafe fill(capacity: 64) { unsafe portolan_quote(text, $0, $1) } }
        #expect(written.writtenBytes == Array(quoted.utf8))
    }

    @Test func absentTextIsEmpty() {
        let written = unsafe withString(nil as [UInt8]?) { text in unsafe fill(capacity: 8) { unsafe portolan_quote(text, $0, $1) } }
        #expect(written.writtenBytes == Array("''".utf8))
    }

    @Test(
        arguments: [
            (5, 5, "bytes=5-9"), (0, -1, "bytes=0-"), (0, 1, "bytes=0-0"), (.max, 1, "bytes=9223372036854775807-9223372036854775807"),
            (.max, 2, nil), (-1, 1, nil), (3, 0, nil), (1, .max, "bytes=1-9223372036854775807"), (2, .max, nil),
        ] as [(Int64, Int64, String?)])
    func rangeOfAnOffset(offset: Int64, count: Int64, value: String?) {
        let written = unsafe fill(capacity: 64) { unsafe portolan_range_value(offset, count, $0, $1) }
        let result = value.map { Int64($0.utf8.count) } ?? Int64(PORTOLAN_REFUSED_RANGE.rawValue)
        #expect(written == FillResult(result: result, writtenBytes: Array((value ?? "").utf8)))
    }

    /// RFC 9110 \u{A7}14.1.2, for a resource of ten bytes.
    @Test(
        arguments: [
            ("bytes=0-4", 1, 0, 5), ("bytes=5-", 1, 5, 5), ("bytes=-3", 1, 7, 3), ("bytes=-999", 1, 0, 10), ("bytes=9-9", 1, 9, 1),
            ("bytes=9-99999999999999999999", 1, 9, 1), ("BYTES=0-0", 1, 0, 1), ("bytes=10-", -8, -7, -7), ("bytes=-0", -8, -7, -7),
            ("bytes=99999999999999999999-", -8, -7, -7), ("bytes=99999999999999999999-99999999999999999998", 0, -7, -7),
            ("bytes=99999999999999999999-099999999999999999999", -8, -7, -7), ("bytes=0004-3", 0, -7, -7), ("bytes=4-2", 0, -7, -7),
            ("bytes=1-2,4-5", 0, -7, -7), ("lines=1-2", 0, -7, -7),
            ("bytes=-", 0, -7, -7), ("bytes=a-b", 0, -7, -7), ("bytes=1", 0, -7, -7), ("bytes=1-2 ", 0, -7, -7), ("bytes", 0, -7, -7),
            ("", 0, -7, -7), ("bytes= 1-2", 0, -7, -7),
        ] as [(String, Int32, Int64, Int64)])
    func rangeFieldIsParsed(value: String, result: Int32, offset: Int64, count: Int64) {
        var (parsedOffset, parsedCount): (Int64, Int64) = (-7, -7)
        let parsed = unsafe withString(value) { unsafe portolan_parse_range($0, 10, &parsedOffset, &parsedCount) }
        #expect((parsed, parsedOffset, parsedCount) == (result, offset, count))
    }

    /// A suffix range of an empty resource is satisfiable (RFC 9110 \u{A7}14.1.2), but has no bytes.
    @Test func emptyResourceHasNoRange() {
        var (offset, count): (Int64, Int64) = (-7, -7)
        for (value, result) in [
            ("bytes=0-", PORTOLAN_REFUSED_RANGE.rawValue), ("bytes=-1", 0), ("bytes=-0", PORTOLAN_REFUSED_RANGE.rawValue),
        ] {
            let parsed = unsafe withString(value) { unsafe portolan_parse_range($0, 0, &offset, &count) }
            #expect(parsed == result && offset == -7)
        }
    }

    // MARK: The body of an upload

    @Test(
        arguments: [
            ([], 4, 0), ([3], 4, 3), ([4], 4, 4), ([1, 2, 1], 4, 4), ([5], 4, -9), ([4, 1], 4, -9), ([], 0, 0), ([1], 0, -9),
            ([2, -1], 4, -1),
            ([2, -2], 4, -2),
        ] as [([Int64], Int, Int64)])
    func wholeBodyIsReadUpToTheCapacity(pieces: [Int64], capacity: Int, result: Int64) {
        let client = StubClient(pieces: pieces)
        let written = unsafe fill(capacity: max(capacity, 1)) { buffer, _ in
            guard let buffer = unsafe buffer else { return .min }
            return unsafe portolan_read_whole_body(client.pointer, buffer, capacity)
        }
        #expect(written.result == result)
    }

    // MARK: A nested load

    @Test(
        arguments: [
            ([2, 3, 0], 1, "response 2 3 finish"), ([0], 1, "response finish"), ([2, -1], -1, "response 2 fail -19 inner"),
            ([-1], -1, "response fail -19 inner"),
        ] as [([Int64], Int32, String)])
    func nestedLoadIsForwarded(pieces: [Int64], flow: Int32, calls: String) {
        let client = StubClient(pieces: pieces)
        let result = unsafe portolan_forward(client.pointer, client.nestedTable, client.nested)
        #expect(result.rawValue == flow)
        #expect(client.calls.joined(separator: " ") == calls)
    }

    @Test func stoppedLoadForwardsNothingMore() {
        for stop in 0...1 {
            let client = StubClient(pieces: [2, 3, 0], stoppingAt: stop)
            let result = unsafe portolan_forward(client.pointer, client.nestedTable, client.nested)
            #expect(result == PORTOLAN_STOPPED && client.calls.count == stop + 1, "\(client.calls)")
        }
    }

    @Test func tableHasTheSameFunctions() throws {
        let table = unsafe portolan_host_helper_table().pointee
        let size = Int(table.size)
        #expect(size == MemoryLayout<portolan_helper_table>.size)
        let decoded = unsafe withString("a%20b") { text in unsafe fill(capacity: 8) { unsafe table.decode(text, $0, $1) } }
        #expect(decoded.writtenBytes == Array("a b".utf8))
        let quoted = unsafe withString("x") { text in unsafe fill(capacity: 8) { unsafe table.quote(text, $0, $1) } }
        #expect(quoted.writtenBytes == Array("'x'".utf8))
        let client = StubClient(pieces: [2, 0])
        let flow = unsafe table.forward(client.pointer, client.nestedTable, client.nested)
        #expect(flow == PORTOLAN_CONTINUE)
    }
}

/// A client, and a nested load, whose bodies come in pieces of these sizes. A negative size is the last result. Both
/// have only the functions that the helpers call.
@safe
private final class StubClient {
    private(set) var calls: [String] = []
    private var pieces: [Int64]
    private let stoppingIndex: Int?
    /// The client, the nested load, and the response, the error and the bytes of the nested load, each in zeroed
    /// memory. A pointer to this object precedes the client, and is the nested load.
    private let memory: UnsafeMutableRawPointer
    let nestedTable: UnsafeMutablePointer<portolan_nested_table>
    private static let (head, part) = (16, 512)

    /// - Parameter stoppingIndex: The number of the call that returns STOPPED.
    init(pieces: [Int64], stoppingAt stoppingIndex: Int? = nil) {
        (self.pieces, self.stoppingIndex) = (pieces, stoppingIndex)
        let size = Self.head + 5 * Self.part
        unsafe memory = .allocate(byteCount: size, alignment: 16)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        unsafe nestedTable = (memory + Self.head + Self.part).assumingMemoryBound(to: portolan_nested_table.self)
        unsafe memory.storeBytes(of: Unmanaged.passUnretained(self).toOpaque(), as: UnsafeMutableRawPointer.self)
        unsafe errorPointer.pointee.code = PORTOLAN_ERROR_CONNECTION_LOST.rawValue
        unsafe errorPointer.pointee.size = UInt32(MemoryLayout<portolan_error>.size)
        setUpClient()
        setUpNestedLoad()
    }

    deinit { unsafe memory.deallocate() }

    var pointer: UnsafeMutablePointer<portolan_client> { unsafe (memory + Self.head).assumingMemoryBound(to: portolan_client.self) }
    var nested: OpaquePointer { unsafe OpaquePointer(memory) }
    private var responsePointer: UnsafeMutablePointer<portolan_response> {
        unsafe (memory + Self.head + 2 * Self.part).assumingMemoryBound(to: portolan_response.self)
    }
    private var errorPointer: UnsafeMutablePointer<portolan_error> {
        unsafe (memory + Self.head + 3 * Self.part).assumingMemoryBound(to: portolan_error.self)
    }
    private var bytes: UnsafeMutableRawPointer { unsafe memory + Self.head + 4 * Self.part }

    private func setUpClient() {
        unsafe pointer.pointee.read_body = { client, _, capacity in unsafe StubClient.at(client).next(atMost: capacity) }
        unsafe pointer.pointee.did_receive_response = { client, _ in unsafe StubClient.at(client).note("response") }
        unsafe pointer.pointee.did_load = { client, _, count in unsafe StubClient.at(client).note("\(count)") }
        unsafe pointer.pointee.did_finish = { client in _ = unsafe StubClient.at(client).note("finish") }
        unsafe pointer.pointee.did_fail = { client, error in
            let (code, isCaused) = unsafe (error.pointee.code, error.pointee.cause != nil)
            _ = unsafe StubClient.at(client).note("fail \(code) \(isCaused ? "inner" : "")")
        }
    }

    private func setUpNestedLoad() {
        unsafe nestedTable.pointee.response = { nested, response in
            unsafe response.pointee = UnsafePointer(StubClient.at(nested).responsePointer)
            return PORTOLAN_CONTINUE
        }
        unsafe nestedTable.pointee.next = { nested, bytes in
            let stub = unsafe StubClient.at(nested)
            unsafe bytes.pointee = UnsafeRawPointer(stub.bytes)
            return stub.next(atMost: 64)
        }
        unsafe nestedTable.pointee.error = { nested in unsafe UnsafePointer(StubClient.at(nested).errorPointer) }
    }

    private static func at(_ client: UnsafeMutablePointer<portolan_client>) -> StubClient {
        unsafe object(before: UnsafeMutableRawPointer(client) - head)
    }

    private static func at(_ nested: OpaquePointer) -> StubClient { unsafe object(before: UnsafeMutableRawPointer(nested)) }

    private static func object(before memory: UnsafeMutableRawPointer) -> StubClient {
        unsafe Unmanaged<StubClient>.fromOpaque(memory.load(as: UnsafeMutableRawPointer.self)).takeUnretainedValue()
    }

    private func note(_ call: String) -> portolan_flow {
        calls.append(call)
        return calls.count - 1 == stoppingIndex ? PORTOLAN_STOPPED : PORTOLAN_CONTINUE
    }

    private func next(atMost capacity: Int) -> Int64 {
        guard let piece = pieces.first else { return 0 }
        let count = min(piece, Int64(capacity))
        if count == piece { pieces.removeFirst() } else { pieces[0] -= count }
        return count
    }
}
