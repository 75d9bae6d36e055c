// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One load of a plugin, from `make` until `destroy` has returned. The client functions find it through their
/// `portolan_client`.
///
/// A client function first checks that it runs on the thread that is in a call into the load (``isInCall``). Members
/// marked *in call* are therefore not locked.
@safe
final class HostedLoad: @unchecked Sendable {  // … because what is not atomic or locked is touched only in a call into the load
    enum Stage: UInt8, AtomicRepresentable {
        /// In `make`.
        case making
        case made
        /// Started; its functions may be called.
        case active
        /// In the `stop` of an event-driven load.
        case stopping
        /// In `destroy`.
        case destroying
        case destroyed
    }

    let plugin: HostedInstance
    let handler: HandlerDescriptor
    let request: Request
    let cached: CachedResponse?
    let client: any ProtocolClient
    let calls: any LoadCalls
    private let requestImage: CStorage<portolan_request>
    /// A variable only because a constant of this type cannot be inspected.
    private var cachedImage: CStorage<portolan_response>?
    private let clientTable: CallbackTable<portolan_client>
    /// The result of `make`.
    private var pointer: UnsafeMutableRawPointer?

    // On any thread.
    let stage = Atomic(Stage.making)
    /// The thread that is in a call into the load and may call the client functions; 0 if there is none.
    private let owner = Atomic<UInt>(0)
    private let isOverFlag = Atomic(false)
    private let isCut = Atomic(false)
    private let nested = Mutex<[ActiveNestedLoad]>([])
    let challenge = ChallengeSlot()

    // In call.
    let upload: UploadReader
    let stored: StoredBody
    private var answer: CStorage<portolan_answer>?
    /// The watches; `nil` until the load first watches something.
    var watches: DescriptorWatches?

    init(
        _ request: Request, cached: CachedResponse?, client: any ProtocolClient, handler: HandlerDescriptor, plugin: HostedInstance,
        calls: any LoadCalls
    ) {
        self.plugin = plugin
        self.handler = handler
        self.request = request
        self.cached = cached
        self.client = client
        self.calls = calls
        unsafe requestImage = unsafe CStorage(request)
        unsafe cachedImage = unsafe cached.map { unsafe CStorage($0.response, storage: .allowed) }
        clientTable = CallbackTable(portolan_client(ofHostedLoad: ()))
        upload = UploadReader(request.body)
        stored = StoredBody(cached?.body)
        clientTable.serve(self)
    }

    deinit { clientTable.deallocate() }

    var table: portolan_load_table { handler.loads }
    var isNested: Bool { request.nestingDepth > 0 }

    // MARK: Life cycle

    /// Calls `make`.
    ///
    /// - Throws: the reason why the plugin refuses the load.
    func make() throws(LoadError) {
        var made: UnsafeMutableRawPointer?
        let cached = unsafe cachedImage?.pointer
        let refusal = unsafe Refusal.collect {
            unsafe made = handler.make(plugin.state, requestImage.pointer, cached, clientTable.pointer, $0)
        }
        if let made = unsafe made {
            unsafe pointer = made
            plugin.loadBegan()
            // The plugin now has the client's address, so this object is retained until `destroy` has returned.
            unsafe _ = Unmanaged.passRetained(self)
            stage.store(.made, ordering: .sequentiallyConsistent)
            stopIfCut()
            return
        }
        switch refusal {
        case .success(let reason)?: throw reason
        case .failure(let violation)?: throw LoadError(violation, by: handler.identifier)
        case nil:
            throw LoadError(ContractViolation(.failureCarriesError, "`make` returned neither a load nor a reason"), by: handler.identifier)
        }
    }

    /// Calls `body` with the load. This thread may call the client meanwhile.
    func inCall(_ body: (UnsafeMutableRawPointer) -> Void) {
        stage.store(.active, ordering: .relaxed)
        owner.store(Self.currentThread, ordering: .releasing)
        unsafe call(body)
        unsafe answer = nil
        owner.store(0, ordering: .releasing)
    }

    /// Calls `body` with the load, which may not call the client.
    func call(_ body: (UnsafeMutableRawPointer) -> Void) {
        if let pointer = unsafe pointer { unsafe body(pointer) }
    }

    /// Calls `destroy`, and releases everything. Called once.
    func destroy() {
        stage.store(.destroying, ordering: .releasing)
        watches?.giveUp()
        unsafe call { unsafe table.destroy?($0) }
        stage.store(.destroyed, ordering: .releasing)
        closeNested()
        nested.withLock { $0 = [] }
        upload.close()
        stored.close()
        plugin.loadEnded()
        unsafe Unmanaged.passUnretained(self).release()
    }

    // MARK: Thread checks

    static var currentThread: UInt { UInt(pthread_self()) }

    /// Whether this thread is in a call into the load.
    var isInCall: Bool {
        @inline(__always) get { owner.load(ordering: .relaxed) == Self.currentThread }
    }

    /// Whether the load is over, so that its events are not delivered any more.
    var isOver: Bool { isOverFlag.load(ordering: .acquiring) }

    func noteOver() {
        isOverFlag.store(true, ordering: .releasing)
    }

    func wipeAnswer() {
        unsafe answer = nil
    }

    func lend(_ answer: consuming CStorage<portolan_answer>) -> UnsafePointer<portolan_answer>? {
        unsafe self.answer = unsafe consume answer
        return unsafe self.answer?.pointer
    }

    // MARK: Ending the load

    /// Stops the load; called by the core. Any thread.
    func stop() {
        noteOver()
        guard !isCut.load(ordering: .acquiring) else { return }  // the caller of `cut` stops it
        calls.stop(self)
    }

    /// Ends the load for a violation. Any thread.
    func cut(by violation: ContractViolation) {
        guard !isOver else { return report(violation) }
        cut(with: LoadError(violation, by: handler.identifier))
    }

    /// Ends the load: the client receives `error`, then the plugin's `stop` is called. Any thread.
    func cut(with error: LoadError) {
        guard !isCut.exchange(true, ordering: .sequentiallyConsistent) else { return }
        noteOver()
        // From here on, no thread is in the load. Its later calls are rejected here, and are not a second violation.
        owner.store(0, ordering: .releasing)
        client.didFail(with: error)
        stopIfCut()
    }

    /// A load that is cut in its own `make` cannot be stopped before it exists. `make` then stops it; the order of the
    /// two atomics ensures that one side does.
    private func stopIfCut() {
        guard isCut.load(ordering: .sequentiallyConsistent), stage.load(ordering: .sequentiallyConsistent) != .making else { return }
        calls.stop(self)
    }

    /// Logs a violation that cannot end the load, because the load is over.
    func report(_ violation: ContractViolation) {
        plugin.report(violation, by: handler.identifier)
    }

    /// Handles a client function that was called on a wrong thread or at a wrong time.
    func strayCall() {
        guard !isCut.load(ordering: .acquiring) else { return }
        switch stage.load(ordering: .acquiring) {
        case .making: cut(by: ContractViolation(.noEventFromCanInit, "`make` called the client; call it after the start"))
        case .made: cut(by: ContractViolation(.noEventBeforeStart, "the client was called before the load was started"))
        case .active:
            cut(
                by: ContractViolation(
                    .ownThreadsOnlyWake, "a thread outside of a call into the load called its client; it may only call `wake`"))
        case .stopping: report(ContractViolation(.stopIsKept, "`stop` called the client; a stopped load delivers nothing more"))
        case .destroying, .destroyed: report(ContractViolation(.noEventFromCanInit, "`destroy` called the client"))
        }
    }

    // MARK: Nested loads

    func open(_ inner: ActiveNestedLoad) {
        nested.withLock { $0.append(inner) }
        if isOver { inner.letGo() }
    }

    /// Ends the nested loads, because the parent load is over. The plugin's pointers to them stay valid.
    func closeNested() {
        for open in nested.withLock({ $0 }) { open.letGo() }
    }
}
