// SPDX-License-Identifier: Apache-2.0

extension Loader {
    /// Looks up the handler for `request` exactly as a load does, and then removes that load from the handler's count.
    ///
    /// For the benchmarks. No public method does only a look-up: ``handlerCandidates(for:)`` also returns the
    /// decisions.
    @_spi(Benchmarks) public func lookUp(_ request: Request) throws(LoadError) {
        if case .handler(let entry) = try find(request, unavailableHandlers: []) { entry.endLoad() }
    }
}
