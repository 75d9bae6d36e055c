// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import CacheStoreSuite
    import HTTPTypes
    import PortolanCache
    import PortolanCore
    import PortolanTestSupport
    import Synchronization
    import TestThreads
    import Testing

    @testable import PortolanStore

    private typealias Harness = CacheStoreHarness

    /// A slow disk, for which the threads of the store stand that a test holds.
    @Suite(.blocking, .timeLimit(.minutes(3))) struct DiskCacheSlownessTests {
        private let fixture: CacheFixture
        private let clock = ManualClock()

        init() throws { fixture = try CacheFixture() }

        /// Holds a thread until it is released.
        private final class Hold: Sendable {
            private let state = ConditionLock((isReached: false, isReleased: false))

            func reach() {
                state.withLockBroadcasting { $0.isReached = true }
                state.wait { $0.isReleased ? () : nil }
            }

            func waitUntilReached() { state.wait { $0.isReached ? () : nil } }
            func release() { state.withLockBroadcasting { $0.isReleased = true } }
        }

        @Test func slowLookUpIsAMiss() async throws {
            let store = try fixture.open(clock: clock)
            let harness = Harness(store)
            try harness.storeBody([1])
            #expect(try await harness.bodies() == [[1]])
            let hold = Hold()
            store.core.reading.submit { _ in hold.reach() }
            hold.waitUntilReached()
            let answers = ConditionLock<[Int]>([])
            func lookUp() throws {
                store.lookUp(try Harness.key()) { entries in answers.withLockBroadcasting { $0.append(entries.count) } }
            }
            try lookUp()
            clock.advance(by: .milliseconds(900))
            #expect(answers.withLock { $0 } == [])
            clock.advance(by: .milliseconds(200))
            #expect(answers.withLock { $0 } == [0])
            // The next ones do not wait at all, until the disk answers again.
            try lookUp()
            #expect(answers.withLock { $0 } == [0, 0])
            hold.release()
            let isIdle = Hold()
            store.core.reading.submit { _ in isIdle.reach() }
            isIdle.waitUntilReached()
            isIdle.release()
            #expect(try await harness.bodies() == [[1]])
        }

        @Test func closeAnswersTheLookUpsThatWait() throws {
            let store = try fixture.open(clock: clock)
            try Harness(store).storeBody([1])
            _ = try store.summary()
            let hold = Hold()
            store.core.reading.submit { _ in hold.reach() }
            hold.waitUntilReached()
            let answers = ConditionLock<[Int]>([])
            store.lookUp(try Harness.key()) { entries in answers.withLockBroadcasting { $0.append(entries.count) } }
            #expect(answers.withLock { $0 } == [])
            store.core.close()
            #expect(answers.withLock { $0 } == [0])
            hold.release()
            store.waitForClose()
            #expect(answers.withLock { $0 } == [0])
        }

        @Test func slowWriterIsDiscarded() async throws {
            let store = try fixture.open(byteLimit: 1 << 30, clock: clock)
            let hold = Hold()
            store.core.writing.submit { _ in hold.reach() }
            hold.waitUntilReached()
            let writer = try #require(store.openWriter(try Harness.makeOpening()))
            let block = Harness.pattern(1, count: 1 << 20)
            #expect(
                (0..<20).map { _ in Harness.write(block, to: writer) } == Array(repeating: true, count: 8)
                    + Array(repeating: false, count: 12))
            // Others go on, and a look-up that waits for one of them does not wait for long.
            try Harness(store).storeBody([1], at: "https://example.org/b")
            let answers = ConditionLock<[Int]>([])
            store.lookUp(try Harness.key("https://example.org/b")) { entries in answers.withLockBroadcasting { $0.append(entries.count) } }
            clock.advance(by: .seconds(2))
            #expect(answers.withLock { $0 } == [0])
            hold.release()
            _ = try store.summary()
            #expect(try await Harness(store).bodies("https://example.org/b") == [[1]])
            #expect(try await Harness(store).entries().isEmpty && fixture.bodyFiles == [])
        }

        @Test func waitingOctetsOfAllWritersAreLimited() throws {
            let store = try fixture.open(byteLimit: 1 << 30, clock: clock)
            let hold = Hold()
            store.core.writing.submit { _ in hold.reach() }
            hold.waitUntilReached()
            let block = Harness.pattern(1, count: 1 << 20)
            let counts = try (0..<6).map { index in
                let writer = try #require(store.openWriter(try Harness.makeOpening("https://example.org/\(index)")))
                defer { writer.discard() }
                return (0..<7).count { _ in Harness.write(block, to: writer) }
            }
            #expect(counts == [7, 7, 7, 7, 4, 0])
            hold.release()
            #expect(try store.summary().byteCount == 0)
        }

        @Test func slowFileFailsBeforeItsFirstOctet() async throws {
            let store = try fixture.open(clock: clock)
            let octets = Harness.pattern(1, count: 300_000)
            try Harness(store).storeBody(octets)
            let body = try await Harness(store).entry().body
            let holds = (0..<4).map { _ in Hold() }
            for hold in holds { try store.core.fileThreads.run { hold.reach() } }
            for hold in holds { hold.waitUntilReached() }
            let reader = body.makeReader(of: 0..<300_000)
            let isReady = ConditionLock(false)
            guard case .wait = reader.read(atMost: 10, { _ in }, whenReady: { isReady.withLockBroadcasting { $0 = true } }) else {
                Issue.record("the reader does not wait")
                return
            }
            clock.advance(by: .seconds(2))
            #expect(isReady.withLock { $0 })
            guard case .failed = reader.read(atMost: 10, { _ in }, whenReady: {}) else {
                Issue.record("the reader does not fail")
                return
            }
            reader.close()
            for hold in holds { hold.release() }
            // The entry is intact.
            #expect(try await Harness.octets(of: body) == octets)
        }

        /// Reads all of a body whenever the reader is ready.
        private final class Consumer: Sendable {
            private let reader: any CacheBodyReader
            private let events: ConditionLock<[String]>
            private let onFirstBlock: @Sendable () -> Void

            init(_ reader: any CacheBodyReader, _ events: ConditionLock<[String]>, onFirstBlock: @escaping @Sendable () -> Void) {
                (self.reader, self.events, self.onFirstBlock) = (reader, events, onFirstBlock)
            }

            func resume() {
                while true {
                    switch reader.read(atMost: .max, { _ in record("block") }, whenReady: { self.resume() }) {
                    case .bytes: if events.withLock({ $0.count }) == 1 { onFirstBlock() }
                    case .wait: return
                    case .end: return record("end")
                    case .failed: return record("failed")
                    }
                }
            }

            private func record(_ event: String) { events.withLockBroadcasting { $0.append(event) } }
        }

        @Test func readerLeavesItsThreadToOthersAfterEachBlock() async throws {
            let store = try fixture.open()
            let count = 4 * BodyLayout.blockSize
            try Harness(store).storeBody(Harness.pattern(1, count: count))
            let body = try await Harness(store).entry().body
            let holds = (0..<4).map { _ in Hold() }
            for hold in holds { try store.core.fileThreads.run { hold.reach() } }
            for hold in holds { hold.waitUntilReached() }
            let events = ConditionLock<[String]>([])
            let reader = body.makeReader(of: 0..<Int64(count))
            Consumer(reader, events) {
                do { try store.core.fileThreads.run { events.withLockBroadcasting { $0.append("other") } } } catch { Issue.record(error) }
            }.resume()
            holds[0].release()
            let all = events.wait { $0.contains("end") ? $0 : nil }
            #expect(all == ["block", "other", "block", "block", "block", "end"])
            reader.close()
            for hold in holds { hold.release() }
        }

        @Test func numberOfOpenFilesIsLimited() async throws {
            let store = try fixture.open()
            try Harness(store).storeBody(Harness.pattern(1, count: 900_000))
            let body = try await Harness(store).entry().body
            let readers = (0..<DiskCacheCore.openFileLimit + 3).map { _ in CacheBodyCollector(body.makeReader(of: 0..<900_000)) }
            var results: [Bool] = []
            for reader in readers {
                do { results.append(try await reader.readNext(atMost: 1)) } catch is LoadError { results.append(false) }
            }
            #expect(results.count { !$0 } == 3)
            for reader in readers { reader.close() }
            #expect(try await Harness.octets(of: body).count == 900_000)
            #expect(try store.summary().entryCount == 1)
        }
    }
#endif
