// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanCache

@Suite struct CollapsedRequestsTests {
    private func candidate(depth: Int = 0, priority: LoadPriority = .normal, decodes: Bool = true) -> CollapsedRequests.Candidate {
        CollapsedRequests.Candidate(
            lookup: CacheLookup(method: .get, fields: [:], now: 0), priority: priority, nestingDepth: depth, decodesContent: decodes)
    }

    private func waiting() -> WaitingLoad { WaitingLoad(onTimeout: {}, resume: { _ in }) }

    /// Two loads that wait for each other's nested loads would never end.
    @Test(arguments: [(0, 0, true), (0, 1, true), (1, 1, true), (1, 0, false), (2, 1, false)])
    func nestedLoadWaitsOnlyForLoadsThatAreNestedAsDeep(_ depth: Int, _ firstDepth: Int, _ mayWait: Bool) {
        #expect(candidate(depth: depth).mayWait(for: candidate(depth: firstDepth)) == mayWait)
    }

    @Test func bodyWithoutItsCodingsIsNotForALoadThatWantsThem() {
        #expect(!candidate(decodes: false).mayWait(for: candidate()))
        #expect(!candidate(priority: .high).mayWait(for: candidate()) && candidate(priority: .low).mayWait(for: candidate()))
    }

    @Test func loadsContinueInOrder() throws {
        var requests = CollapsedRequests()
        let key = try CacheStoreFixtures.key()
        guard case .first(let id) = requests.begin(key, candidate(), waiting(), isRepeated: false) else {
            Issue.record("the first load must be sent")
            return
        }
        let loads = (0..<20).map { _ in waiting() }
        for load in loads { _ = requests.begin(key, candidate(), load, isRepeated: false) }
        #expect(requests.remove(loads[3], key) && !requests.remove(loads[3], key))
        let ended = requests.end(key, id)
        #expect(ended.map(ObjectIdentifier.init) == (loads[..<3] + loads[4...]).map(ObjectIdentifier.init))
        #expect(requests.end(key, id).isEmpty && requests.sentCount == 0)
    }

    @Test func keysWhoseResponsesAreNotSharedAreLimited() throws {
        var requests = CollapsedRequests()
        let keys = try (0...CollapsedRequests.limit).map { try CacheStoreFixtures.key("https://example.org/\($0)") }
        for key in keys { requests.record(key, isShareable: false) }
        func isShared(_ key: CacheKey) -> Bool {
            if case .first(let id) = requests.begin(key, candidate(), waiting(), isRepeated: false) {
                _ = requests.end(key, id)
                return true
            }
            return false
        }
        #expect(isShared(keys[0]) && !isShared(keys[1]))
        requests.record(keys[1], isShareable: true)
        #expect(isShared(keys[1]))
    }
}
