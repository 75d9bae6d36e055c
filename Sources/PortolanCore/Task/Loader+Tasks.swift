// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The delegate of a loader. It receives the events of all tasks that have no delegate of their own, and the end of the
/// loader.
public protocol LoaderDelegate: LoadDelegate {
    /// The loader was invalidated, and its last task has ended. The last call; the loader then releases the delegate.
    func loaderDidBecomeInvalid(_ loader: Loader)
}

extension LoaderDelegate {
    public func loaderDidBecomeInvalid(_ loader: Loader) {}
}

extension Loader {
    /// The tasks that were started and have not ended, the oldest first. Without nested tasks.
    public var tasks: [LoadTask] { startedTasks.tasks.filter { $0.parent == nil } }

    /// Cancels all tasks that were started. The loader stays valid.
    public func cancelAll() {
        for task in tasks { task.cancel() }
    }

    /// Lets the running tasks end. A task that is started later fails with ``LoadError/Code/cancelled``.
    ///
    /// When the last task has ended, the delegate receives ``LoaderDelegate/loaderDidBecomeInvalid(_:)``, and the
    /// loader releases it. It receives no later call, also not for the end of a task that is started later.
    public func finishTasksAndInvalidate() {
        startedTasks.invalidate { [self] in
            let delegate = sessionDelegate.withLock { $0.take() }
            delegate?.loaderDidBecomeInvalid(self)
        }
        backgroundLoads.cancel()
    }

    /// Does what ``finishTasksAndInvalidate()`` and ``cancelAll()`` do.
    public func invalidateAndCancel() {
        finishTasksAndInvalidate()
        cancelAll()
    }

    package var isInvalid: Bool { startedTasks.isInvalid }

    /// Waits until the loader was invalidated and its last task has ended. A cancellation has no effect on the wait.
    package func waitForEnd() async {
        await withCheckedContinuation { continuation in startedTasks.whenEnded { continuation.resume() } }
    }

    static func invalidError(_ request: Request) -> LoadError {
        LoadError(.cancelled, message: "\(request.url.shortDescription) was not loaded, because its loader was invalidated")
    }
}
