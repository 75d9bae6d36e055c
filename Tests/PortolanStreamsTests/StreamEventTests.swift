// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import PortolanCore
import PortolanRunLoop
import PortolanStreams
import PortolanTestSupport
import Synchronization
import TestThreads
import Testing

@Suite(.blocking, .timeLimit(.minutes(2))) struct StreamEventTests {
    private let folder: StreamFixture

    init() throws { folder = try StreamFixture() }

    enum Queue: CaseIterable {
        case serial, background, immediate

        var queue: DeliveryQueue {
            switch self {
            case .serial:
                let queue = DispatchQueue(label: "org.portolan.test.streams")
                return DeliveryQueue { queue.async(execute: $0) }
            case .background: return .background
            case .immediate: return .immediate
            }
        }
    }

    // MARK: Reading

    @Test(arguments: InputKind.allCases, Queue.allCases)
    func eventsLeadThroughTheStream(kind: InputKind, queue: Queue) throws {
        let bytes = numberedBytes(kind == .slow || kind == .early ? 100 : kind == .tinyBoundPair ? 500 : 3000)
        let stream = try kind.make(bytes, in: folder)
        let log = EventLog()
        let all = Mutex<[UInt8]>([])
        try stream.schedule(on: queue.queue) { stream, event in
            log.record(event) {
                guard event == .bytesAvailable else { return }
                let part = try? stream.read(atMost: 700)
                #expect(part?.isEmpty == false)
                all.withLock { $0 += part ?? [] }
            }
        }
        stream.open()
        log.waitForEnd()
        #expect(all.withLock { $0 } == bytes)
        #expect(log.overlapCount == 0)
        let events = log.events
        #expect(events.first == .openCompleted && events.last == .endEncountered)
        #expect(events.dropFirst().dropLast().allSatisfy { $0 == .bytesAvailable })
        #expect(stream.status == .atEnd)
    }

    @Test(arguments: InputKind.allCases)
    func eventIsNotRepeatedBeforeARead(kind: InputKind) throws {
        let stream = try kind.make(numberedBytes(10), in: folder)
        let log = EventLog()
        let queue = DispatchQueue(label: "org.portolan.test.streams")
        try stream.schedule(on: DeliveryQueue { queue.async(execute: $0) }) { _, event in log.record(event) }
        stream.open()
        log.wait { $0.count == 2 }
        // Jobs that are already on the queue run before this one.
        for _ in 1...100 { queue.sync {} }
        #expect(log.events == [.openCompleted, .bytesAvailable])
        // Queries are not responses.
        #expect(stream.hasBytesAvailable && stream.status == .open)
        for _ in 1...100 { queue.sync {} }
        #expect(log.events.count == 2)
        let first = try stream.read(atMost: 1)
        log.wait { $0.count == 3 }
        #expect(first == [0] && log.events.last == .bytesAvailable)
    }

    @Test(arguments: InputKind.allCases, 0...4)
    func noEventAfterClose(kind: InputKind, closingEvent: Int) throws {
        let stream = try kind.make(numberedBytes(100), in: folder)
        let log = EventLog()
        let queue = DispatchQueue(label: "org.portolan.test.streams")
        try stream.schedule(on: DeliveryQueue { queue.async(execute: $0) }) { stream, event in
            if log.events.count == closingEvent { stream.close() }
            if event == .bytesAvailable { _ = try? stream.read(atMost: 10) }
            log.record(event)
        }
        stream.open()
        log.wait { $0.count == closingEvent + 1 || $0.last == .endEncountered }
        for _ in 1...100 { queue.sync {} }
        #expect(log.events.count == closingEvent + 1)
        #expect(stream.status == .closed)
    }

    @Test func laterHandlerReceivesWhatTheEarlierDidNotHandle() throws {
        let stream = ByteInputStream([1, 2])
        let (first, second) = (EventLog(), EventLog())
        try stream.schedule(on: .background) { _, event in first.record(event) }
        stream.open()
        first.wait { $0 == [.openCompleted, .bytesAvailable] }
        try stream.schedule(on: .background) { stream, event in
            second.record(event) { if event == .bytesAvailable { _ = try? stream.read(atMost: 1) } }
        }
        second.waitForEnd()
        #expect(second.events == [.bytesAvailable, .bytesAvailable, .endEncountered])
        #expect(first.events.count == 2)
    }

    @Test func unscheduledStreamReportsNothing() throws {
        let (input, output) = ByteInputStream.boundPair()
        let log = EventLog()
        let queue = DispatchQueue(label: "org.portolan.test.streams")
        try input.schedule(on: DeliveryQueue { queue.async(execute: $0) }) { _, event in log.record(event) }
        input.open()
        output.open()
        log.wait { $0 == [.openCompleted] }
        input.unschedule()
        try output.write(all: [1, 2])
        for _ in 1...100 { queue.sync {} }
        #expect(log.events.count == 1)
        // A stream without a handler can be polled.
        #expect(try input.read(atMost: 1) == [1])
        try input.schedule(on: DeliveryQueue { queue.async(execute: $0) }) { _, event in log.record(event) }
        log.wait { $0.last == .bytesAvailable }
        #expect(log.events == [.openCompleted, .bytesAvailable])
    }

    @Test func readThatWouldWaitIsAnErrorWhileEventsAreReported() throws {
        let (input, output) = ByteInputStream.boundPair()
        input.open()
        output.open()
        try input.schedule(on: .background) { _, _ in }
        #expect { try input.read(atMost: 1) } throws: {
            let error = $0 as? LoadError
            return error?.code == .streamInUse && error?.message.contains("unschedule()") == true
        }
        #expect(input.status == .open && input.error == nil)
        input.unschedule()
        try output.write(all: [3])
        #expect(try input.read(atMost: 1) == [3])
    }

    @Test func taskCannotReadWhileEventsAreReported() async throws {
        let (input, output) = ByteInputStream.boundPair()
        input.open()
        output.open()
        try input.schedule(on: .background) { _, _ in }
        await #expect { try await input.chunks().first { _ in true } } throws: { ($0 as? LoadError)?.code == .streamInUse }
        #expect(output.status == .open)
    }

    @Test func failedOpenIsTheOnlyEvent() throws {
        let stream = ByteInputStream(path: folder.path(of: "missing"))
        let log = EventLog()
        try stream.schedule(on: .background) { _, event in log.record(event) }
        stream.open()
        log.waitForEnd()
        guard case .errorOccurred(let error) = log.events.first else { return #expect(Bool(false), "\(log.events)") }
        #expect(error.code == .notFound && log.events.count == 1)
    }

    @Test func endIsReportedAgainAfterTheOffsetWasSet() throws {
        let stream = ByteInputStream([1])
        let log = EventLog()
        try stream.schedule(on: .background) { stream, event in
            if event == .bytesAvailable { _ = try? stream.read(atMost: 9) }
            log.record(event)
        }
        stream.open()
        log.waitForEnd()
        try stream.setProperty(0, for: .currentOffset)
        log.wait { $0.count == 5 }
        #expect(log.events == [.openCompleted, .bytesAvailable, .endEncountered, .bytesAvailable, .endEncountered])
    }

    // MARK: Writing

    @Test(arguments: OutputKind.allCases, Queue.allCases)
    func eventsLeadThroughTheWrites(kind: OutputKind, queue: Queue) async throws {
        let bytes = numberedBytes(kind == .tinyBoundPair ? 2000 : 150_000)
        let (stream, finish) = try kind.make(in: folder)
        let log = EventLog()
        let count = Mutex(0)
        let isComplete = ConditionLock(false)
        try stream.schedule(on: queue.queue) { stream, event in
            log.record(event) {
                guard event == .spaceAvailable else { return }
                let start = count.withLock { $0 }
                let written = (try? stream.write(Array(bytes[start...].prefix(9000)).span)) ?? 0
                #expect(written > 0)
                count.withLock { $0 += written }
                if start + written == bytes.count {
                    stream.unschedule()
                    isComplete.withLockBroadcasting { $0 = true }
                }
            }
        }
        stream.open()
        isComplete.wait { $0 ? () : nil }
        #expect(try await finish() == bytes)
        #expect(log.overlapCount == 0 && log.events.first == .openCompleted)
    }

    @Test func fullBufferIsReported() throws {
        let stream = ByteOutputStream.toBuffer(capacity: 2)
        let log = EventLog()
        try stream.schedule(on: .background) { stream, event in
            log.record(event) { if event == .spaceAvailable { _ = try? stream.write([9].span) } }
        }
        stream.open()
        log.waitForEnd()
        #expect(log.events.count == 4 && stream.error?.code == .streamFull)
        #expect(stream.property(.writtenBytes) == [9, 9])
    }

    // MARK: Run loops

    @Test func eventsComeOnTheRunLoopInItsMode() async throws {
        let mode = RunLoop.Mode("org.portolan.test")
        let events = try await inOwnThread {
            let thread = ObjectIdentifier(Thread.current)
            let log = EventLog()
            let stream = ByteInputStream(numberedBytes(10))
            try stream.schedule(on: DeliveryQueue(.current, modes: [mode])) { stream, event in
                #expect(ObjectIdentifier(Thread.current) == thread)
                log.record(event) { if event == .bytesAvailable { _ = try? stream.read(atMost: 6) } }
            }
            stream.open()
            while log.events.last != .endEncountered { _ = RunLoop.current.run(mode: mode, before: .distantFuture) }
            return log.events
        }
        #expect(events == [.openCompleted, .bytesAvailable, .bytesAvailable, .endEncountered])
    }

    // MARK: Many

    @Test func thousandStreamsAtOnce() throws {
        let bytes = numberedBytes(600)
        let ends = ConditionLock((count: 0, wrong: 0))
        let streams = try (0..<1000).map { _ in
            let (input, output) = ByteInputStream.boundPair(bufferSize: 100)
            let received = Mutex<[UInt8]>([])
            let sent = Mutex(0)
            try input.schedule(on: .background) { stream, event in
                if event == .bytesAvailable, let part = try? stream.read(atMost: 64) { received.withLock { $0 += part } }
                if event.isLast {
                    let isRight = received.withLock { $0 } == bytes && event == .endEncountered
                    ends.withLockBroadcasting { ends in
                        ends.count += 1
                        if !isRight { ends.wrong += 1 }
                    }
                }
            }
            try output.schedule(on: .background) { stream, event in
                guard event == .spaceAvailable else { return }
                let start = sent.withLock { $0 }
                guard start < bytes.count else { return stream.close() }
                let count = (try? stream.write(Array(bytes[start...]).span)) ?? 0
                sent.withLock { $0 += count }
            }
            return (input, output)
        }
        for (input, output) in streams {
            input.open()
            output.open()
        }
        ends.wait { $0.count == streams.count ? () : nil }
        #expect(ends.withLock { $0.wrong } == 0)
    }

    /// Random calls on a bound pair, while events are reported. Bytes keep their order, and each event arrives.
    @Test(arguments: 1...60)
    func randomCalls(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let (input, output) = ByteInputStream.boundPair(bufferSize: Int.random(in: 1...20, using: &random))
        let all = Mutex<[UInt8]>([])
        let log = EventLog()
        let reader = DispatchQueue(label: "org.portolan.test.streams")
        let queue = DeliveryQueue { reader.async(execute: $0) }
        let size = Int.random(in: 1...8, using: &random)
        let handler: @Sendable (ByteInputStream, StreamEvent) -> Void = { stream, event in
            log.record(event) {
                guard event == .bytesAvailable, let part = try? stream.read(atMost: size) else { return }
                all.withLock { $0 += part }
            }
        }
        input.open()
        output.open()
        var sent: [UInt8] = []
        var isScheduled = false
        for _ in 1...200 {
            switch Int.random(in: 0...5, using: &random) {
            case 0:
                try input.schedule(on: queue, handler)
                isScheduled = true
            case 1:
                reader.sync { input.unschedule() }
                isScheduled = false
            case 2: _ = input.hasBytesAvailable
            case 3 where !isScheduled && input.hasBytesAvailable: all.withLock { $0 += (try? input.read(atMost: size)) ?? [] }
            default:
                guard output.hasSpaceAvailable else { continue }
                let bytes = random.bytes(Int.random(in: 1...12, using: &random))
                sent += bytes.prefix(try output.write(bytes.span))
            }
        }
        reader.sync { input.unschedule() }
        output.close()
        try input.schedule(on: queue, handler)
        log.waitForEnd()
        #expect(all.withLock { $0 } == sent)
        #expect(log.overlapCount == 0)
        #expect(log.events.count { $0.isLast } == 1 && log.events.last == .endEncountered)
    }
}
