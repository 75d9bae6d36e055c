// SPDX-License-Identifier: Apache-2.0

/// Reports the violations and the end of a handler load: to the registry, which counts running loads, to the loader's
/// log, and to the task.
struct HandlerLoadReporter: HandlerLoadObserver {
    let entry: RegisteredHandler
    let loader: Loader
    weak let task: LoadTask?
    /// `false` for a load whose client is the load of another handler (``NextHandlerLoad``).
    let servesDelegate: Bool

    func handlerLoadObserved(violationOf rule: ContractRule, by handler: String, isFirst: Bool) {
        loader.report(violationOf: rule, by: handler, isFirst: isFirst)
    }

    func handlerLoadRepeatedViolations(_ counts: [ContractRule: Int], by handler: String) {
        loader.report(repeatedViolations: counts, by: handler)
    }

    func handlerLoadMustReleaseDelegate() { if servesDelegate { task?.endDelegateRetention() } }

    func handlerLoadPaused() { if servesDelegate { task?.handlerLoadPaused() } }

    func handlerLoadEnded() { entry.endLoad() }

    func handlerLoadEnteredQueue(_ wait: QueueWait, _ handlerLoad: ObjectIdentifier) { task?.enterQueue(wait, handlerLoad) }

    func handlerLoadLeftQueue(_ handlerLoad: ObjectIdentifier, mayReturn: Bool) { task?.leaveQueue(handlerLoad, mayReturn: mayReturn) }

    func handlerLoadLogs(access fact: @autoclosure () -> String) { if let task { loader.logAccess(fact(), of: task) } }
}
