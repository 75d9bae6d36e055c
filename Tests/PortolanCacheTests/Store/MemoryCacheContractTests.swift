// SPDX-License-Identifier: Apache-2.0

import CacheStoreSuite
import PortolanCache
import Testing

/// The rules that hold for each store.
@Suite struct MemoryCacheContractTests {
    @Test(arguments: CacheStoreCase.all) func storeKeepsTheContract(_ rule: CacheStoreCase) async throws {
        try await rule.run(CacheStoreHarness(MemoryCacheStore(byteLimit: rule.byteLimit)))
    }
}
