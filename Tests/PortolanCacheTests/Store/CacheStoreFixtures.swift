// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanURL
import Synchronization
import Testing

@testable import PortolanCache

/// Shorthand for the tests of stores.
enum CacheStoreFixtures {
    static func key(_ url: String = "https://example.org/a", partition: String? = nil) throws -> CacheKey {
        CacheKey(try URLRecord(parsing: url), partition: partition)
    }

    static func opening(
        _ url: String = "https://example.org/a", request: String = "", expectedLength: Int64? = nil, partition: String? = nil
    ) throws -> CacheOpening {
        let response = Response(url: try URLRecord(parsing: url), status: .ok)
        var opening = CacheOpening(
            try key(url, partition: partition), CacheAttributes(response), request: try CacheFixtures.fields(request))
        opening.expectedLength = expectedLength
        return opening
    }

    static func stored(
        _ fields: String = "", _ url: String = "https://example.org/a", request: String = "", content: StoredContent, received: Int64 = 0
    ) throws -> StoredResponse {
        try CacheFixtures.response(fields, request: request, url: url, content: content, received: received)
    }

    /// Stores a complete body.
    @discardableResult
    static func store(
        _ octets: [UInt8], _ fields: String = "", at url: String = "https://example.org/a", request: String = "", received: Int64 = 0,
        partition: String? = nil, in store: some CacheStore
    ) throws -> Bool {
        let opening = try opening(url, request: request, expectedLength: Int64(octets.count), partition: partition)
        guard let writer = store.openWriter(opening), write(octets, to: writer) else { return false }
        writer.finish(
            try stored(fields, url, request: request, content: .complete(length: Int64(octets.count)), received: received), trailers: nil)
        return true
    }

    static func write(_ octets: [UInt8], to writer: any CacheWriter) -> Bool { unsafe writer.write(octets.span.bytes) }

    /// All entries for a URL. The memory store calls back at once.
    static func entries(_ url: String = "https://example.org/a", partition: String? = nil, in store: some CacheStore) throws -> [CacheEntry]
    {
        let found = Mutex<[CacheEntry]?>(nil)
        store.lookUp(try key(url, partition: partition)) { entries in found.withLock { $0 = entries } }
        return try #require(found.withLock { $0 })
    }

    /// Reads octets of a body, at most `limit` at once.
    static func octets(of body: any CacheBody, _ range: Range<Int64>? = nil, atMost limit: Int = .max) throws -> [UInt8] {
        let reader = body.makeReader(of: range ?? 0..<body.ranges.count)
        var octets: [UInt8] = []
        while true {
            switch reader.read(
                atMost: limit, { bytes in unsafe bytes.withUnsafeBytes { unsafe octets.append(contentsOf: $0) } }, whenReady: {})
            {
            case .bytes: continue
            case .end:
                reader.close()
                return octets
            case .wait: throw Unexpected.wait
            case .failed(let error): throw error
            }
        }
    }

    enum Unexpected: Error { case wait }

    /// Octets that are different for each seed below 256. The octets of a seed repeat after 251.
    static func pattern(_ seed: Int, count: Int) -> [UInt8] {
        let block = (0..<251).map { UInt8(truncatingIfNeeded: seed &* 31 &+ $0 &* 7) }
        var octets: [UInt8] = []
        octets.reserveCapacity(count + block.count)
        while octets.count < count { octets.append(contentsOf: block) }
        octets.removeLast(octets.count - count)
        return octets
    }
}
