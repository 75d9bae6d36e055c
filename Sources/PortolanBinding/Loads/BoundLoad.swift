// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

/// One load of a binding. Its steps run on a thread of the pool, which waits in client calls while the reader is slow.
final class BoundLoad: RunHost {
    private struct State {
        var life = BindingLoadState()
        /// Grows when the body may have more bytes.
        var signals = 0
        /// The instance counts this load as running.
        var isCounted = true
    }

    let request: Request
    private let client: any ProtocolClient
    private let instance: BindingInstance
    private let threads: LoadThreadPool
    private let monitor = ConditionLock(State())
    private let run = ConditionLock(BoundRun?.none)
    private let reader = ConditionLock((any BodyReader)?.none)
    /// A copy of the state's flag. It is read before each call, which costs less than the lock.
    private let isStopped = Atomic(false)

    init(_ request: Request, client: any ProtocolClient, instance: BindingInstance, threads: LoadThreadPool) {
        self.request = request
        self.client = client
        self.instance = instance
        self.threads = threads
        instance.loadBegan()
    }

    deinit { settle() }

    /// Notifies the instance that no library function will be called for this load any more.
    private func settle() {
        let isCounted = monitor.withLock { state in
            defer { state.isCounted = false }
            return state.isCounted
        }
        if isCounted { instance.loadEnded() }
    }

    var settings: [String: PropertyValue] { instance.settings }
    var libraryName: String { instance.libraryName }

    // MARK: Any thread

    func start() {
        guard monitor.withLock({ $0.life.start() }) else { return }
        do throws(LoadError) {
            try threads.run(isNested: request.nestingDepth > 0) { [self] in runSteps() }
        } catch {
            client.didFail(with: error)
        }
    }

    func resume() {
        monitor.withLockBroadcasting { $0.life.resume() }
    }

    func stop() {
        isStopped.store(true, ordering: .releasing)
        let (callsStop, neverRuns) = monitor.withLockBroadcasting { ($0.life.stop(), $0.life.phase == .made || $0.life.phase == .queued) }
        if neverRuns { settle() }
        guard callsStop else { return }
        instance.helpers.run { [self] in
            run.withLock { $0 }?.callStop()
            monitor.withLockBroadcasting { $0.life.stopReturned() }
        } orElse: { [self] in
            monitor.withLockBroadcasting { $0.life.stopReturned() }
        }
    }

    var stallReason: String? {
        guard monitor.withLock({ $0.life.phase == .queued }), threads.isExhausted else { return nil }
        return "all \(threads.limit) threads for blocking loads of its plugin are in use by loads that have not ended; end some of them"
    }

    // MARK: The load's thread

    private func runSteps() {
        defer { settle() }
        guard monitor.withLock({ $0.life.enter() }) else { return }
        let steps = BoundRun(instance.linked, host: self, pool: instance.pool)
        run.withLock { $0 = steps }
        let end = outcome(of: steps)
        run.withLock { $0 = nil }
        reader.withLock { $0.take() }?.close()
        let isStopped = monitor.withLock { state in
            state.life.end()
            return state.life.isStopped
        }
        guard !isStopped else { return }
        switch end {
        case nil: client.didFinishLoading()
        case .failed(let error)?: client.didFail(with: error)
        case .stopped?: break
        }
    }

    private func outcome(of steps: BoundRun) -> RunEnd? {
        do throws(RunEnd) {
            try steps.run(instance.linked.steps)
            return nil
        } catch {
            return error
        }
    }

    var mayCall: Bool { !isStopped.load(ordering: .acquiring) }

    func enterCall() -> Bool {
        monitor.withLock { $0.life.enterCall() }
    }

    func leaveCall() {
        monitor.wait { $0.life.leaveCall() ? () : nil }
    }

    func respond(_ response: Response) -> Bool {
        isWanted(after: client.didReceive(response, storage: .notAllowed))
    }

    func deliver(_ bytes: UnsafeRawBufferPointer) -> Bool {
        isWanted(after: client.didLoad(unsafe RawSpan(_unsafeBytes: bytes)))
    }

    private func isWanted(after flow: Flow) -> Bool {
        switch flow {
        case .keepGoing: return true
        case .stopped:
            // In a callback the running call continues, and may need the stop function to end.
            stop()
            return false
        case .pause:
            return monitor.wait { state in
                if state.life.isStopped { return false }
                return state.life.takeResumed() ? true : nil
            }
        }
    }

    func readBody(_ room: UnsafeMutableRawBufferPointer) throws(RunEnd) -> Int {
        guard let body = request.body else { return 0 }
        let reader = try openReader(of: body)
        while true {
            let signals = monitor.withLock { $0.signals }
            var output = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
            let read = reader.read(into: &output) { [weak self] in self?.monitor.withLockBroadcasting { $0.signals &+= 1 } }
            let count = output.byteCount
            switch read {
            case .bytes: return count
            case .end: return 0
            case .failed(let error):
                throw .failed(LoadError(.bodyFailed, message: "the upload body could not be read", underlyingError: error))
            case .wait:
                guard monitor.wait(for: { $0.life.isStopped ? false : $0.signals != signals ? true : nil }) else { throw .stopped }
            }
        }
    }

    private func openReader(of body: Body) throws(RunEnd) -> any BodyReader {
        if let reader = reader.withLock({ $0 }) { return reader }
        do throws(LoadError) {
            let new = try body.makeReader()
            reader.withLock { $0 = new }
            return new
        } catch {
            throw .failed(error)
        }
    }
}
