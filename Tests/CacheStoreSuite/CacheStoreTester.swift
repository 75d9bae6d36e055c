// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCache
import PortolanCore
import PortolanURL
import Synchronization
import Testing

/// A store under test, and shorthand for the cases of ``CacheStoreCase``.
package struct CacheStoreTester: Sendable {
    package let store: any CacheStore
    /// Called before each look-up, for stores that another process serves.
    private let settle: @Sendable () async -> Void

    package init(_ store: any CacheStore, settle: @escaping @Sendable () async -> Void = {}) {
        (self.store, self.settle) = (store, settle)
    }

    /// Sun, 06 Nov 1994 08:49:37 GMT
    package static let now: Int64 = 784_111_777
    package static let url = "https://example.org/a"

    // MARK: Values

    /// Fields of lines such as `Cache-Control: max-age=1`, separated by ` | `.
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

    package static func opening(
        _ url: String = url, request: String = "", expectedLength: Int? = nil, partition: String? = nil
    ) throws -> CacheOpening {
        let response = Response(url: try URLRecord(parsing: url), status: .ok)
        var opening = CacheOpening(try key(url, partition: partition), CacheAttributes(response), request: try fields(request))
        opening.expectedLength = expectedLength.map { Int64($0) }
        return opening
    }

    /// A response that was requested and received `received` seconds after ``now``. `Vary` selects by `request`.
    package static func stored(
        _ text: String = "", _ url: String = url, request: String = "", content: StoredContent, received: Int64 = 0
    ) throws -> StoredResponse {
        let fields = try fields(text)
        return StoredResponse(
            url: try URLRecord(parsing: url), status: .ok, fields: fields, requestTime: now + received, responseTime: now + received,
            selectingFields: try #require(SelectingFields(vary: fields, request: try Self.fields(request))), content: content)
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

    package static func parts(_ range: Range<Int>, length: Int?) -> StoredContent {
        StoredContent(ByteRangeSet(Int64(range.lowerBound)..<Int64(range.upperBound)), completeLength: length.map { Int64($0) })
    }

    // MARK: Writing

    package static func write(_ octets: [UInt8], to writer: any CacheWriter) -> Bool { unsafe writer.write(octets.span.bytes) }

    /// Stores a complete body.
    ///
    /// - Returns: whether the store has accepted all octets.
    @discardableResult
    package func store(
        _ octets: [UInt8], _ fields: String = "", at url: String = url, request: String = "", received: Int64 = 0, partition: String? = nil
    ) throws -> Bool {
        let opening = try Self.opening(url, request: request, expectedLength: octets.count, partition: partition)
        guard let writer = store.openWriter(opening), Self.write(octets, to: writer) else { return false }
        writer.finish(
            try Self.stored(fields, url, request: request, content: .complete(length: Int64(octets.count)), received: received),
            trailers: nil)
        return true
    }

    /// Stores octets from a position, which need not be all octets.
    package func storePart(_ octets: [UInt8], at position: Int, of length: Int, extending extended: CacheEntry? = nil) throws {
        var opening = try Self.opening()
        (opening.position, opening.extended) = (Int64(position), extended?.id)
        guard let writer = store.openWriter(opening) else { return }
        for octet in octets { _ = Self.write([octet], to: writer) }
        let part = try Self.stored("ETag: \"a\"", content: Self.parts(position..<position + octets.count, length: length))
        writer.finish(try extended.map { try #require($0.stored.combined(with: part)) } ?? part, trailers: nil)
    }

    // MARK: Reading

    package func entries(_ url: String = url, partition: String? = nil) async throws -> [CacheEntry] {
        await settle()
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

    /// Reads octets of a body, at most `limit` at once.
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
    private let received = Mutex<[UInt8]>([])

    package init(_ reader: any CacheBodyReader) { self.reader = reader }

    package var octets: [UInt8] { received.withLock { $0 } }

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
                        unsafe bytes.withUnsafeBytes { octets in received.withLock { unsafe $0.append(contentsOf: octets) } }
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
