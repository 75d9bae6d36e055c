// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Violations of `portolan.watch/1`, and their effects.
@Suite(.timeLimit(.minutes(10))) struct WatchRuleTests {
    /// State that the plugin's functions share with the test, because C functions cannot capture values. The tests that
    /// use one recorder run one after another.
    private final class Recorder: Sendable {
        let descriptor = ConditionLock<CInt>(-1)
        let results = ConditionLock<[Int32]>([])
        let calls = ConditionLock<[String]>([])

        func reset(_ descriptor: CInt = -1) {
            self.descriptor.withLock { $0 = descriptor }
            results.withLock { $0 = [] }
            calls.withLock { $0 = [] }
        }

        func record(_ call: String) { calls.withLockBroadcasting { $0.append(call) } }
        func record(_ result: Int32) { results.withLock { $0.append(result) } }
    }

    @Suite(.serialized, .timeLimit(.minutes(10))) struct WatchResults {
        private static let recorder = Recorder()
        private static var number: CInt { recorder.descriptor.withLock { $0 } }

        private func run(_ start: @escaping InProcessPlugin.Function, on descriptor: CInt = -1) throws -> [Int32] {
            Self.recorder.reset(descriptor)
            let plugin = unsafe try InProcessPlugin(start: start)
            let load = try TestHandlerLoad(plugin.handler, Request("inside:1"))
            load.run()
            plugin.waitUntilIdle()
            #expect(load.client.events.last == .finished)
            #expect(load.violations.isEmpty)
            return Self.recorder.results.withLock { $0 }
        }

        @Test func closedDescriptorIsAnError() throws {
            let results = unsafe try run { load in
                let client = unsafe WatchingClient(load)
                for number: CInt in [-1, .max, 1 << 20] { WatchResults.recorder.record(client.watch(number, 1)) }
                client.respond()
                client.finish()
            }
            #expect(results == [EBADF, EBADF, EBADF])
        }

        @Test func regularFileIsAnError() throws {
            let file = unsafe open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
            defer { close(file) }
            let results = unsafe try run(
                { load in
                    let client = unsafe WatchingClient(load)
                    WatchResults.recorder.record(client.watch(WatchResults.number, 1))
                    client.respond()
                    client.finish()
                }, on: file)
            #expect(results == [EPERM])
        }

        @Test func watchAboveTheLimitIsAnError() throws {
            let pair = try WatchedSocketPair()
            let results = unsafe try run(
                { load in
                    let client = unsafe WatchingClient(load)
                    let copies = (0..<DescriptorWatches.limit + 1).map { _ in dup(WatchResults.number) }
                    for copy in copies { WatchResults.recorder.record(client.watch(copy, 1)) }
                    // After one watch is removed, the load can watch another descriptor.
                    client.unwatch(copies[0])
                    WatchResults.recorder.record(client.watch(copies[DescriptorWatches.limit], 1))
                    client.respond()
                    client.finish()
                    for copy in copies { close(copy) }
                }, on: pair.pluginSocket)
            #expect(results == Array(repeating: 0, count: DescriptorWatches.limit) + [EMFILE, 0])
        }

        /// Two loads watch the same descriptor. The load that watched it first continues, and the second load gets an
        /// error.
        @Test func descriptorOfAnotherLoadIsAnError() throws {
            let pair = try WatchedSocketPair()
            let otherWatches = DescriptorWatches(whenReady: {}, whenClosed: { _ in })
            #expect(otherWatches.watch(pair.pluginSocket, for: .readable) == 0)
            let results = unsafe try run(
                { load in
                    let client = unsafe WatchingClient(load)
                    WatchResults.recorder.record(client.watch(WatchResults.number, 1))
                    client.unwatch(WatchResults.number)
                    client.respond()
                    client.finish()
                }, on: pair.pluginSocket)
            #expect(results == [EBUSY])
            #expect(otherWatches.watch(pair.pluginSocket, for: .readable) == 0)
            otherWatches.giveUp()
        }

        @Test func endedLoadCannotWatch() throws {
            let pair = try WatchedSocketPair()
            let results = unsafe try run(
                { load in
                    let client = unsafe WatchingClient(load)
                    client.respond()
                    client.finish()
                    WatchResults.recorder.record(client.watch(WatchResults.number, 1))
                    WatchResults.recorder.record(client.setTimer(0, 0))
                }, on: pair.pluginSocket)
            #expect(results == [-1, -1])
        }
    }

    // MARK: Violations

    private func expectViolation(_ plugin: InProcessPlugin, _ errorText: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let load = try TestHandlerLoad(plugin.handler, Request("inside:1"))
        load.run()
        plugin.waitUntilIdle()
        let error = load.client.error
        #expect(error?.code == .protocolViolation, sourceLocation: sourceLocation)
        #expect(error?.message.contains(errorText) == true, "\(error?.message ?? "")", sourceLocation: sourceLocation)
    }

    @Test func blockingLoadCannotWatch() throws {
        try expectViolation(unsafe InProcessPlugin(run: { _ = unsafe WatchingClient($0).watch(0, 1) }), "WATCH-01")
        try expectViolation(unsafe InProcessPlugin(run: { _ = unsafe WatchingClient($0).setTimer(0, 1) }), "WATCH-01")
    }

    @Test func unknownBitsAndTimersAreViolations() throws {
        try expectViolation(
            unsafe InProcessPlugin(start: { _ = unsafe WatchingClient($0).watch(0, 0) }), "WATCH-02: a descriptor was watched for 0")
        try expectViolation(
            unsafe InProcessPlugin(start: { _ = unsafe WatchingClient($0).watch(0, 9) }), "WATCH-02: a descriptor was watched for 9")
        try expectViolation(unsafe InProcessPlugin(start: { _ = unsafe WatchingClient($0).setTimer(8, 1) }), "WATCH-02: timer 8 was set")
        try expectViolation(unsafe InProcessPlugin(start: { _ = unsafe WatchingClient($0).setTimer(-1, 1) }), "WATCH-02: timer -1 was set")
    }

    @Suite(.serialized, .timeLimit(.minutes(10))) struct Closing {
        private static let recorder = Recorder()

        /// The number of a closed descriptor can belong to another one, so the load receives no more events. The log
        /// reports the violation.
        @Test func closingAWatchedDescriptorIsReported() throws {
            let pair = try WatchedSocketPair()
            let log = RecordingLog()
            Self.recorder.reset(pair.pluginSocket)
            let plugin = unsafe try InProcessPlugin(
                start: { load in
                    let client = unsafe WatchingClient(load)
                    let copy = dup(Closing.recorder.descriptor.withLock { $0 })
                    _ = client.watch(copy, 1)
                    close(copy)
                    client.respond()
                    client.finish()
                }, logger: log.logger)
            let load = try TestHandlerLoad(plugin.handler, Request("inside:1"))
            load.run()
            plugin.waitUntilIdle()
            #expect(load.client.events.last == .finished)
            #expect(log.all.count { $0.contains("WATCH-03") } == 1, "\(log.all)")
        }
    }

    // MARK: Pauses

    @Suite(.serialized, .timeLimit(.minutes(10))) struct Pauses {
        private static let recorder = Recorder()

        @Test func pauseDelaysReadableButNotTimers() throws {
            let pair = try WatchedSocketPair()
            pair.send("x")
            Self.recorder.reset(pair.pluginSocket)
            let plugin = unsafe try InProcessPlugin(
                start: { load in
                    let client = unsafe WatchingClient(load)
                    client.respond()
                    _ = client.watch(Pauses.recorder.descriptor.withLock { $0 }, 1)
                    _ = client.setTimer(0, 20)
                },
                resume: { _ in Pauses.recorder.record("resume") },
                woken: { load in
                    let client = unsafe WatchingClient(load)
                    if client.fired(0) { return Pauses.recorder.record("timer") }
                    Pauses.recorder.record("readable \(client.ready(Pauses.recorder.descriptor.withLock { $0 }))")
                    client.finish()
                })
            let client = RecordingClient { _, event in event.isEnd ? .keepGoing : .pause }
            let load = try TestHandlerLoad(plugin.handler, Request("inside:1"), client: client)
            load.start()
            Self.recorder.calls.wait { $0.isEmpty ? nil : () }
            load.handlerLoad.resume()
            load.waitUntilEnded()
            plugin.waitUntilIdle()
            #expect(Self.recorder.calls.withLock { $0 } == ["timer", "resume", "readable 1"])
        }
    }

    // MARK: Fairness

    @Suite(.serialized, .timeLimit(.minutes(10))) struct Fairness {
        private static let recorder = Recorder()

        /// As many loads as a plugin has threads wake themselves forever. The host still calls another load of the
        /// plugin.
        @Test func loadsThatWakeThemselvesDoNotStarveOthers() throws {
            Self.recorder.reset(0)
            let plugin = unsafe try InProcessPlugin(
                start: { load in
                    let client = unsafe WatchingClient(load)
                    // Counts the started loads.
                    let number = Fairness.recorder.descriptor.withLockBroadcasting { number in
                        defer { number += 1 }
                        return number
                    }
                    guard number >= HelperThreads.limit else { return client.wake() }
                    client.respond()
                    client.finish()
                },
                woken: { unsafe WatchingClient($0).wake() })
            let spinningLoads = try (0..<HelperThreads.limit).map { _ in try TestHandlerLoad(plugin.handler, Request("inside:1")) }
            for load in spinningLoads { load.start() }
            Self.recorder.descriptor.wait { $0 >= HelperThreads.limit ? () : nil }
            let load = try TestHandlerLoad(plugin.handler, Request("inside:1"))
            load.run()
            #expect(load.client.events.last == .finished)
            for load in spinningLoads { load.handlerLoad.end(with: PluginCancelTests.cancelled) }
            plugin.waitUntilIdle()
        }
    }
}

/// A load's client with its functions for watches.
@safe
private struct WatchingClient {
    private let client: UnsafeMutablePointer<portolan_client>

    init(_ load: UnsafeMutableRawPointer) { unsafe client = load.client }

    func respond() { unsafe client.respond() }
    func finish() { unsafe client.finish() }
    func wake() { unsafe client.pointee.wake(client) }
    func watch(_ descriptor: CInt, _ readiness: Int32) -> Int32 { unsafe WatchTable.pointer.pointee.watch(client, descriptor, readiness) }
    func ready(_ descriptor: CInt) -> Int32 { unsafe WatchTable.pointer.pointee.ready(client, descriptor) }
    func unwatch(_ descriptor: CInt) { unsafe WatchTable.pointer.pointee.unwatch(client, descriptor) }
    func setTimer(_ timer: Int32, _ delay: Int64) -> Int32 { unsafe WatchTable.pointer.pointee.set_timer(client, timer, delay) }
    func fired(_ timer: Int32) -> Bool { unsafe WatchTable.pointer.pointee.fired(client, timer) != 0 }
}
