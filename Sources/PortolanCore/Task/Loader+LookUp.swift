// SPDX-License-Identifier: Apache-2.0

extension Loader {
    /// Looks up the handler for `request` exactly as a load does, and counts that load out again.
    ///
    /// For the benchmarks, from which no public call leads to a look-up alone: ``explain(_:)`` writes down what it was told.
    @_spi(Benchmarks) public func lookUp(_ request: Request) throws(LoadError) {
        if case .handler(let entry) = try find(request, failed: []) { entry.endLoad() }
    }
}
