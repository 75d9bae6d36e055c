// SPDX-License-Identifier: Apache-2.0

import CPortolan
import CPluginObservation
import PortolanCore
import PortolanPlugins

/// A load of a plugin. The runner's calls into the load are serial, as the contract requires; only `stop` of a blocking
/// load runs beside `run`. After ``start()``, the other calls up to `destroy` run on a thread of the load.
@safe
final class ProbedLoad: ConstArgument, @unchecked Sendable {  // … because locks guard what changes; the plugin guards its load
    let client: ProbeClient
    let handler: ProbedHandler
    private let image: RequestImage
    /// The stored response as the plugin borrows it.
    private let storedImage: StoredResponseImage?
    private let load: UnsafeMutableRawPointer?
    /// The errors that `make` passed to its `portolan_refusal`; one element for each call of `give`.
    let refusals: [ReadStruct<ReadError>]
    private let life = ConditionLock(Life())

    private struct Life {
        var hasStarted = false
        /// Whether only `destroy` remains to be called.
        var isIdle = false
        var isDestroyed = false
        var callTimes: [(LoadFunction, Duration)] = []
        var threadChanges: [String] = []
    }

    /// Makes a load on the calling thread.
    init(_ request: RequestImage, _ handler: ProbedHandler, _ script: ClientScript) throws(CheckSkipped) {
        guard let make = unsafe handler.description.functions.make else { throw CheckSkipped("the handler has no function make (DESC-05)") }
        try handler.instance.instanceContext.steps.require(.make, .destroy)
        self.handler = handler
        let client = try ProbeClient(script, for: request.request, of: handler)
        self.client = client
        image = request
        storedImage = try script.stored.map { stored throws(CheckSkipped) in try StoredResponseImage(stored) }
        var load: UnsafeMutableRawPointer?
        let (pointer, storedPointer) = unsafe (image.pointer, storedImage?.pointer)
        let (start, waitTimeBefore) = (MonotonicTime.now, ProcessorWait.ofThisThread)
        refusals = try unsafe ProbedRefusal.collect(handler.instance.argumentMemory) { refusal in
            client.entering(.make, url: request.request.url) {
                unsafe load = make(handler.instance.state, pointer, storedPointer, client.table.pointer, refusal)
            }
        }
        unsafe self.load = unsafe load
        let time = MonotonicTime.now - start - (ProcessorWait.ofThisThread - waitTimeBefore)
        life.withLock { $0.callTimes.append((.make, time)) }
        if isMade { handler.instance.instanceContext.openCount.begin() }
    }

    var changedArgument: String? { image.changedArgument }

    /// Whether `make` returned a load.
    var isMade: Bool { unsafe load != nil }

    // MARK: Calls into the load

    func start() throws(CheckSkipped) {
        guard isMade else { return }
        life.withLock { $0.hasStarted = true }
        client.state.withLock { $0.stage = max($0.stage, .started) }
        do throws(LoadError) {
            try PlatformThread.start { [self] in
                if handler.description.isBlocking { run() } else { makePendingCalls() }
                life.withLockBroadcasting { $0.isIdle = true }
            }
        } catch {
            throw CheckSkipped.resourceShortage(error.message)
        }
    }

    /// Runs the load on the calling thread, and returns when only `destroy` remains to be called.
    func runOnThisThread() {
        guard isMade else { return }
        life.withLock { $0.hasStarted = true }
        client.state.withLock { $0.stage = max($0.stage, .started) }
        if handler.description.isBlocking { run() } else { makePendingCalls() }
        life.withLockBroadcasting { $0.isIdle = true }
    }

    private func run() {
        unsafe call(.run, handler.description.loads.run)
    }

    private func makePendingCalls() {
        let table = handler.description.loads
        var remainingLongPauses = ClientScript.longPauseCount
        unsafe call(.start, table.start)
        while let pendingCall = nextPendingCall() {
            switch pendingCall {
            case .resume:
                if let time = client.script.pauseTime, time > .zero, remainingLongPauses > 0 {
                    remainingLongPauses -= 1
                    Polling.sleep(time)
                    if client.script.wakesInPause { unsafe call(.woken, table.woken) }
                    // A stop can come during the pause.
                    if client.state.withLock(\.isStopped) { continue }
                }
                client.state.withLock { if $0.stage == .paused { $0.stage = .started } }
                unsafe call(.resume, table.resume)
                client.state.withLock { if client.watches.isUsed, !$0.pendingCalls.contains(.ready) { $0.pendingCalls.append(.ready) } }
            case .woken:
                client.state.withLock { ($0.isBodyReady, $0.bodyWaits) = (true, 0) }
                unsafe call(.woken, table.woken)
            case .ready:
                // Readable descriptors are not reported while the load is paused.
                guard client.watches.takeNewEvents(isPaused: client.state.withLock { $0.stage == .paused }) else { continue }
                unsafe call(.woken, table.woken)
            case .answered:
                guard let answered = unsafe table.answered, let answer = client.state.withLock({ $0.borrowedAnswer }) else { break }
                unsafe call(.answered) { unsafe answered($0, answer.pointer) }
                if client.script.revokesAnswers { answer.poison() }
            case .stop: unsafe call(.stop, table.stop)
            }
        }
    }

    /// Waits for the next call into the load. Returns `nil` if no other call except `destroy` will follow.
    private func nextPendingCall() -> ProbeClient.PendingCall? {
        client.state.wait { state in
            if let stop = state.pendingCalls.firstIndex(of: .stop) {
                state.pendingCalls.remove(at: stop)
                return .some(.stop)
            }
            if state.isStopped { return .some(nil) }
            return state.pendingCalls.isEmpty ? nil : .some(state.pendingCalls.removeFirst())
        }
    }

    private func call(_ function: LoadFunction, _ pointer: (@convention(c) (UnsafeMutableRawPointer) -> Void)?) {
        guard let pointer = unsafe pointer else { return }
        unsafe call(function) { unsafe pointer($0) }
    }

    private func call(_ function: LoadFunction, _ body: @escaping @Sendable (UnsafeMutableRawPointer) -> Void) {
        guard client.script.changesThreads, function != .run else { return unsafe callOnThisThread(function, body) }
        let hasReturned = ConditionLock(false)
        do throws(LoadError) {
            try PlatformThread.start { [self] in
                unsafe callOnThisThread(function, body)
                hasReturned.withLockBroadcasting { $0 = true }
            }
            hasReturned.wait { $0 ? () : nil }
        } catch {
            unsafe callOnThisThread(function, body)
        }
    }

    private func callOnThisThread(_ function: LoadFunction, _ body: (UnsafeMutableRawPointer) -> Void) {
        guard let load = unsafe load else { return }
        let thread = portolan_thread_number()
        let (start, clientTimeBefore, waitTimeBefore) = (MonotonicTime.now, client.timeInside(thread), ProcessorWait.ofThisThread)
        let environmentBefore = client.script.checksThreadState ? ThreadEnvironment.current() : nil
        client.entering(function) { unsafe body(load) }
        if let environmentBefore {
            let changes = ThreadEnvironment.current().changes(since: environmentBefore).map { "\(function.rawValue) had returned, \($0)" }
            life.withLock { $0.threadChanges += changes }
        }
        // Subtract the client's own time, and the time that other programs took on a busy machine.
        let time =
            MonotonicTime.now - start - (client.timeInside(thread) - clientTimeBefore) - (ProcessorWait.ofThisThread - waitTimeBefore)
        life.withLock { $0.callTimes.append((function, time)) }
    }

    /// Waits until only `destroy` remains to be called; returns `false` if that takes longer than `limit`, on a busy
    /// machine longer than that (``ConditionLock/waitForProcessorTime(atMost:for:)``).
    func waitUntilIdle(_ limit: Duration) -> Bool {
        guard isMade, life.withLock(\.hasStarted) else { return true }
        // A short limit is only a pause of the caller.
        guard limit >= .milliseconds(200) else { return life.wait(atMost: limit) { $0.isIdle ? true : nil } ?? false }
        return life.waitForProcessorTime(atMost: limit) { $0.isIdle ? true : nil } ?? false
    }

    /// Stops the load. An event-driven load receives `stop` on its thread; a blocking load receives it on this thread,
    /// beside `run`.
    ///
    /// - Parameter evenAfterEnd: Whether `stop` is also called if the load has already delivered its end, but `run` has
    ///   not returned.
    func stop(evenAfterEnd: Bool = false) {
        let (hasStarted, isIdle) = life.withLock { ($0.hasStarted, $0.isIdle) }
        let isBlocking = handler.description.isBlocking
        // Ends the watches first, because the load can close the watched descriptors in the call (watch.h).
        client.watches.endAll()
        let isDue = client.state.withLockBroadcasting { state in
            let isDue = hasStarted && !isIdle && (evenAfterEnd || !state.hasEnded)
            state.isStopped = true
            state.stage = max(state.stage, .stopped)
            if isDue, !isBlocking { state.pendingCalls.append(.stop) }
            return isDue
        }
        for nested in client.state.withLock(\.nested) { nested.stop() }
        if isDue, isBlocking { unsafe call(.stop, handler.description.loads.stop) }
    }

    /// Makes the last call into the load. The load must be idle.
    ///
    /// - Parameter poisoning: Whether the request and the client become inaccessible when the call has returned.
    /// - Returns: How long the call took.
    @discardableResult
    func destroy(poisoning: Bool = false) -> Duration {
        let start = MonotonicTime.now
        client.watches.endAll()
        if let load = unsafe load {
            client.entering(.destroy) { unsafe handler.description.loads.destroy?(load) }
            handler.instance.instanceContext.openCount.end()
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

    // MARK: The record

    var record: LoadRecord {
        let (calls, body, nested) = client.state.withLock { ($0.calls, $0.body, $0.nested) }
        let (isIdle, callTimes, threadChanges) = life.withLock { ($0.isIdle || !$0.hasStarted, $0.callTimes, $0.threadChanges) }
        return LoadRecord(
            calls: calls, body: body, refusal: isMade ? nil : refusals.last, isMade: isMade, isIdle: isIdle,
            callTimes: callTimes.map(LoadRecord.CallTime.init), threadChanges: threadChanges, nestedChanges: nested.map(\.change))
    }
}
