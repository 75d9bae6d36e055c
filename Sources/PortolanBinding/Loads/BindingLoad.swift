// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

/// One load of a binding. Its steps run on a thread of the pool, which waits in client calls while the reader is slow.
final class BindingLoad: ExecutionContext {
    private struct State {
        var load = BindingLoadState()
        /// How often the upload body has reported that it has more bytes.
        var bodySignalCount = 0
        /// Whether the instance counts this load as live.
        var isCounted = true
    }

    let request: Request
    private let client: any ProtocolClient
    private let instance: BindingInstance
    private let threads: LoadThreadPool
    private let monitor = ConditionLock(State())
    private let execution = ConditionLock(BindingExecution?.none)
    private let reader = ConditionLock((any BodyReader)?.none)
    /// A copy of the state's flag. Reading it before each call costs less than the lock.
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
        let isCounted = monitor.withLock { state in
            defer { state.isCounted = false }
            return state.isCounted
        }
        if isCounted { instance.loadDidEnd() }
    }

    var settings: [String: PropertyValue] { instance.settings }
    var libraryName: String { instance.libraryName }

    // MARK: Any thread

    func start() {
        guard monitor.withLock({ $0.load.start() }) else { return }
        do throws(LoadError) {
            try threads.run(isNested: request.nestingDepth > 0) { [self] in runSteps() }
        } catch {
            client.didFail(with: error)
        }
    }

    func resume() {
        monitor.withLockBroadcasting { $0.load.resume() }
    }

    func stop() {
        isStopped.store(true, ordering: .releasing)
        let (callsStop, neverRuns) = monitor.withLockBroadcasting {
            ($0.load.stop(), $0.load.phase == .created || $0.load.phase == .queued)
        }
        if neverRuns { notifyInstanceOfEnd() }
        guard callsStop else { return }
        instance.stopThreads.run { [self] in
            execution.withLock { $0 }?.callStop()
            monitor.withLockBroadcasting { $0.load.stopDidReturn() }
        } onFailure: { [self] in
            monitor.withLockBroadcasting { $0.load.stopDidReturn() }
        }
    }

    var stallReason: String? {
        guard monitor.withLock({ $0.load.phase == .queued }), threads.isExhausted else { return nil }
        return "all \(threads.limit) threads for blocking loads of its plugin are in use by loads that have not ended; end some of them"
    }

    // MARK: The load's thread

    private func runSteps() {
        defer { notifyInstanceOfEnd() }
        guard monitor.withLock({ $0.load.beginRunning() }) else { return }
        let newExecution = BindingExecution(instance.linkedProgram, context: self, callbackPool: instance.callbackPool)
        execution.withLock { $0 = newExecution }
        let end = runSteps(of: newExecution)
        execution.withLock { $0 = nil }
        reader.withLock { $0.take() }?.close()
        let isStopped = monitor.withLock { state in
            state.load.end()
            return state.load.isStopped
        }
        guard !isStopped else { return }
        switch end {
        case nil: client.didFinishLoading()
        case .failed(let error)?: client.didFail(with: error)
        case .stopped?: break
        }
    }

    /// - Returns: `nil` if all steps succeeded.
    private func runSteps(of execution: BindingExecution) -> ExecutionEnd? {
        do throws(ExecutionEnd) {
            try execution.run(instance.linkedProgram.steps)
            return nil
        } catch {
            return error
        }
    }

    var isRunning: Bool { !isStopped.load(ordering: .acquiring) }

    func beginCall() -> Bool {
        monitor.withLock { $0.load.beginCall() }
    }

    func endCall() {
        monitor.wait { $0.load.endCall() ? () : nil }
    }

    func respond(_ response: Response) -> Bool {
        shouldContinue(after: client.didReceive(response, storage: .notAllowed))
    }

    func deliver(_ bytes: UnsafeRawBufferPointer) -> Bool {
        shouldContinue(after: client.didLoad(unsafe RawSpan(_unsafeBytes: bytes)))
    }

    private func shouldContinue(after flow: Flow) -> Bool {
        switch flow {
        case .keepGoing: return true
        case .stopped:
            // In a callback, the library function is still running, and can need the stop function to end.
            stop()
            return false
        case .pause:
            return monitor.wait { state in
                if state.load.isStopped { return false }
                return state.load.consumeResume() ? true : nil
            }
        }
    }

    func readBody(into buffer: UnsafeMutableRawBufferPointer) throws(ExecutionEnd) -> Int {
        guard let body = request.body else { return 0 }
        let reader = try openReader(of: body)
        while true {
            let oldSignalCount = monitor.withLock { $0.bodySignalCount }
            var output = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
            let read = reader.read(into: &output) { [weak self] in self?.monitor.withLockBroadcasting { $0.bodySignalCount &+= 1 } }
            let count = output.byteCount
            switch read {
            case .bytes: return count
            case .end: return 0
            case .failed(let error):
                throw .failed(LoadError(.bodyFailed, message: "the upload body could not be read", underlyingError: error))
            case .wait:
                guard monitor.wait(for: { $0.load.isStopped ? false : $0.bodySignalCount != oldSignalCount ? true : nil }) else {
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
