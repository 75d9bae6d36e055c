// SPDX-License-Identifier: Apache-2.0

import PortolanCache
import Testing

/// One thing that each store must do. A test target runs all cases over its own store.
///
///     @Test(arguments: CacheStoreCase.all) func storeKeepsTheContract(_ rule: CacheStoreCase) async throws {
///         try await rule.run(CacheStoreHarness(MemoryCacheStore(byteLimit: rule.byteLimit)))
///     }
package struct CacheStoreCase: CustomTestStringConvertible, Sendable {
    package let name: String
    /// The limit of the store that the case needs.
    package let byteLimit: Int
    package let run: @Sendable (CacheStoreHarness) async throws -> Void

    package var testDescription: String { name }

    init(_ name: String, byteLimit: Int = 64 << 20, _ run: @escaping @Sendable (CacheStoreHarness) async throws -> Void) {
        (self.name, self.byteLimit, self.run) = (name, byteLimit, run)
    }

    package static let all = contents + bodies + changes + limits
}
