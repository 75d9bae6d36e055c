// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

/// One load of a binding. Its steps run on one thread of the pool, which waits while the reader is slow.
final class BindingLoad: ExecutionContext {
    private struct State {
        var lifecycle = BindingLoadState()
        /// How often the upload body has reported that it has more bytes.
        var bodySignalCount = 0
        /// Whether the instance counts this load as live.
        var isCountedAsLive = true
    }

    let request: Request
    private let client: any ProtocolClient
    private let instance: BindingInstance
    private let threads: LoadThreadPool
    private let stateLock = ConditionLock(State())
    private let execution = ConditionLock(BindingExecution?.none)
    private let reader = ConditionLock((any BodyReader)?.none)
    /// A copy of `isStopped` in `BindingLoadState`. Reading it before each call costs less than the lock.
    private let isStopped = Atomic(false)

    init(_ request: Request, client: any ProtocolClient, instance: BindingInstance, threads: LoadThreadPool) {
        self.request = request
        self.client = client
        self.instance = instance
        self.threads = threads
        instance.loadDidBegin()
    }

    deinit { notifyInstanceOfEnd() }

    /// Notifies the instance that this load will call no more library functions. Does nothing the second time.
    private func notifyInstanceOfEnd() {
        let isCountedAsLive = stateLock.withLock { state in
            defer { state.isCountedAsLive = false }
            return state.isCountedAsLive
        }
        if isCountedAsLive { instance.loadDidEnd() }
    }

    var settings: [String: PropertyValue] { instance.settings }
    var libraryName: String { instance.libraryName }

    // MARK: Any thread

    func start() {
        guard stateLock.withLock({ $0.lifecycle.start() }) else { return }
        do throws(LoadError) {
            try threads.run(isNested: request.nestingDepth > 0) { [self] in run() }
        } catch {
            client.didFail(with: error)
        }
    }

    func resume() {
        stateLock.withLockBroadcasting { $0.lifecycle.resume() }
    }

    func stop() {
        isStopped.store(true, ordering: .releasing)
        let (needsStopCall, neverRuns) = stateLock.withLockBroadcasting {
            ($0.lifecycle.stop(), $0.lifecycle.phase == .created || $0.lifecycle.phase == .queued)
        }
        if neverRuns { notifyInstanceOfEnd() }
        guard needsStopCall else { return }
        instance.stopThreads.run { [self] in
            execution.withLock { $0 }?.callStop()
            stateLock.withLockBroadcasting { $0.lifecycle.stopDidReturn() }
        } onFailure: { [self] in
            stateLock.withLockBroadcasting { $0.lifecycle.stopDidReturn() }
        }
    }

    var stallReason: String? {
        guard stateLock.withLock({ $0.lifecycle.phase == .queued }), threads.isExhausted else { return nil }
        return "all \(threads.limit) threads that this plugin may use for blocking loads are busy; end some of these loads"
    }

    // MARK: The load's thread

    private func run() {
        defer { notifyInstanceOfEnd() }
        guard stateLock.withLock({ $0.lifecycle.beginRunning() }) else { return }
        let newExecution = BindingExecution(instance.linkedProgram, context: self, callbackPool: instance.callbackPool)
        execution.withLock { $0 = newExecution }
        let earlyEnd = executeSteps(of: newExecution)
        execution.withLock { $0 = nil }
        reader.withLock { $0.take() }?.close()
        let isStopped = stateLock.withLock { state in
            state.lifecycle.end()
            return state.lifecycle.isStopped
        }
        guard !isStopped else { return }
        switch earlyEnd {
        case nil: client.didFinishLoading()
        case .failed(let error)?: client.didFail(with: error)
        case .stopped?: break
        }
    }

    /// - Returns: `nil` if all steps succeeded.
    private func executeSteps(of execution: BindingExecution) -> ExecutionEnd? {
        do throws(ExecutionEnd) {
            try execution.run(instance.linkedProgram.steps)
            return nil
        } catch {
            return error
        }
    }

    var mayContinue: Bool { !isStopped.load(ordering: .acquiring) }

    func beginCall() -> Bool {
        stateLock.withLock { $0.lifecycle.beginCall() }
    }

    func endCall() {
        stateLock.wait { $0.lifecycle.endCall() ? () : nil }
    }

    func respond(_ response: Response) -> Bool {
        waitUntilContinuing(after: client.didReceive(response, storage: .notAllowed))
    }

    func deliver(_ bytes: UnsafeRawBufferPointer) -> Bool {
        waitUntilContinuing(after: client.didLoad(unsafe RawSpan(_unsafeBytes: bytes)))
    }

    /// - Returns: `false` if the load is stopped.
    private func waitUntilContinuing(after flow: Flow) -> Bool {
        switch flow {
        case .keepGoing: return true
        case .stopped:
            // If a callback delivers, the library function is still running, and perhaps returns only after the stop
            // function is called.
            stop()
            return false
        case .pause:
            return stateLock.wait { state in
                if state.lifecycle.isStopped { return false }
                return state.lifecycle.consumeResume() ? true : nil
            }
        }
    }

    func readBody(into buffer: UnsafeMutableRawBufferPointer) throws(ExecutionEnd) -> Int {
        guard let body = request.body else { return 0 }
        let reader = try openReader(of: body)
        while true {
            let oldSignalCount = stateLock.withLock { $0.bodySignalCount }
            var output = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
            let read = reader.read(into: &output) { [weak self] in self?.stateLock.withLockBroadcasting { $0.bodySignalCount &+= 1 } }
            let count = output.byteCount
            switch read {
            case .bytes: return count
            case .end: return 0
            case .failed(let error):
                throw .failed(LoadError(.bodyFailed, message: "the upload body could not be read", underlyingError: error))
            case .wait:
                guard stateLock.wait(for: { $0.lifecycle.isStopped ? false : $0.bodySignalCount != oldSignalCount ? true : nil }) else {
                    throw .stopped
                }
            }
        }
    }

    private func openReader(of body: Body) throws(ExecutionEnd) -> any BodyReader {
        if let reader = reader.withLock({ $0 }) { return reader }
        do throws(LoadError) {
            let newReader = try body.makeReader()
            reader.withLock { $0 = newReader }
            return newReader
        } catch {
            throw .failed(error)
        }
    }
}
