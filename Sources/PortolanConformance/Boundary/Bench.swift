// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

/// What the judge's side of an instance works with.
struct Bench: Sendable {
    let journal: Journal
    let inner: InnerLoads
}

/// What loads that lie in others go through.
final class InnerLoads: Sendable {
    private let makeLoader: @Sendable () -> Loader
    private let loader = Mutex<Loader?>(nil)

    init(_ makeLoader: @escaping @Sendable () -> Loader) {
        self.makeLoader = makeLoader
    }

    /// Made when it is first needed: it may have threads.
    var sharedLoader: Loader {
        loader.withLock { loader in
            if let loader { return loader }
            let made = makeLoader()
            loader = made
            return made
        }
    }
}
