// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCache

/// Stored octets that can't be read any more, or that are damaged: the load goes on with those of the server.
@Suite struct DamagedBodyTests {
    private let damage = Damage()
    private let world: ManualWorld

    init() { world = ManualWorld(DamagingStore(damage)) }

    /// Stores the digits from 0 to 9.
    private func store(_ lines: [String] = ["ETag: \"x\""]) throws {
        try world.start()
        try world.load(0).respond(200, "Cache-Control: max-age=60", lines[0], lines.count > 1 ? lines[1] : "X-None: 1", length: 10)
        try world.load(0).deliver("0123456789")
        try world.load(0).finish()
    }

    @Test func restComesFromTheServer() throws {
        try store()
        damage.begin(at: 4)
        let load = try world.start(fields: [.accept: "text/plain"])
        #expect(load.body == "0123" && !load.received.hasEnded && world.sent.count == 2)
        let fields = try world.load(1).request.fields
        #expect(fields[.range] == "bytes=4-9" && fields[.ifRange] == "\"x\"" && fields[.accept] == "text/plain")
        try world.load(1).respond(206, "ETag: \"x\"", "Content-Range: bytes 4-9/10", length: 6)
        try world.load(1).deliver("456")
        try world.load(1).deliver("789")
        try world.load(1).finish()
        #expect(load.isComplete && load.body == "0123456789" && load.received.response?.source == .cache)
        #expect(try world.entries().isEmpty)
    }

    /// A date is a strong validator if it is a minute older than the response (RFC 9110 §8.8.2.2). The 206 response
    /// leaves it out.
    @Test func dateCanBeTheValidator() throws {
        let modified = "Tue, 14 Nov 2023 20:00:00 GMT"
        try store(["Last-Modified: \(modified)", "Date: Tue, 14 Nov 2023 22:13:20 GMT"])
        damage.begin(at: 4)
        let load = try world.start()
        #expect(world.sent.last?.request.fields[.ifRange] == modified)
        try world.load(1).respond(206, "Content-Range: bytes 4-9/10", "Date: Tue, 14 Nov 2023 22:13:20 GMT")
        try world.load(1).deliver("456789")
        try world.load(1).finish()
        #expect(load.isComplete && load.body == "0123456789")
    }

    /// A server that does not know ranges sends the whole representation.
    @Test(arguments: [["0123456789"], ["01", "23456", "789"], ["0123", "456789"]]) func wholeResponseIsShortened(_ pieces: [String]) throws
    {
        try store()
        damage.begin(at: 4)
        let load = try world.start()
        try world.load(1).respond(200, "ETag: \"x\"", length: 10)
        for piece in pieces { try world.load(1).deliver(piece) }
        try world.load(1).finish()
        #expect(load.isComplete && load.body == "0123456789")
    }

    @Test func rangeEndsWhereItMust() throws {
        try store()
        damage.begin(at: 4)
        let load = try world.start(fields: [.range: "bytes=2-6"])
        #expect(try load.body == "23" && world.load(1).request.fields[.range] == "bytes=4-6")
        try world.load(1).respond(200, "ETag: \"x\"")
        try world.load(1).deliver("0123456789")
        #expect(try load.isComplete && load.body == "23456" && world.load(1).isStopped)
    }

    /// The octets would fit, if they were of the same representation, or at the same place.
    @Test(
        arguments: [
            (200, "ETag: \"y\"", "X: 1", "abcdefghij"), (200, "X: 1", "X: 1", "abcdefghij"),
            (206, "ETag: \"y\"", "Content-Range: bytes 4-9/10", "efghij"), (206, "X: 1", "Content-Range: bytes 4-9/10", "efghij"),
            (206, "ETag: W/\"x\"", "Content-Range: bytes 4-9/10", "efghij"), (206, "ETag: \"x\"", "Content-Range: bytes 5-10/11", "efghij"),
            (206, "ETag: \"x\"", "Content-Range: bytes 3-9/10", "defghij"), (206, "ETag: \"x\"", "X: 1", "efghij"),
            (416, "ETag: \"x\"", "X: 1", "efghij"), (503, "ETag: \"x\"", "X: 1", "efghij"), (404, "ETag: \"x\"", "X: 1", "efghij"),
        ])
    func otherOctetsAreNotJoined(_ status: Int, _ tag: String, _ range: String, _ body: String) throws {
        try store()
        damage.begin(at: 4)
        let load = try world.start()
        let flow = try world.load(1).respond(status, tag, range)
        if flow != .stopped {
            try world.load(1).deliver(body)
            try world.load(1).finish()
        }
        #expect(flow == .stopped && load.received.error?.code == .ioFailed && load.body == "0123", "\(load.body)")
        damage.begin(at: nil)
        try world.start()
        #expect(world.sent.count == 3)
    }

    /// The parts of a multipart response are in its body, and a range in its head says nothing about that.
    @Test func multipartResponseIsNotJoined() throws {
        try store()
        damage.begin(at: 4)
        let load = try world.start()
        let flow = try world.load(1).respond(
            206, "ETag: \"x\"", "Content-Range: bytes 4-9/10", "Content-Type: Multipart/ByteRanges; boundary=a")
        #expect(flow == .stopped && load.received.error?.code == .ioFailed && load.body == "0123")
    }

    @Test func shortRestFailsTheLoad() throws {
        try store()
        damage.begin(at: 4)
        let load = try world.start()
        try world.load(1).respond(206, "ETag: \"x\"", "Content-Range: bytes 4-9/10")
        try world.load(1).deliver("45678")
        try world.load(1).finish()
        #expect(load.received.error?.code == .ioFailed && load.body == "012345678")
    }

    @Test func serverThatFailsFailsTheLoad() throws {
        try store()
        damage.begin(at: 4)
        let load = try world.start()
        try world.load(1).fail(.cannotConnect)
        #expect(load.received.error?.code == .cannotConnect)
    }

    @Test func withoutAStrongValidatorTheLoadFails() throws {
        try store(["ETag: W/\"x\""])
        damage.begin(at: 4)
        let load = try world.start()
        #expect(load.received.error?.code == .ioFailed && load.body == "0123" && world.sent.count == 1)
        #expect(try world.entries().isEmpty)
    }

    @Test(arguments: [false, true]) func damageAtTheStartIsAMiss(_ isCachedOnly: Bool) throws {
        try store(["ETag: W/\"x\""])
        damage.begin(at: 0)
        let load = try world.start { if isCachedOnly { $0.cachePolicy = .onlyCached } }
        #expect(load.received.response == nil)
        guard !isCachedOnly else {
            #expect(load.received.error?.code == .notOffered)
            return
        }
        try world.load(1).respond(200, "Cache-Control: max-age=60")
        try world.load(1).deliver("new")
        try world.load(1).finish()
        #expect(load.isComplete && load.body == "new")
    }

    @Test func onlyCachedLoadFails() throws {
        try store()
        damage.begin(at: 4)
        let load = try world.start { $0.cachePolicy = .onlyCached }
        #expect(load.received.error?.code == .ioFailed && world.sent.count == 1)
    }

    /// The stored octets before those of a 206 response are damaged, too.
    @Test func damagedPartIsLoadedWhileItIsCompleted() throws {
        try world.start()
        try world.load(0).respond(200, "Cache-Control: max-age=60", "ETag: \"x\"", length: 10)
        try world.load(0).deliver("0123")
        try world.load(0).fail()
        damage.begin(at: 2)
        let load = try world.start()
        try world.load(1).respond(206, "ETag: \"x\"", "Content-Range: bytes 4-9/10")
        #expect(try load.body == "01" && world.load(1).isStopped)
        #expect(try world.load(2).request.fields[.range] == "bytes=2-9")
        try world.load(2).respond(206, "ETag: \"x\"", "Content-Range: bytes 2-9/10")
        try world.load(2).deliver("23456789")
        try world.load(2).finish()
        #expect(load.isComplete && load.body == "0123456789")
    }

    // MARK: - Completion

    /// Pauses after the first piece, and calls a closure inside the delivery of the second one.
    private final class InterruptingLoad: CacheTestLoad, @unchecked Sendable {  // … because its state is in a mutex
        private let flow: Flow
        private let onData: @Sendable () -> Void
        private let count = Mutex(0)

        init(_ flow: Flow, _ onData: @escaping @Sendable () -> Void) { (self.flow, self.onData) = (flow, onData) }

        override func flow(after octets: [UInt8]) -> Flow {
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number == 1 { return .pause }
            if number > 2 { return .keepGoing }
            onData()
            return flow
        }
    }

    /// The rest fails while the stored octets before it are being delivered: the failure comes after them, and never
    /// during a call of the client.
    @Test(arguments: [Flow.keepGoing, .pause]) func failureWaitsForTheStoredOctets(_ flow: Flow) throws {
        let count = 3 * MemoryCacheWriter.pieceSize
        let world = ManualWorld()
        try world.start()
        try world.load(0).respond(200, "Cache-Control: max-age=60", "ETag: \"x\"", length: Int64(count + 6))
        try world.load(0).deliver([UInt8](repeating: 1, count: count))
        try world.load(0).fail()
        let origin = world.origin
        let load = InterruptingLoad(flow) { origin.loads.last?.fail(.connectionLost) }
        try world.start(load)
        try world.load(1).respond(206, "ETag: \"x\"", "Content-Range: bytes \(count)-\(count + 5)/\(count + 6)")
        #expect(load.received.body.count == MemoryCacheWriter.pieceSize)
        load.resume()
        if flow == .pause {
            #expect(!load.received.hasEnded)
            load.resume()
        }
        #expect(load.received.error?.code == .connectionLost && load.received.body.count == count)
    }
}

/// Where the bodies of a store are damaged.
private final class Damage: Sendable {
    private let position = Mutex<Int64?>(nil)
    func begin(at position: Int64?) { self.position.withLock { $0 = position } }
    var start: Int64? { position.withLock { $0 } }
}

/// A store whose readers fail at a position.
private struct DamagingStore: CacheStore {
    let store = MemoryCacheStore(byteLimit: 1 << 20)
    let damage: Damage
    init(_ damage: Damage) { self.damage = damage }

    func lookUp(_ key: CacheKey, _ completion: @escaping @Sendable ([CacheEntry]) -> Void) {
        store.lookUp(key) { [damage] entries in
            completion(
                entries.map {
                    CacheEntry(
                        id: $0.id, key: $0.key, stored: $0.stored, attributes: $0.attributes, trailers: $0.trailers,
                        body: DamagedBody($0.body, damage))
                })
        }
    }
    func openWriter(_ opening: CacheOpening) -> (any CacheWriter)? { store.openWriter(opening) }
    func update(_ id: CacheEntry.ID, to stored: StoredResponse) { store.update(id, to: stored) }
    func remove(_ selection: CacheSelection) { store.remove(selection) }
}

private final class DamagedBody: CacheBody {
    private let (body, damage): (any CacheBody, Damage)
    init(_ body: any CacheBody, _ damage: Damage) { (self.body, self.damage) = (body, damage) }
    var ranges: ByteRangeSet { body.ranges }

    func makeReader(of range: Range<Int64>) -> any CacheBodyReader {
        let end = min(max(damage.start ?? .max, range.lowerBound), range.upperBound)
        return Reader(body.makeReader(of: range.lowerBound..<end), isDamaged: end < range.upperBound)
    }

    private final class Reader: CacheBodyReader {
        private let reader: any CacheBodyReader
        private let isDamaged: Bool
        init(_ reader: any CacheBodyReader, isDamaged: Bool) { (self.reader, self.isDamaged) = (reader, isDamaged) }

        func read(
            atMost limit: Int, _ receive: (borrowing RawSpan) -> Void, whenReady: @escaping @Sendable () -> Void
        ) -> BodyRead {
            let result = reader.read(atMost: limit, receive, whenReady: whenReady)
            if isDamaged, case .end = result { return .failed(LoadError(.ioFailed, message: "damaged")) }
            return result
        }
        func close() { reader.close() }
    }
}
