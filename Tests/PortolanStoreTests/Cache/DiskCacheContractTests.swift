// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import CacheStoreSuite
    import TestThreads
    import Testing

    /// The rules that hold for each store.
    @Suite(.blocking, .serialized) struct DiskCacheContractTests {
        @Test(arguments: CacheStoreCase.all) func storeKeepsTheContract(_ rule: CacheStoreCase) async throws {
            let fixture = try CacheFixture()
            try await rule.run(CacheStoreHarness(try fixture.open(byteLimit: Int64(rule.byteLimit))))
            #expect(fixture.log.messages == [])
        }
    }
#endif
