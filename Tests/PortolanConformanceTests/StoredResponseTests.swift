// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import Testing

@testable import PortolanConformance

/// The stored responses that checks offer to loads.
@Suite struct StoredResponseTests {
    private func stored(_ storage: portolan_storage = PORTOLAN_STORE) throws -> StoredResponse? {
        var response = unsafe portolan_response()
        unsafe response.size = UInt32(MemoryLayout<portolan_response>.size)
        unsafe response.expected_length = 4
        unsafe response.storage = storage
        return unsafe StoredResponse(ReadResponse(response), body: [1, 2, 3, 4], of: Request(url: try URLRecord(parsing: "x:y")))
    }

    @Test func responseWithoutPermissionIsNotStored() throws {
        #expect(try stored(PORTOLAN_STORE_NOT) == nil)
        #expect(try stored(portolan_storage(rawValue: 7)) == nil)
        #expect(try stored(PORTOLAN_STORE_IN_MEMORY)?.storage == .allowedInMemoryOnly)
    }

    @Test func bytesAreReadAtAnyOffset() throws {
        let stored = try #require(try stored())
        #expect(stored.response.expectedLength == 4)
        for (offset, capacity, bytes) in [
            (0, 9, [1, 2, 3, 4]), (2, 1, [3]), (3, 9, [4]), (4, 9, []), (-1, 9, []), (.max, 9, []), (0, 0, []), (0, -1, []),
        ] as [(Int64, Int, [UInt8])] {
            #expect(stored.bytes(at: offset, atMost: capacity) == bytes[...], "\(offset) \(capacity)")
        }
    }

    @Test func readingIsShortOrFails() throws {
        var stored = try #require(try stored())
        stored.reading = .byteByByte
        #expect(stored.bytes(at: 1, atMost: 9) == [2])
        stored.reading = .failing(at: 2)
        #expect(stored.bytes(at: 0, atMost: 9) == [1, 2])
        #expect(stored.bytes(at: 2, atMost: 9) == nil)
        stored.reading = .failing(at: 0)
        #expect(stored.bytes(at: 0, atMost: 9) == nil)
    }

    @Test(arguments: [
        ("\"ab\"", ["\"a0\"", "\"ab0\"", "\"a\""]), ("W/\"a0\"", ["W/\"a1\"", "W/\"a00\"", "W/\"a\""]), ("\"\"", ["\"0\""]),
        ("ab", ["a0", "ab0", "a"]), ("", ["0"]),
    ])
    func otherTagsDiffer(_ tag: String, _ others: [String]) {
        #expect(StorableLoad.otherTags(than: tag) == others)
    }
}
