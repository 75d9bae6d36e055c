// SPDX-License-Identifier: Apache-2.0

// The package trait with the same name.
#if ServiceLifecycle
    public import PortolanCore
    public import ServiceLifecycle

    /// A loader as a service of swift-service-lifecycle. It ends with the program, and lets the running tasks end
    /// first.
    ///
    ///     let group = ServiceGroup(
    ///         services: [LoaderService(loader), server], gracefulShutdownSignals: [.sigterm], logger: logger)
    ///     try await group.run()
    ///
    /// Services are shut down in reverse order. So put the loader before the services that load with it, so that they
    /// can still load while they end.
    public struct LoaderService: Service {
        private let loader: Loader

        public init(_ loader: Loader) { self.loader = loader }

        /// Waits for a graceful shutdown, then calls `Loader.finishTasksAndInvalidate()`, and returns when the last
        /// task has ended. If the task that runs this is cancelled, before or during the shutdown, the loader's tasks
        /// are cancelled.
        public func run() async {
            // `try?` because a cancellation has the same effect below.
            try? await gracefulShutdown()
            loader.finishTasksAndInvalidate()
            await withTaskCancellationHandler {
                await loader.waitForEnd()
            } onCancel: {
                loader.cancelAll()
            }
        }
    }
#endif
