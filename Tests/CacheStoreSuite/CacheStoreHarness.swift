// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCache
import PortolanCore
import PortolanURL
import Synchronization
import Testing

/// Helper methods for ``CacheStoreCase``. They write to and read from the store under test.
package struct CacheStoreHarness: Sendable {
    package let store: any CacheStore

    package init(_ store: any CacheStore) { self.store = store }

    /// The time of all tests: Sun, 06 Nov 1994 08:49:37 GMT.
    package static let referenceTime: Int64 = 784_111_777
    package static let url = "https://example.org/a"

    // MARK: Values

    /// Parses header fields from one string. ` | ` separates the fields, for example `ETag: "a" | Vary: Accept`.
    package static func fields(_ text: String) throws -> HTTPFields {
        var fields = HTTPFields()
        for line in text.split(separator: " | ") {
            let colon = try #require(line.firstIndex(of: ":"))
            let name = try #require(HTTPField.Name(String(line[..<colon])))
            fields.append(HTTPField(name: name, value: String(line[line.index(after: colon)...].drop { $0 == " " })))
        }
        return fields
    }

    package static func key(_ url: String = url, partition: String? = nil) throws -> CacheKey {
        CacheKey(try URLRecord(parsing: url), partition: partition)
    }

    package static func makeOpening(
        _ url: String = url, request: String = "", expectedLength: Int? = nil, partition: String? = nil
    ) throws -> CacheOpening {
        let response = Response(url: try URLRecord(parsing: url), status: .ok)
        var opening = CacheOpening(try key(url, partition: partition), CacheAttributes(response), request: try fields(request))
        opening.expectedLength = expectedLength.map { Int64($0) }
        return opening
    }

    /// A stored response. Its request time and response time are `secondsAfterReference` seconds after
    /// ``referenceTime``. `request` has the fields that `Vary` names.
    package static func makeStoredResponse(
        _ fields: String = "", _ url: String = url, request: String = "", content: StoredContent, secondsAfterReference: Int64 = 0
    ) throws -> StoredResponse {
        let (headerFields, time) = (try Self.fields(fields), referenceTime + secondsAfterReference)
        return StoredResponse(
            url: try URLRecord(parsing: url), status: .ok, fields: headerFields, requestTime: time, responseTime: time,
            selectingFields: try #require(SelectingFields(vary: headerFields, request: try Self.fields(request))), content: content)
    }

    /// Octets that are different for each seed below 256.
    package static func pattern(_ seed: Int, count: Int) -> [UInt8] {
        let block = (0..<251).map { UInt8(truncatingIfNeeded: seed &* 31 &+ $0 &* 7) }
        var octets: [UInt8] = []
        octets.reserveCapacity(count + block.count)
        while octets.count < count { octets.append(contentsOf: block) }
        octets.removeLast(octets.count - count)
        return octets
    }

    package static func makeContent(_ range: Range<Int>, completeLength: Int?) -> StoredContent {
        StoredContent(
            ByteRangeSet(Int64(range.lowerBound)..<Int64(range.upperBound)), completeLength: completeLength.map { Int64($0) })
    }

    // MARK: Writing

    package static func write(_ octets: [UInt8], to writer: any CacheWriter) -> Bool { unsafe writer.write(octets.span.bytes) }

    /// Stores a complete body.
    ///
    /// - Returns: whether the store has accepted all octets.
    @discardableResult
    package func storeBody(
        _ octets: [UInt8], _ fields: String = "", at url: String = url, request: String = "", secondsAfterReference: Int64 = 0,
        partition: String? = nil
    ) throws -> Bool {
        let opening = try Self.makeOpening(url, request: request, expectedLength: octets.count, partition: partition)
        guard let writer = store.openWriter(opening), Self.write(octets, to: writer) else { return false }
        writer.finish(
            try Self.makeStoredResponse(
                fields, url, request: request, content: .complete(length: Int64(octets.count)),
                secondsAfterReference: secondsAfterReference),
            trailers: nil)
        return true
    }

    /// Stores a part of a body. `position` is the offset of its first octet, and `length` is the size of the whole
    /// body.
    package func storePart(_ octets: [UInt8], at position: Int, of length: Int, extending incompleteEntry: CacheEntry? = nil) throws {
        var opening = try Self.makeOpening()
        (opening.position, opening.extended) = (Int64(position), incompleteEntry?.id)
        guard let writer = store.openWriter(opening) else { return }
        for octet in octets { _ = Self.write([octet], to: writer) }
        let content = Self.makeContent(position..<position + octets.count, completeLength: length)
        let part = try Self.makeStoredResponse("ETag: \"a\"", content: content)
        writer.finish(try incompleteEntry.map { try #require($0.stored.combined(with: part)) } ?? part, trailers: nil)
    }

    // MARK: Reading

    package func entries(_ url: String = url, partition: String? = nil) async throws -> [CacheEntry] {
        let key = try Self.key(url, partition: partition)
        return await withCheckedContinuation { continuation in store.lookUp(key) { continuation.resume(returning: $0) } }
    }

    package func entry(_ url: String = url) async throws -> CacheEntry {
        let entries = try await entries(url)
        try #require(entries.count == 1)
        return entries[0]
    }

    /// The bodies of all entries for a URL, in the order of their identifiers.
    package func bodies(_ url: String = url, partition: String? = nil) async throws -> [[UInt8]] {
        var bodies: [[UInt8]] = []
        for entry in try await entries(url, partition: partition).sorted(by: { $0.id.rawValue < $1.id.rawValue }) {
            bodies.append(try await Self.octets(of: entry.body))
        }
        return bodies
    }

    /// Reads octets of a body, in reads of at most `limit` octets.
    package static func octets(of body: any CacheBody, _ range: Range<Int64>? = nil, atMost limit: Int = .max) async throws -> [UInt8] {
        let reader = CacheBodyCollector(body.makeReader(of: range ?? 0..<body.ranges.count))
        defer { reader.close() }
        while try await reader.readNext(atMost: limit) {}
        return reader.octets
    }
}

/// Collects the octets of one reader.
package final class CacheBodyCollector: Sendable {
    private let reader: any CacheBodyReader
    private let collectedOctets = Mutex<[UInt8]>([])

    package init(_ reader: any CacheBodyReader) { self.reader = reader }

    package var octets: [UInt8] { collectedOctets.withLock { $0 } }

    /// Waits for the next octets.
    ///
    /// - Returns: `false` at the end.
    package func readNext(atMost limit: Int = .max) async throws -> Bool {
        while true {
            let result = await withCheckedContinuation { continuation in
                let result = reader.read(
                    atMost: limit,
                    { bytes in
                        #expect(bytes.byteCount > 0 && bytes.byteCount <= limit)
                        unsafe bytes.withUnsafeBytes { octets in collectedOctets.withLock { unsafe $0.append(contentsOf: octets) } }
                    },
                    whenReady: { continuation.resume(returning: BodyRead.wait) })
                if case .wait = result { return }
                continuation.resume(returning: result)
            }
            switch result {
            case .bytes: return true
            case .wait: continue
            case .end: return false
            case .failed(let error): throw error
            }
        }
    }

    package func close() { reader.close() }
}
