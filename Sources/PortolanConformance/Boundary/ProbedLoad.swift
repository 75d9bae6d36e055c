// SPDX-License-Identifier: Apache-2.0

import CPortolan
import CThreadTrace
import PortolanCore
import PortolanPlugins

/// A load of a plugin's, and the judge's turns for it: all calls into it are serial, as the contract has it, on a thread of its own.
@safe
final class ProbedLoad: ConstArgument, @unchecked Sendable {  // … because what changes is behind monitors; the load is the plugin's own
    let client: ProbeClient
    let handler: ProbedHandler
    private let image: RequestImage
    private let load: UnsafeMutableRawPointer?
    /// What `make` gave to its refusal, one for each time.
    let refusals: [ReadStruct<ReadError>]
    private let life = ConditionLock(Life())

    private struct Life {
        var hasStarted = false
        /// No call into the load is to come but `destroy`.
        var isIdle = false
        var isDestroyed = false
        var stopsRunning = 0
        var turnTimes: [(LoadFunction, Duration)] = []
        var threadChanges: [String] = []
    }

    /// Makes a load, on the calling thread.
    init(_ request: RequestImage, _ handler: ProbedHandler, _ script: ClientScript) throws(CheckSkipped) {
        guard let make = unsafe handler.description.functions.make else { throw CheckSkipped("the handler has no function make (DESC-05)") }
        self.handler = handler
        let client = try ProbeClient(script, for: request.request, of: handler)
        self.client = client
        image = request
        var load: UnsafeMutableRawPointer?
        let pointer = unsafe image.pointer
        refusals = try unsafe ProbedRefusal.collect(handler.instance.argumentMemory) { refusal in
            client.entering(.make, url: request.request.url) {
                unsafe load = make(handler.instance.state, pointer, nil, client.table.pointer, refusal)
            }
        }
        unsafe self.load = unsafe load
        if isMade { handler.instance.instanceContext.open.begin() }
    }

    var changed: String? { image.changed }

    /// Whether `make` gave a load.
    var isMade: Bool { unsafe load != nil }

    // MARK: Its turns

    func start() throws(CheckSkipped) {
        guard isMade else { return }
        life.withLock { $0.hasStarted = true }
        client.state.withLock { $0.stage = max($0.stage, .started) }
        do throws(LoadError) {
            try PlatformThread.start { [self] in
                if handler.description.isBlocking { run() } else { takeTurns() }
                life.withLockBroadcasting { $0.isIdle = true }
            }
        } catch {
            throw CheckSkipped.lack(error.message)
        }
    }

    /// As ``start()``, on the calling thread, which waits until no call into the load is to come but `destroy`.
    func runHere() {
        guard isMade else { return }
        life.withLock { $0.hasStarted = true }
        client.state.withLock { $0.stage = max($0.stage, .started) }
        if handler.description.isBlocking { run() } else { takeTurns() }
        life.withLockBroadcasting { $0.isIdle = true }
    }

    private func run() {
        unsafe call(.run, handler.description.loads.run)
    }

    private func takeTurns() {
        let table = handler.description.loads
        var longPauses = ClientScript.longPauses
        unsafe call(.start, table.start)
        while let turn = nextTurn() {
            switch turn {
            case .resume:
                if let time = client.script.pauseTime, time > .zero, longPauses > 0 {
                    longPauses -= 1
                    Polling.watch(time)
                    if client.script.wakesInPause { unsafe call(.woken, table.woken) }
                    // A stop may come in a pause.
                    if client.state.withLock(\.isStopped) { continue }
                }
                client.state.withLock { if $0.stage == .paused { $0.stage = .started } }
                unsafe call(.resume, table.resume)
                client.state.withLock { if client.watches.isUsed, !$0.turns.contains(.ready) { $0.turns.append(.ready) } }
            case .woken:
                client.state.withLock { ($0.isBodyReady, $0.bodyWaits) = (true, 0) }
                unsafe call(.woken, table.woken)
            case .ready:
                // What can be read waits while the load is paused.
                guard client.watches.takeNews(isPaused: client.state.withLock { $0.stage == .paused }) else { continue }
                unsafe call(.woken, table.woken)
            case .answered:
                guard let answered = unsafe table.answered, let answer = client.state.withLock({ $0.lentAnswer }) else { break }
                unsafe call(.answered) { unsafe answered($0, answer.pointer) }
                if client.script.takesAnswersAway { answer.poison() }
            case .stop: unsafe call(.stop, table.stop)
            }
        }
    }

    /// Waits for the next turn; `nil` when none will come any more.
    private func nextTurn() -> ProbeClient.Turn? {
        client.state.wait { state in
            if let stop = state.turns.firstIndex(of: .stop) {
                state.turns.remove(at: stop)
                return .some(.stop)
            }
            if state.isStopped { return .some(nil) }
            return state.turns.isEmpty ? nil : .some(state.turns.removeFirst())
        }
    }

    private func call(_ function: LoadFunction, _ pointer: (@convention(c) (UnsafeMutableRawPointer) -> Void)?) {
        guard let pointer = unsafe pointer else { return }
        unsafe call(function) { unsafe pointer($0) }
    }

    private func call(_ function: LoadFunction, _ body: @escaping @Sendable (UnsafeMutableRawPointer) -> Void) {
        guard client.script.changesThreads, function != .run else { return unsafe callHere(function, body) }
        let hasReturned = ConditionLock(false)
        do throws(LoadError) {
            try PlatformThread.start { [self] in
                unsafe callHere(function, body)
                hasReturned.withLockBroadcasting { $0 = true }
            }
            hasReturned.wait { $0 ? () : nil }
        } catch {
            unsafe callHere(function, body)
        }
    }

    private func callHere(_ function: LoadFunction, _ body: (UnsafeMutableRawPointer) -> Void) {
        guard let load = unsafe load else { return }
        let thread = portolan_thread_number()
        let (start, before, waited) = (MonotonicTime.now, client.timeInside(thread), ProcessorWait.ofThisThread)
        let surroundings = client.script.watchesThread ? ThreadEnvironment.taken() : nil
        client.entering(function) { unsafe body(load) }
        if let surroundings {
            let changes = ThreadEnvironment.taken().changes(since: surroundings).map { "\(function.rawValue) had returned, \($0)" }
            life.withLock { $0.threadChanges += changes }
        }
        // The client's own time is not the plugin's, nor what other programs take on a busy machine.
        let time = MonotonicTime.now - start - (client.timeInside(thread) - before) - (ProcessorWait.ofThisThread - waited)
        life.withLock { $0.turnTimes.append((function, time)) }
    }

    /// Waits until no call into the load is to come but `destroy`; `false` where that takes longer.
    func waitUntilIdle(_ limit: Duration) -> Bool {
        guard isMade, life.withLock(\.hasStarted) else { return true }
        return life.wait(atMost: limit) { $0.isIdle ? true : nil } ?? false
    }

    /// Nobody wants the rest. An event-driven load gets its turn for it, a blocking one the call beside its run.
    ///
    /// - Parameter isLate: also where it has told its end, and its run has not returned.
    func stop(isLate: Bool = false) {
        let (hasStarted, isIdle) = life.withLock { ($0.hasStarted, $0.isIdle) }
        let isBlocking = handler.description.isBlocking
        // Before the turn in which the load may close what was watched (watch.h).
        client.watches.giveUp()
        let isDue = client.state.withLockBroadcasting { state in
            let isDue = hasStarted && !isIdle && (isLate || !state.hasEnded)
            state.isStopped = true
            state.stage = max(state.stage, .stopped)
            if isDue, !isBlocking { state.turns.append(.stop) }
            return isDue
        }
        for nested in client.state.withLock(\.nested) { nested.stop() }
        if isDue, isBlocking { unsafe call(.stop, handler.description.loads.stop) }
    }

    /// The last call. Not before the load is idle.
    ///
    /// - Parameter poisoning: whether request and client are taken away when it has returned.
    /// - Returns: how long it took.
    @discardableResult
    func destroy(poisoning: Bool = false) -> Duration {
        let start = MonotonicTime.now
        client.watches.giveUp()
        if let load = unsafe load {
            client.entering(.destroy) { unsafe handler.description.loads.destroy?(load) }
            handler.instance.instanceContext.open.end()
        }
        let time = MonotonicTime.now - start
        client.state.withLock { $0.stage = .destroyed }
        if poisoning {
            image.poison()
            client.table.poison()
        }
        handler.instance.keep(self)
        return time
    }

    // MARK: What came of it

    var record: LoadRecord {
        let (calls, body) = client.state.withLock { ($0.calls, $0.body) }
        let (isIdle, turnTimes, threadChanges) = life.withLock { ($0.isIdle || !$0.hasStarted, $0.turnTimes, $0.threadChanges) }
        return LoadRecord(
            calls: calls, body: body, refusal: isMade ? nil : refusals.last, isMade: isMade, isIdle: isIdle,
            turnTimes: turnTimes.map(LoadRecord.Turn.init), threadChanges: threadChanges)
    }
}
