// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import Synchronization

/// The cache of a loader. It puts a handler in front of each handler with the trait ``HandlerTraits/cacheable``.
package protocol LoadCache: Sendable {
    /// Makes the handler that answers `request` from the cache, or loads it with the next handler.
    ///
    /// - Parameters:
    ///   - next: the next handler.
    ///   - loader: the loader of the request.
    /// - Returns: `nil` if the cache has nothing to do for the request.
    func makeHandler(inFrontOf next: RegisteredHandler, for request: Request, loader: Loader) -> (any CacheHandler)?
}

extension Loader {
    /// Returns the fields that `handler` sends for the request, including the stored cookies.
    package func fieldsAsSent(_ request: Request, by handler: any ProtocolHandler) -> HTTPFields {
        guard let cookiePolicy = configuration.cookiePolicy, handler.traits.contains(.cookies) else { return request.fields }
        return cookiePolicy.fieldsAsSent(request)
    }

    /// Loads a request that has no caller, such as the validation of a stored response. Nobody receives the response.
    /// The load is cancelled when this loader is released.
    ///
    /// - Parameter completion: called when the load has ended, on any thread.
    package func loadInBackground(_ request: Request, completion: @escaping @Sendable () -> Void) {
        let delegate = BackgroundDelegate { [weak backgroundLoads] task in
            backgroundLoads?.remove(task)
            completion()
        }
        let task = LoadTask(request, loader: Loader(forBackgroundLoadsOf: self), delegate: delegate)
        backgroundLoads.add(task)
        task.resume()
    }
}

/// The running background loads of a loader.
final class BackgroundLoads: Sendable {
    private let tasks = Mutex<[ObjectIdentifier: LoadTask]>([:])

    func add(_ task: LoadTask) { tasks.withLock { $0[ObjectIdentifier(task)] = task } }

    func remove(_ task: LoadTask) { tasks.withLock { $0[ObjectIdentifier(task)] = nil } }

    func cancel() {
        for task in tasks.withLock({ Array($0.values) }) { task.cancel() }
    }
}

/// Receives the end of a background load. A challenge is answered without the caller.
private final class BackgroundDelegate: LoadDelegate {
    private let completion: @Sendable (LoadTask) -> Void

    init(_ completion: @escaping @Sendable (LoadTask) -> Void) { self.completion = completion }

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) { completion(task) }
}
