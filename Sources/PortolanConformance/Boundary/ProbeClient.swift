// SPDX-License-Identifier: Apache-2.0

import CPortolan
import CPluginObservation
import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The client that a plugin's load borrows. It records each call with its thread, and responds as its script says.
/// It tolerates all violations, so that one violation does not hide another.
@safe
final class ProbeClient: @unchecked Sendable {  // … because a lock guards everything that changes
    let script: ClientScript
    let table: GuardedTable<portolan_client>
    private let callLog: CallLog
    /// The condition lock also wakes the runner's side of the load when the load calls `wake`, or is to be resumed.
    let state = ConditionLock(State())

    struct State {
        var calls: [RecordedCall] = []
        var body: [UInt8] = []
        /// The number of body bytes received, including those that are not recorded.
        var bodyLength: Int64 = 0
        /// The number of events.
        var eventCount = 0
        var challengeCount = 0
        var bodyPieceIndex = 0
        /// The number of bytes that the client has given of an endless body.
        var endlessBytesGiven: Int64 = 0
        var bodyOffset = 0
        /// How many times in a row `read_body` returned WAIT.
        var bodyWaits = 0
        /// Whether the next piece of a slow body is available.
        var isBodyReady = false
        var pauseCount = 0
        /// Whether the load waits for a decision or a body that never comes, or a blocking load waits in a pause.
        var isWaiting = false
        /// The number of client calls that are running.
        var runningCallCount = 0
        /// The load function that is running on each thread.
        var functions: [Int32: LoadFunction] = [:]
        var isStopped = false
        var hasEnded = false
        var stage = RecordedCall.Stage.made
        /// The last answer to a challenge, borrowed by the plugin until its next call.
        var borrowedAnswer: AnswerImage?
        var earlierAnswers: [AnswerImage] = []
        /// The pending calls into the load, oldest first.
        var pendingCalls: [PendingCall] = []
        /// The nested loads that were opened; they live as long as the client.
        var nested: [ProbedNestedLoad] = []
        /// The number of values of nested loads that are on pages of their own.
        var revocableValueCount = 0
        /// The time that each thread has spent in the client.
        var timeInside: [Int32: Duration] = [:]
    }

    /// The descriptors and timers that the load watches.
    let watches: ProbedWatches

    enum PendingCall: Hashable, Sendable {
        case resume, woken, answered, stop
        /// A watched descriptor or timer is ready.
        case ready
    }

    /// The limit of the recorded body, in bytes.
    private static let maximumRecordedBodySize = 1 << 28

    /// The request of the load; a nested load derives its request from it.
    let request: Request
    private let instanceContext: InstanceContext
    /// Loads the nested loads of this load.
    var nestedLoads: NestedLoadCache { instanceContext.nestedLoads }
    private let isBlocking: Bool
    let handlerIdentifier: String
    /// The load's number in the call log.
    let loadNumber: Int

    init(_ script: ClientScript, for request: Request, of handler: ProbedHandler) throws(CheckSkipped) {
        (self.script, self.request, instanceContext) = (script, request, handler.instance.instanceContext)
        (isBlocking, callLog) = (handler.description.isBlocking, handler.instance.callLog)
        handlerIdentifier = handler.description.identifier.text ?? "?"
        loadNumber = callLog.nextLoad()
        table = try GuardedTable(handler.instance.argumentMemory, portolan_client(ofRunner: ()))
        watches = ProbedWatches(isBlocking: handler.description.isBlocking, refusesAll: script.refusesWatches) { [state] in
            state.withLockBroadcasting { if !$0.pendingCalls.contains(.ready) { $0.pendingCalls.append(.ready) } }
        }
        table.serve(self)
    }

    static func at(_ pointer: UnsafeMutablePointer<portolan_client>) -> ProbeClient {
        unsafe GuardedTable.object(of: pointer, as: ProbeClient.self)
    }

    // MARK: Calls by the plugin

    /// Records a call and returns the flow.
    ///
    /// - Parameter decideFlow: Returns the flow. Not called if the load is stopped.
    func record(_ call: ClientCall, _ decideFlow: (inout State) -> portolan_flow? = { _ in nil }) -> portolan_flow {
        let thread = portolan_thread_number()
        let start = MonotonicTime.now
        // Each call ends the borrow of the last answer to a challenge, except calls that any thread can make.
        if script.revokesAnswers, isBlocking, !call.isAllowedOnAnyThread { state.withLock(\.borrowedAnswer)?.poison() }
        // Events that overlap have different numbers, too, so that the action for an event number happens once.
        let (index, overlapCount) = state.withLock { state in
            defer { if call.isEvent { state.eventCount += 1 } }
            // A call that any thread can make overlaps nothing.
            guard !call.isAllowedOnAnyThread else { return (state.eventCount, 0) }
            state.runningCallCount += 1
            return (state.eventCount, state.runningCallCount - 1)
        }
        callLog.record(call.function, thread: thread, load: loadNumber)
        if call.isEvent { script.whileDelivering?(index, call) }
        let flow = state.withLockBroadcasting { state in
            if call.isEvent, let stop = script.stopEventIndex, index >= stop { state.isStopped = true }
            let flow = state.isStopped ? PORTOLAN_STOPPED : decideFlow(&state) ?? PORTOLAN_CONTINUE
            if !script.omitsBodies || !call.carriesBody {
                state.calls.append(
                    RecordedCall(
                        call: call, returnValue: Int64(flow.rawValue), thread: thread, within: state.functions[thread],
                        overlapCount: overlapCount,
                        stage: state.stage))
            }
            if !call.isAllowedOnAnyThread { state.runningCallCount -= 1 }
            state.timeInside[thread, default: .zero] += MonotonicTime.now - start
            updateStage(call, flow, &state)
            return flow
        }
        if flow == PORTOLAN_STOPPED || call.isEnd, state.withLock(\.isStopped) { watches.endAll() }
        return flow
    }

    /// Updates the stage of the load after a call.
    private func updateStage(_ call: ClientCall, _ flow: portolan_flow, _ state: inout State) {
        switch call {
        case .finish, .failure: state.hasEnded = true
        case .redirect: if script.followsRedirects, flow == PORTOLAN_STOPPED { state.hasEnded = true }
        default: break
        }
        if state.hasEnded { (state.isStopped, state.stage) = (true, max(state.stage, .ended)) }
        if flow == PORTOLAN_STOPPED, state.stage < .stopped { state.stage = .stopped }
        if flow == PORTOLAN_PAUSE, state.stage < .paused {
            state.stage = .paused
            if script.pauseTime != nil { state.pendingCalls.append(.resume) }
        }
    }

    /// The flow for a delivery that can be paused.
    func delivery(_ call: ClientCall) -> portolan_flow {
        if isBlocking { waitInPause(call) }
        return record(call) { [script, isBlocking] state in
            if isBlocking { return nil }
            if script.pauses(call, after: state.pauseCount) {
                state.pauseCount += 1
                return PORTOLAN_PAUSE
            }
            if script.resumesWithoutPause { state.pendingCalls.append(.resume) }
            return nil
        }
    }

    /// Waits in a delivery of a blocking load until the pause ends, or until the load is stopped.
    private func waitInPause(_ call: ClientCall) {
        let time = state.withLockBroadcasting { state -> Duration? in
            guard script.pauses(call, after: state.pauseCount), !state.isStopped else { return .zero }
            state.pauseCount += 1
            guard script.pauseTime.map({ $0 > .zero && state.pauseCount <= ClientScript.longPauseCount }) ?? true else { return .zero }
            state.isWaiting = true
            return script.pauseTime
        }
        if time == .zero { return }
        if let time {
            state.wait(atMost: time) { $0.isStopped ? () : nil }
        } else {
            state.wait { $0.isStopped ? () : nil }
        }
        state.withLock { $0.isWaiting = false }
    }

    func redirect(_ call: ClientCall) -> portolan_flow {
        let isLater = script.decision == .later
        if isLater, isBlocking { Polling.sleep(.milliseconds(30)) }
        return record(call) { [script, isBlocking] state in
            guard isLater, !isBlocking else { return script.followsRedirects ? PORTOLAN_STOPPED : nil }
            if script.followsRedirects {
                state.isStopped = true
                state.pendingCalls.append(.stop)
            }
            return PORTOLAN_PAUSE
        }
    }

    func data(_ bytes: UnsafeRawPointer?, _ count: Int) -> portolan_flow {
        let (thread, start) = (portolan_thread_number(), MonotonicTime.now)
        let before = timeInside(thread)
        defer { state.withLock { $0.timeInside[thread] = before + (MonotonicTime.now - start) } }
        let isReadable = unsafe count >= 0 && ReadableMemory.contains(bytes, count)
        // Bytes that come when none are allowed are not part of the body. Another rule reports them.
        let isPartOfBody = state.withLock { $0.stage >= .started && $0.stage < .ended && $0.functions[thread] != .destroy }
        let original = unsafe isReadable && !script.omitsBodies ? Array(UnsafeRawBufferPointer(start: bytes, count: count)) : []
        let flow = delivery(.data(count: count, isReadable: isReadable, changed: false))
        let changed = unsafe isReadable && !script.omitsBodies && bytes.map { unsafe memcmp($0, original, count) != 0 } ?? false
        state.withLock { state in
            if isPartOfBody { state.bodyLength += Int64(max(0, count)) }
            if isPartOfBody { state.body += original.prefix(Self.maximumRecordedBodySize - state.body.count) }
            guard changed, let last = state.calls.lastIndex(where: { if case .data = $0.call { true } else { false } }) else { return }
            let old = state.calls[last]
            state.calls[last] = RecordedCall(
                call: .data(count: count, isReadable: true, changed: true), returnValue: old.returnValue, thread: old.thread,
                within: old.within,
                overlapCount: old.overlapCount, stage: old.stage)
        }
        return flow
    }

    func readBody(_ buffer: UnsafeMutableRawPointer?, _ capacity: Int) -> Int64 {
        if script.bodySource == .silent { waitForStop() }
        if case .endless(let length) = script.bodySource { return unsafe readEndlessBody(length, buffer, capacity) }
        let bytes: [UInt8]? = state.withLock { state in
            guard !state.isStopped else { return [] }
            if mustWait(&state) { return nil }
            if case .failing(state.bodyPieceIndex) = script.bodySource { state.isStopped = true }
            guard !state.isStopped, state.bodyPieceIndex < script.body.count else { return [] }
            let piece = script.body[state.bodyPieceIndex][state.bodyOffset...].prefix(max(0, capacity))
            state.bodyOffset += piece.count
            if state.bodyOffset == script.body[state.bodyPieceIndex].count {
                (state.bodyPieceIndex, state.bodyOffset) = (state.bodyPieceIndex + 1, 0)
            }
            return Array(piece)
        }
        guard let bytes else {
            let flow = record(.readBody(Int64(PORTOLAN_WAIT.rawValue)))
            return Int64(flow == PORTOLAN_STOPPED ? flow.rawValue : PORTOLAN_WAIT.rawValue)
        }
        unsafe buffer?.copyMemory(from: bytes, byteCount: bytes.count)
        script.readMeeting?.arrive()
        let flow = record(.readBody(Int64(bytes.count)))
        return flow == PORTOLAN_STOPPED ? Int64(flow.rawValue) : Int64(bytes.count)
    }

    private func readEndlessBody(_ length: Int64, _ buffer: UnsafeMutableRawPointer?, _ capacity: Int) -> Int64 {
        let count = state.withLock { state in
            let count = min(Int64(clamping: max(0, min(capacity, 1 << 20))), length - state.endlessBytesGiven)
            state.endlessBytesGiven += count
            return count
        }
        if count > 0, let buffer = unsafe buffer { unsafe memset(buffer, 0, Int(count)) }
        let flow = record(.readBody(count))
        return flow == PORTOLAN_STOPPED ? Int64(flow.rawValue) : count
    }

    /// Records that the load waits for a result that never comes. In a blocking load, waits until the load is stopped.
    private func waitForStop() {
        state.withLockBroadcasting { $0.isWaiting = true }
        if isBlocking { state.wait { $0.isStopped ? () : nil } }
    }

    /// Whether an event-driven load receives WAIT for the next piece. A plugin that polls eventually gets data, so that
    /// its loop ends.
    private func mustWait(_ state: inout State) -> Bool {
        guard !isBlocking else { return false }
        switch script.bodySource {
        case .ready, .failing, .endless: return false
        case .silent:
            state.bodyWaits += 1
            return state.bodyWaits <= Self.maximumBodyWaits
        case .slow:
            if state.isBodyReady || state.bodyWaits >= Self.maximumBodyWaits {
                (state.isBodyReady, state.bodyWaits) = (false, 0)
                return false
            }
            state.bodyWaits += 1
            if !state.pendingCalls.contains(.woken) { state.pendingCalls.append(.woken) }
            return true
        }
    }

    private static let maximumBodyWaits = 1000

    /// Gives bytes of the stored response, if there is one. If they cannot be read, the load is over, as it is in the
    /// host.
    func readCached(_ offset: Int64, _ buffer: UnsafeMutableRawPointer?, _ capacity: Int) -> Int64 {
        let bytes: ArraySlice<UInt8>? = script.stored.map { $0.bytes(at: offset, atMost: capacity) } ?? []
        let flow = record(.readCached) { state in
            guard bytes == nil else { return nil }
            state.isStopped = true
            return PORTOLAN_STOPPED
        }
        guard flow != PORTOLAN_STOPPED, let bytes else { return Int64(PORTOLAN_STOPPED.rawValue) }
        unsafe buffer?.copyMemory(from: Array(bytes), byteCount: bytes.count)
        return Int64(bytes.count)
    }

    func rewindBody() -> Int32 {
        let flow = record(.rewind) { state in
            (state.bodyPieceIndex, state.bodyOffset, state.endlessBytesGiven) = (0, 0, 0)
            return nil
        }
        return flow == PORTOLAN_STOPPED ? flow.rawValue : 1
    }

    func challenge(
        _ challenge: ReadStruct<ReadChallenge>, _ place: UnsafeMutablePointer<UnsafePointer<portolan_answer>?>?
    ) -> portolan_flow {
        if script.decision == .never { waitForStop() }
        let isAnsweredLater = unsafe !isBlocking && (script.decision != .atOnce || place == nil)
        let flow = record(.challenge(challenge)) { [script] state in
            // The last answers stay in memory, because a plugin that breaks the contract can still read them.
            if let old = state.borrowedAnswer { state.earlierAnswers = state.earlierAnswers.suffix(7) + [old] }
            // `try?` because without memory there is no answer: the load is over then.
            state.borrowedAnswer = try? AnswerImage(script.answer(state.challengeCount))
            guard state.borrowedAnswer != nil else {
                state.isStopped = true
                return PORTOLAN_STOPPED
            }
            state.challengeCount += 1
            if isAnsweredLater, script.resumesWithoutPause { state.pendingCalls.append(.resume) }
            if isAnsweredLater, script.decision != .never { state.pendingCalls.append(.answered) }
            return isAnsweredLater ? PORTOLAN_WAIT : nil
        }
        guard flow == PORTOLAN_CONTINUE else { return flow }
        if script.decision == .later { Polling.sleep(.milliseconds(30)) }
        unsafe place?.pointee = state.withLock { unsafe $0.borrowedAnswer?.pointer }
        return flow
    }

    /// A cancelled challenge gets no answer.
    func cancelChallenge() {
        _ = record(.cancelledChallenge) { state in
            state.pendingCalls.removeAll { $0 == .answered }
            return nil
        }
    }

    /// Returns whether the next value that the plugin borrows from a nested load becomes inaccessible later. Each such
    /// value needs two mappings, whose number is limited (`vm.max_map_count`).
    func takesRevocableValue() -> Bool {
        guard script.revokesNestedMemory else { return false }
        return state.withLock { state in
            state.revocableValueCount += 1
            return state.revocableValueCount <= 64
        }
    }

    /// Opens a nested load, which lives as long as the client.
    func openNested(_ pointer: UnsafePointer<portolan_change>?) -> ProbedNestedLoad {
        let change = unsafe ReadStruct(pointer, ReadChange.init)
        callLog.record("nested.open \(change.value?.url.quoted ?? "no change")", thread: portolan_thread_number(), load: loadNumber)
        let nested = unsafe ProbedNestedLoad(change, pointer, of: self, isBlocking: isBlocking, by: instanceContext.nestedLoads)
        state.withLockBroadcasting { $0.nested.append(nested) }
        return nested
    }

    func wake() {
        _ = record(.wake) { state in
            if !state.pendingCalls.contains(.woken) { state.pendingCalls.append(.woken) }
            return nil
        }
    }

    /// The time that `thread` has spent in the client.
    func timeInside(_ thread: Int32) -> Duration { state.withLock { $0.timeInside[thread] ?? .zero } }

    func isStopped() -> Int32 {
        record(.isStopped) == PORTOLAN_STOPPED ? 1 : 0
    }

    // MARK: Calls by the runner

    /// Returns when the load is paused, or when it waits for something that never comes. A blocking load is then in a
    /// call of the client. The call into an event-driven load that received PAUSE or WAIT has then returned.
    ///
    /// - Returns: `false` if the load ended before that, `nil` if neither happened within `limit`.
    func waitUntilHeld(atMost limit: Duration) -> Bool? {
        state.wait(atMost: limit) { [isBlocking] state in
            if state.isWaiting, isBlocking { return true }
            if (state.isWaiting || state.stage == .paused) && state.functions.isEmpty { return true }
            return state.hasEnded ? false : nil
        }
    }

    /// Runs `action`, which calls the plugin's `function`, on this thread.
    func entering<Result>(_ function: LoadFunction, url: URLRecord? = nil, _ action: () -> Result) -> Result {
        let thread = portolan_thread_number()
        let outer = state.withLock { state in
            defer { state.functions[thread] = function }
            return state.functions[thread]
        }
        let result = callLog.entering(function.rawValue, url: url, thread: thread, load: loadNumber, action)
        state.withLockBroadcasting { $0.functions[thread] = outer }
        return result
    }
}

/// An answer to a challenge, as the plugin borrows it.
@safe
final class AnswerImage: @unchecked Sendable {  // … because it does not change until it is made inaccessible
    private let pages: ReadOnlyPages<portolan_answer>
    var pointer: UnsafePointer<portolan_answer> { unsafe pages.pointer }

    /// - Throws: If no memory can be mapped.
    init(_ answer: ClientScript.ChallengeAnswer) throws(CheckSkipped) {
        unsafe pages = try unsafe ReadOnlyPages { arena in
            var image = unsafe portolan_answer()
            unsafe image.size = UInt32(MemoryLayout<portolan_answer>.size)
            switch answer {
            case .use(let user, let password):
                unsafe image.disposition = PORTOLAN_USE
                unsafe image.user = arena.string(user)
                unsafe image.password = arena.string(password)
            case .without: unsafe image.disposition = PORTOLAN_WITHOUT
            case .byDefault: unsafe image.disposition = PORTOLAN_DEFAULT
            case .rejectProtectionSpace: unsafe image.disposition = PORTOLAN_REJECT_SPACE
            case .cancel: unsafe image.disposition = PORTOLAN_CANCEL
            }
            return unsafe image
        }
    }

    /// Makes the memory inaccessible.
    func poison() { unsafe pages.poison() }
}
