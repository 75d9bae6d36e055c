// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One load of a plugin's, from `make` until `destroy` has returned: what its client functions find behind their `portolan_client`.
///
/// A client function looks first whether it is called on the thread that is in the load just now (``isInCall``); so everything marked
/// *in call* needs no lock.
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
    /// A variable only because a constant of this kind can't be looked into.
    private var cachedImage: CStorage<portolan_response>?
    private let clientTable: CallbackTable<portolan_client>
    /// What `make` returned.
    private var pointer: UnsafeMutableRawPointer?

    // On any thread.
    let stage = Atomic(Stage.making)
    /// The thread that is in a call into the load, in which client functions may be called; 0: none.
    private let owner = Atomic<UInt>(0)
    private let isOverFlag = Atomic(false)
    private let isCut = Atomic(false)
    private let nested = Mutex<[ActiveNestedLoad]>([])
    let challenge = ChallengeSlot()

    // In call.
    let upload: UploadReader
    let stored: StoredBody
    private var answer: CStorage<portolan_answer>?
    /// What it has watched, once it has.
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

    // MARK: Its life

    /// Calls `make`.
    ///
    /// - Throws: why the plugin refuses.
    func make() throws(LoadError) {
        var made: UnsafeMutableRawPointer?
        let cached = unsafe cachedImage?.pointer
        let refusal = unsafe Refusal.collect {
            unsafe made = handler.make(plugin.state, requestImage.pointer, cached, clientTable.pointer, $0)
        }
        if let made = unsafe made {
            unsafe pointer = made
            plugin.loadBegan()
            // The plugin has the client's address now: this object stays until `destroy` has returned.
            unsafe _ = Unmanaged.passRetained(self)
            stage.store(.made, ordering: .sequentiallyConsistent)
            stopIfCut()
            return
        }
        switch refusal {
        case .success(let reason)?: throw reason
        case .failure(let violation)?: throw LoadError(violation, by: handler.identifier)
        case nil:
            throw LoadError(ContractViolation(.failureCarriesError, "`make` gave neither a load nor a reason"), by: handler.identifier)
        }
    }

    /// Calls `body` with the load; meanwhile this thread may call the client.
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

    /// Calls `destroy`, and lets go of everything. Once.
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

    // MARK: Who may call

    static var currentThread: UInt { UInt(pthread_self()) }

    /// Whether this thread is in a call into the load.
    var isInCall: Bool {
        @inline(__always) get { owner.load(ordering: .relaxed) == Self.currentThread }
    }

    /// Nobody wants the rest.
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

    // MARK: Ending it

    /// From the core: nobody wants the rest. Any thread.
    func stop() {
        noteOver()
        guard !isCut.load(ordering: .acquiring) else { return }  // whoever cut it off stops it
        calls.stop(self)
    }

    /// Ends the load for a breach. Any thread.
    func cut(by violation: ContractViolation) {
        guard !isOver else { return report(violation) }
        cut(with: LoadError(violation, by: handler.identifier))
    }

    /// Ends the load: the client hears `error`, and then the plugin is told to stop. Any thread.
    func cut(with error: LoadError) {
        guard !isCut.exchange(true, ordering: .sequentiallyConsistent) else { return }
        noteOver()
        // From here on no thread is in the load: what it still calls is answered here, and is not a second breach.
        owner.store(0, ordering: .releasing)
        client.didFail(with: error)
        stopIfCut()
    }

    /// A load that is cut off in its own `make` can't be stopped before there is one: then `make` does it, as the one or the other sees.
    private func stopIfCut() {
        guard isCut.load(ordering: .sequentiallyConsistent), stage.load(ordering: .sequentiallyConsistent) != .making else { return }
        calls.stop(self)
    }

    /// A breach that can't end the load, because it is over.
    func report(_ violation: ContractViolation) {
        plugin.report(violation, by: handler.identifier)
    }

    /// A client function was called where none may be.
    func strayCall() {
        guard !isCut.load(ordering: .acquiring) else { return }
        switch stage.load(ordering: .acquiring) {
        case .making: cut(by: ContractViolation(.noEventFromQuestions, "`make` called the client; wait for the start"))
        case .made: cut(by: ContractViolation(.noEventBeforeStart, "the client was called before the load was started"))
        case .active:
            cut(
                by: ContractViolation(
                    .ownThreadsOnlyWake, "a thread that is not in a call into the load called its client; let it call `wake`"))
        case .stopping: report(ContractViolation(.stopIsKept, "`stop` called the client; there is nothing to deliver any more"))
        case .destroying, .destroyed: report(ContractViolation(.noEventFromQuestions, "`destroy` called the client"))
        }
    }

    // MARK: Loads inside

    func open(_ inner: ActiveNestedLoad) {
        nested.withLock { $0.append(inner) }
        if isOver { inner.letGo() }
    }

    /// The outer load is over: so are those inside. What the plugin holds of them stays valid.
    func closeNested() {
        for open in nested.withLock({ $0 }) { open.letGo() }
    }
}
