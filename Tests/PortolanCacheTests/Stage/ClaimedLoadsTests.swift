// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import PortolanURL
import Synchronization
import Testing

@testable import PortolanCache

/// Loads with a store that several machines use: one of them requests a response, and the others wait for it.
@Suite struct ClaimedLoadsTests {
    private let store = ClaimingStore()
    private let world: ManualWorld

    init() { world = ManualWorld(CombinedCacheStore(memory: MemoryCacheStore(), persistent: store)) }

    @Test func loadWithTheLeaseKeepsItUntilTheResponseIsStored() throws {
        let load = try world.start()
        #expect(world.sent.isEmpty)
        let lease = ObservedLease()
        try store.answer(.load(lease.makeLease()))
        try world.load(0).respond(200, "Cache-Control: max-age=60", length: 2)
        #expect(!lease.isReleased)
        try world.load(0).deliver("ok")
        try world.load(0).finish()
        #expect(load.isComplete && lease.isReleased)
        #expect(try world.entries().count == 1)
    }

    /// The response may not be stored, so nobody should wait for it.
    @Test func leaseEndsWithTheHeadOfAResponseThatIsNotStored() throws {
        _ = try world.start()
        let lease = ObservedLease()
        try store.answer(.load(lease.makeLease()))
        try world.load(0).respond(200, "Cache-Control: no-store")
        #expect(lease.isReleased)
        try world.load(0).finish()
    }

    @Test func failedAndStoppedLoadsReleaseTheLease() throws {
        for isStopped in [false, true] {
            let load = try world.start()
            let lease = ObservedLease()
            try store.answer(.load(lease.makeLease()))
            if isStopped { load.task.withLock { $0 }?.cancel() } else { try #require(world.sent.last).fail() }
            #expect(lease.isReleased)
        }
    }

    @Test func responseOfAnotherMachineAnswersTheRequest() throws {
        let (first, second) = (try world.start(), try world.start(at: "http://host.example/b"))
        // The other machine has stored a response for the first URL only.
        try CacheStoreFixtures.store(
            Array("hello".utf8), "Cache-Control: max-age=60", at: "http://host.example/a", received: world.time.now - CacheFixtures.now,
            in: store.entries)
        try store.answer(.lookUp)
        #expect(world.sent.isEmpty && first.isComplete && first.body == "hello")
        try store.answer(.lookUp)
        #expect(world.sent.count == 1)
        try world.load(0).respond(200)
        try world.load(0).finish()
        #expect(second.isComplete)
    }
}

/// Observes the end of a lease.
private final class ObservedLease: Sendable {
    private let state = Mutex(false)

    var isReleased: Bool { state.withLock { $0 } }
    func makeLease() -> CacheLease { CacheLease { [self] in state.withLock { $0 = true } } }
}

/// A store in memory whose claims the test answers.
private final class ClaimingStore: CacheStore {
    let entries = MemoryCacheStore()
    private let claims = Mutex<[@Sendable (CacheClaim) -> Void]>([])

    func lookUp(_ key: CacheKey, _ completion: @escaping @Sendable ([CacheEntry]) -> Void) { entries.lookUp(key, completion) }
    func openWriter(_ opening: CacheOpening) -> (any CacheWriter)? { entries.openWriter(opening) }
    func update(_ id: CacheEntry.ID, to stored: StoredResponse) { entries.update(id, to: stored) }
    func remove(_ selection: CacheSelection) { entries.remove(selection) }
    func claim(_ key: CacheKey, _ completion: @escaping @Sendable (CacheClaim) -> Void) { claims.withLock { $0.append(completion) } }

    /// Answers the oldest claim.
    func answer(_ claim: CacheClaim) throws {
        let oldest = claims.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        let completion = try #require(oldest, "nothing was claimed")
        completion(claim)
    }
}
