// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanStreams

/// Plays a script on two streams, and checks what they do.
final class StreamPlay: @unchecked Sendable {  // … because a case runs on a single thread
    enum Kind {
        case memory(total: Int)
        case buffer(total: Int, capacity: Int)
        case pair(capacity: Int)
        case scripted
    }

    var script: ByteSource
    let input: PlayedStream
    let output: PlayedStream
    let kind: Kind
    private(set) var finding: FuzzFinding?
    /// The number of steps that are running, one inside the other.
    private var depth = 0
    /// The jobs of two queues, and whether each of them runs one.
    private(set) var jobs: [[@Sendable () -> Void]] = [[], []]
    private var isRunningJob = [false, false]
    /// Whether handlers only record the events.
    var isOver = false
    /// The value of the next byte to write.
    var nextValue = 0
    /// For each write that is running: what the sink has accepted.
    var acceptedBytes: [[UInt8]] = []

    private static let depthLimit = 5

    init(_ bytes: [UInt8]) {
        script = ByteSource(bytes)
        let mode = script.next()
        let (total, size) = (script.next(below: 48), script.next(below: 8))
        let isWrapped = mode & 4 != 0
        switch mode & 3 {
        case 0, 1:
            kind = mode & 1 == 0 ? .memory(total: total) : .buffer(total: total, capacity: 2 * size)
            input = PlayedStream(ByteInputStream((0..<total).map { UInt8($0) }), isWrapped: isWrapped)
            output = PlayedStream(mode & 1 == 0 ? .toMemory() : .toBuffer(capacity: 2 * size))
        case 2:
            kind = .pair(capacity: 1 + size)
            let pair = ByteInputStream.boundPair(bufferSize: 1 + size)
            (input, output) = (PlayedStream(pair.input, isWrapped: isWrapped), PlayedStream(pair.output))
        default:
            kind = .scripted
            let source = EndpointScript(canPeek: mode & 8 != 0, hasMemory: mode & 16 != 0)
            let sink = EndpointScript(canPeek: false, hasMemory: false)
            input = PlayedStream(ByteInputStream(ScriptedSource(source)), endpoint: source, isWrapped: isWrapped)
            output = PlayedStream(ByteOutputStream(ScriptedSink(sink)), endpoint: sink)
            (source.play, sink.play) = (self, self)
        }
    }

    func check(_ condition: Bool, _ message: @autoclosure () -> String) {
        if !condition { finding = finding ?? FuzzFinding(message()) }
    }

    func run() throws(FuzzFinding) {
        try checkBetweenSteps()
        while !script.isEmpty {
            step()
            try checkBetweenSteps()
        }
    }

    // MARK: Steps

    private enum Action {
        case open, move, ask, borrow, schedule, unschedule, runJob, close, setOffset, callReadyCallback, completeOpening, release, property
    }

    private static let actions: [Action] = [
        .open, .move, .ask, .borrow, .schedule, .unschedule, .runJob, .close, .setOffset, .callReadyCallback, .completeOpening, .release,
        .property, .move, .runJob, .callReadyCallback,
    ]

    private func step() {
        depth += 1
        defer { depth -= 1 }
        let byte = script.next()
        let stream = byte & 0x80 == 0 ? input : output
        switch Self.actions[Int(byte & 0x7F) % Self.actions.count] {
        case .open: stream.open()
        case .move: _ = move(stream, atMost: 1 + script.next(below: 24))
        case .ask: ask(stream)
        case .borrow: borrow(stream, script.next())
        case .schedule: schedule(stream, on: script.next(below: 3))
        // A read that is running would wait, and there is no other thread.
        case .unschedule: if stream.callDepth == 0 { stream.unschedule() }
        case .runJob: runJob(script.next(below: 2))
        case .close: stream.close()
        case .setOffset: setOffset(of: stream, script.next())
        case .callReadyCallback:
            let choice = script.next()
            stream.endpoint?.callReadyCallback(Int(choice & 7), keeps: choice & 0x80 != 0)
        case .completeOpening: stream.endpoint?.completeOpening(succeeds: script.next() & 1 == 0)
        case .release: stream.release()
        case .property: _ = (stream.input?.property(.currentOffset), stream.status, stream.error)
        }
    }

    /// Plays a step in a handler or in a function of an endpoint.
    func nestedStep() { if depth < Self.depthLimit, !script.isEmpty { step() } }

    func runJob(_ number: Int) {
        guard !isRunningJob[number], !jobs[number].isEmpty else { return }
        isRunningJob[number] = true
        jobs[number].removeFirst()()
        isRunningJob[number] = false
    }

    private func schedule(_ stream: PlayedStream, on number: Int) {
        guard !stream.isReleased else { return }
        let queue: DeliveryQueue = number == 0 ? .immediate : DeliveryQueue { [self] job in jobs[number - 1].append(job) }
        let wasClosed = stream.isClosed
        // Events can come before `schedule` returns.
        let handlerNumber = wasClosed ? 0 : stream.events.schedule()
        let error = stream.schedule(on: queue) { [self] event in didReceive(event, of: stream, handlerNumber) }
        let isExpected = wasClosed ? error?.code == .streamNotOpen : error == nil
        check(isExpected, "schedule of the \(stream.name) returned \(String(describing: error))")
    }

    private func ask(_ stream: PlayedStream) {
        let isScheduled = stream.events.handlerNumber != nil
        let status = stream.status
        let isReady = stream.askWhetherReady()
        // A full buffer is an error of the next write, and not of a query.
        if case .buffer = kind, !stream.isInput, !isScheduled { check(stream.status == status, "hasSpaceAvailable changed the status") }
        guard depth == 1, !isScheduled, stream.isInUse, stream.status != .error else { return }
        switch (kind, stream.isInput) {
        case (.memory(let total), true), (.buffer(let total, _), true):
            check(isReady == (stream.positions.position < total), "hasBytesAvailable is \(isReady)")
        case (.memory, false): check(isReady, "hasSpaceAvailable is \(isReady)")
        case (.buffer(_, let capacity), false):
            check(isReady == (stream.moved.all.count < capacity), "hasSpaceAvailable is \(isReady)")
        case (.pair, true): check(isReady == (unreadCount > 0), "hasBytesAvailable is \(isReady)")
        case (.pair(let capacity), false):
            if !input.isWrapped { check(isReady == (unreadCount < capacity), "hasSpaceAvailable is \(isReady)") }
        case (.scripted, _): break
        }
    }

    private func setOffset(of stream: PlayedStream, _ byte: UInt8) {
        let offset: Int64 = byte < 0xF0 ? Int64(byte % 64) : byte < 0xF8 ? -1 : .max
        guard let input = stream.input else {
            // A sink may have the property.
            try? stream.output?.setProperty(offset, for: .currentOffset)
            return
        }
        var isExpected: Bool?
        switch kind {
        case .memory(let total), .buffer(let total, _):
            isExpected = !stream.isWrapped && !stream.isClosed && 0...Int64(total) ~= offset
            // Events can come before `setProperty` returns.
            if isExpected == true { didChangeOffset(of: stream, to: Int(offset)) }
        case .pair: isExpected = false
        case .scripted: break
        }
        do throws(LoadError) {
            try input.setProperty(offset, for: .currentOffset)
            check(isExpected != false, "the offset \(offset) was set")
        } catch {
            check(isExpected != true, "the offset \(offset) was not set: \(error)")
        }
    }

    func didChangeOffset(of script: EndpointScript, to offset: Int) {
        didChangeOffset(of: input.endpoint === script ? input : output, to: offset)
    }

    private func didChangeOffset(of stream: PlayedStream, to offset: Int) {
        stream.events.resetReports()
        stream.positions.seek(to: offset)
    }
}
