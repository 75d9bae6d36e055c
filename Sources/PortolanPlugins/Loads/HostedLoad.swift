// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One load of a plugin, from `make` until `destroy` has returned.
///
/// The plugin calls its client functions through a `portolan_client`. Each function first checks that its thread is in
/// a call into the load (``isInCall``). Members that only such functions use are therefore not locked.
@safe
final class HostedLoad: @unchecked Sendable {  // … because what is not atomic or locked is used only in a call into the load
    enum Stage: UInt8, AtomicRepresentable {
        /// `make` is running.
        case making
        case made
        /// The load was started.
        case active
        /// `stop` of an event-driven load is running.
        case stopping
        /// `destroy` is running.
        case destroying
        case destroyed
    }

    let plugin: HostedInstance
    let handler: HandlerDescriptor
    let request: Request
    /// The stored response that the load can confirm.
    let cachedResponse: CachedResponse?
    let client: any ProtocolClient
    let calls: any LoadCalls
    private let cRequest: CStorage<portolan_request>
    /// A variable, because Swift cannot read the optional noncopyable value of a constant.
    private var cCachedResponse: CStorage<portolan_response>?
    private let clientTable: CallbackTable<portolan_client>
    /// The result of `make`.
    private var pointer: UnsafeMutableRawPointer?

    // The following members are used on any thread.
    let stage = Atomic(Stage.making)
    /// The thread that is in a call into the load, and can call the client functions. 0 if there is none.
    private let callThread = Atomic<UInt>(0)
    private let isOverFlag = Atomic(false)
    /// Whether the host has ended the load with an error.
    private let hasFailed = Atomic(false)
    private let nestedLoads = Mutex<[ActiveNestedLoad]>([])
    let challenge = ChallengeSlot()

    // The following members are used only in a call into the load.
    let upload: UploadReader
    let storedBody: StoredBody
    private var answer: CStorage<portolan_answer>?
    /// `nil` until the load watches a descriptor or sets a timer.
    var watches: DescriptorWatches?

    init(
        _ request: Request, cached: CachedResponse?, client: any ProtocolClient, handler: HandlerDescriptor, plugin: HostedInstance,
        calls: any LoadCalls
    ) {
        self.plugin = plugin
        self.handler = handler
        self.request = request
        cachedResponse = cached
        self.client = client
        self.calls = calls
        unsafe cRequest = unsafe CStorage(request)
        unsafe cCachedResponse = unsafe cached.map { unsafe CStorage($0.response, storage: .allowed) }
        clientTable = CallbackTable(portolan_client(ofHostedLoad: ()))
        upload = UploadReader(request.body)
        storedBody = StoredBody(cached?.body)
        clientTable.setObject(self)
    }

    deinit { clientTable.deallocate() }

    var table: portolan_load_table { handler.loads }
    var isNested: Bool { request.nestingDepth > 0 }

    // MARK: Life cycle

    /// Calls `make`.
    ///
    /// - Throws: the reason why the plugin refuses the load.
    func make() throws(LoadError) {
        var load: UnsafeMutableRawPointer?
        let cached = unsafe cCachedResponse?.pointer
        let refusal = unsafe Refusal.collect {
            unsafe load = handler.make(plugin.state, cRequest.pointer, cached, clientTable.pointer, $0)
        }
        if let load = unsafe load {
            unsafe pointer = load
            plugin.loadDidBegin()
            // `destroy` releases this reference. Until then, the plugin has the address of the client.
            unsafe _ = Unmanaged.passRetained(self)
            stage.store(.made, ordering: .sequentiallyConsistent)
            stopIfFailed()
            return
        }
        switch refusal {
        case .success(let reason)?: throw reason
        case .failure(let violation)?: throw LoadError(violation, by: handler.identifier)
        case nil:
            throw LoadError(ContractViolation(.failureCarriesError, "`make` returned neither a load nor a reason"), by: handler.identifier)
        }
    }

    /// Calls `function` with the load. During the call, this thread can call the client.
    func inCall(_ function: (UnsafeMutableRawPointer) -> Void) {
        stage.store(.active, ordering: .relaxed)
        callThread.store(Self.currentThread, ordering: .releasing)
        unsafe call(function)
        unsafe answer = nil
        callThread.store(0, ordering: .releasing)
    }

    /// Calls `function` with the load, which must not call the client.
    func call(_ function: (UnsafeMutableRawPointer) -> Void) {
        if let pointer = unsafe pointer { unsafe function(pointer) }
    }

    /// Calls `destroy`, and releases the resources of the load. Called once.
    func destroy() {
        stage.store(.destroying, ordering: .releasing)
        watches?.giveUp()
        unsafe call { unsafe table.destroy?($0) }
        stage.store(.destroyed, ordering: .releasing)
        stopNestedLoads()
        nestedLoads.withLock { $0 = [] }
        upload.close()
        storedBody.close()
        plugin.loadDidEnd()
        unsafe Unmanaged.passUnretained(self).release()
    }

    // MARK: Thread checks

    static var currentThread: UInt { UInt(pthread_self()) }

    /// Whether this thread is in a call into the load.
    var isInCall: Bool {
        @inline(__always) get { callThread.load(ordering: .relaxed) == Self.currentThread }
    }

    /// Whether the load has ended or was stopped. Then its events are not delivered.
    var isOver: Bool { isOverFlag.load(ordering: .acquiring) }

    func setEnded() {
        isOverFlag.store(true, ordering: .releasing)
    }

    /// Erases the answer to a challenge, which can contain a credential.
    func wipeAnswer() {
        unsafe answer = nil
    }

    /// Keeps the answer at least until the next client call, and at most until this call into the load ends. Returns
    /// the address of the answer.
    func retainAnswer(_ answer: consuming CStorage<portolan_answer>) -> UnsafePointer<portolan_answer>? {
        unsafe self.answer = unsafe consume answer
        return unsafe self.answer?.pointer
    }

    // MARK: Ending the load

    /// Stops the load. Called by the core on any thread.
    func stop() {
        setEnded()
        guard !hasFailed.load(ordering: .acquiring) else { return }  // `fail` stops a failed load
        calls.stop(self)
    }

    /// Fails the load for a violation. Can be called on any thread.
    func fail(with violation: ContractViolation) {
        guard !isOver else { return report(violation) }
        fail(with: LoadError(violation, by: handler.identifier))
    }

    /// Fails the load: the client receives `error`, and then the host calls the plugin's `stop`. Can be called on any
    /// thread.
    func fail(with error: LoadError) {
        guard !hasFailed.exchange(true, ordering: .sequentiallyConsistent) else { return }
        setEnded()
        // No thread can call the client now. Later calls are rejected, and are not reported as a second violation.
        callThread.store(0, ordering: .releasing)
        client.didFail(with: error)
        stopIfFailed()
    }

    /// Stops the load if it has failed. If it failed in `make`, it cannot be stopped before `make` returns. So both
    /// `fail` and `make` call this, and the order of the two atomics ensures that one of them stops the load.
    private func stopIfFailed() {
        guard hasFailed.load(ordering: .sequentiallyConsistent), stage.load(ordering: .sequentiallyConsistent) != .making else { return }
        calls.stop(self)
    }

    /// Logs a violation of a load that has already ended.
    func report(_ violation: ContractViolation) {
        plugin.report(violation, by: handler.identifier)
    }

    /// Handles a client function that was called on a wrong thread or at a wrong time.
    func rejectMisplacedCall() {
        guard !hasFailed.load(ordering: .acquiring) else { return }
        switch stage.load(ordering: .acquiring) {
        case .making: fail(with: ContractViolation(.noEventFromCanInit, "`make` called the client; call it only after `start` or in `run`"))
        case .made: fail(with: ContractViolation(.noEventBeforeStart, "the client was called before the load was started"))
        case .active:
            fail(
                with: ContractViolation(
                    .ownThreadsOnlyWake,
                    "a thread that is not in a call into the load called the client; such a thread can only call `wake`"))
        case .stopping: report(ContractViolation(.stopIsKept, "`stop` called the client; a stopped load must not deliver events"))
        case .destroying, .destroyed: report(ContractViolation(.noEventFromCanInit, "`destroy` called the client"))
        }
    }

    // MARK: Nested loads

    func add(_ nestedLoad: ActiveNestedLoad) {
        nestedLoads.withLock { $0.append(nestedLoad) }
        if isOver { nestedLoad.stop() }
    }

    /// Stops the nested loads, because this load has ended. The plugin's pointers to them stay valid.
    func stopNestedLoads() {
        for nestedLoad in nestedLoads.withLock({ $0 }) { nestedLoad.stop() }
    }
}
