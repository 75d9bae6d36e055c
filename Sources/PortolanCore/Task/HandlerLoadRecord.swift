// SPDX-License-Identifier: Apache-2.0

/// Connects a handler load to the registry's count, the loader's log and, if it serves the task's delegate itself, to
/// the task.
struct HandlerLoadRecord: HandlerLoadObserver {
    let entry: RegisteredHandler
    let loader: Loader
    weak let task: LoadTask?
    /// `false` for a load whose events go to another handler's load.
    let servesDelegate: Bool

    func handlerLoadObserved(violationOf rule: ContractRule, by handler: String, isFirst: Bool) {
        loader.report(violationOf: rule, by: handler, isFirst: isFirst)
    }

    func handlerLoadRepeated(_ counts: [ContractRule: Int], by handler: String) { loader.report(repeated: counts, by: handler) }

    func handlerLoadOwesDelegate() { if servesDelegate { task?.yieldDelegate() } }

    func handlerLoadPaused() { if servesDelegate { task?.handlerLoadPaused() } }

    func handlerLoadEnded() { entry.endLoad() }

    func handlerLoadEnteredQueue(_ wait: QueueWait, _ handlerLoad: ObjectIdentifier) { task?.enterQueue(wait, handlerLoad) }

    func handlerLoadLeftQueue(_ handlerLoad: ObjectIdentifier, mayReturn: Bool) { task?.leaveQueue(handlerLoad, mayReturn: mayReturn) }
}
