// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import CacheStoreSuite
    import PortolanStore
    import PortolanTestSupport
    import Testing

    /// The rules that hold for each store.
    @Suite(.serialized) struct DiskCacheContractTests {
        @Test(arguments: CacheStoreCase.all) func storeKeepsTheContract(_ rule: CacheStoreCase) async throws {
            let temporary = try TemporaryFolder()
            let log = RecordedLog()
            let store = try await DiskCacheStore.open(
                temporary.path(of: "cache"), byteLimit: Int64(rule.byteLimit), logger: log.logger)
            try await rule.run(CacheStoreTester(store))
            #expect(log.messages.filter { !$0.contains("is damaged, and is removed") } == [])
        }
    }
#endif
