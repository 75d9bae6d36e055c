// SPDX-License-Identifier: Apache-2.0

/// The registration of a closure that a storage calls after each change. The calls end when the observation is
/// released.
public final class StorageObservation: Sendable {
    private let cancel: @Sendable () -> Void

    package init(cancel: @escaping @Sendable () -> Void) { self.cancel = cancel }

    deinit { cancel() }
}
