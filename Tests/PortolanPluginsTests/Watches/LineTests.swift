// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The fixture `line`, a network plugin without a thread. The host watches its socket and timers.
@Suite(.timeLimit(.minutes(10))) struct LineTests {
    private let plugin: Plugin

    init() throws { plugin = try Fixtures.plugin("line") }

    private func makeLoad(_ pair: WatchedSocketPair, _ pathAndQuery: String = "word", _ client: RecordingClient = RecordingClient()) throws
        -> TestHandlerLoad
    {
        try TestHandlerLoad(plugin, "line://fd:\(pair.pluginSocket)/\(pathAndQuery)", client: client)
    }

    /// Waits for the end of a load, and checks that it has no violations.
    private func end(_ load: TestHandlerLoad, sourceLocation: SourceLocation = #_sourceLocation) {
        load.waitUntilEnded()
        plugin.waitUntilIdle()
        #expect(load.violations.isEmpty, sourceLocation: sourceLocation)
    }

    @Test func laterDataOfThePeerIsDelivered() throws {
        let pair = try WatchedSocketPair()
        let load = try makeLoad(pair)
        load.start()
        #expect(WatchedSocketPair.line(from: pair.testSocket) == "word")
        load.client.wait { $0.last == .response(nil) }
        pair.send("one\ntw")
        load.client.wait { $0.last == .data(4) }
        pair.send("o\n.\n")
        end(load)
        #expect(load.client.events.suffix(3) == [.data(4), .data(4), .finished])
        #expect(load.client.text == "one\ntwo\n")
    }

    @Test func lineMayArriveByteByByte() throws {
        let pair = try WatchedSocketPair()
        let load = try makeLoad(pair)
        load.start()
        _ = WatchedSocketPair.line(from: pair.testSocket)
        for character in "one\ntwo\n.\n" { pair.send(String(character)) }
        end(load)
        #expect(load.client.text == "one\ntwo\n")
    }

    @Test func loadWaitsForTheConnection() throws {
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        let port = try Self.listen(on: listener)
        let load = try TestHandlerLoad(plugin, "line://127.0.0.1:\(port)/there")
        load.start()
        let peer = accept(listener, nil, nil)
        defer { close(peer) }
        #expect(WatchedSocketPair.line(from: peer) == "there")
        WatchedSocketPair.send("yes\n.\n", to: peer)
        end(load)
        #expect(load.client.text == "yes\n")
    }

    @Test func refusedConnectionFailsTheLoad() throws {
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        let port = try Self.listen(on: listener, backlog: nil)
        defer { close(listener) }
        let load = try TestHandlerLoad(plugin, "line://127.0.0.1:\(port)/there")
        load.run()
        end(load)
        #expect(load.client.error?.code == .cannotConnect)
    }

    private static func listen(on socket: CInt, backlog: CInt? = 8) throws -> UInt16 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        try unsafe withUnsafeMutablePointer(to: &address) { pointer in
            try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                try #require(unsafe bind(socket, pointer, length) == 0)
                if let backlog {
                    #if canImport(Glibc)
                        try #require(Glibc.listen(socket, backlog) == 0)
                    #else
                        try #require(Musl.listen(socket, backlog) == 0)
                    #endif
                }
                try #require(unsafe getsockname(socket, pointer, &length) == 0)
            }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    @Test func peerThatClosesEarlyFailsTheLoad() throws {
        let pair = try WatchedSocketPair()
        let load = try makeLoad(pair)
        load.start()
        _ = WatchedSocketPair.line(from: pair.testSocket)
        pair.send("one\nhal")
        load.client.wait { $0.last == .data(4) }
        shutdown(pair.testSocket, CInt(SHUT_WR))
        end(load)
        #expect(load.client.error?.code == .truncated)
    }

    // MARK: Timers

    @Test(arguments: [0, 1, 3])
    func timersWakeTheLoad(_ intervalMilliseconds: Int) throws {
        let load = try TestHandlerLoad(plugin, "line://ticks:5/?every=\(intervalMilliseconds)")
        let clock = ContinuousClock()
        let startTime = clock.now
        load.run()
        end(load)
        #expect(load.client.text == String(repeating: "tick\n", count: 5))
        #expect(clock.now - startTime >= .milliseconds(5 * intervalMilliseconds), "a timer is never early")
    }

    @Test func idleTimerEndsALoadThatReceivesNoLine() throws {
        let pair = try WatchedSocketPair()
        let load = try makeLoad(pair, "word?idle=30")
        load.start()
        end(load)
        #expect(load.client.error?.code == .timedOut)
    }

    // MARK: Stops and pauses

    @Test func stopWhileWaitingClosesTheSocket() throws {
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        let load = try TestHandlerLoad(plugin, "line://127.0.0.1:\(Self.listen(on: listener))/word?idle=60000")
        load.start()
        let peer = accept(listener, nil, nil)
        defer { close(peer) }
        #expect(WatchedSocketPair.line(from: peer) == "word")
        load.handlerLoad.end(with: PluginCancelTests.cancelled)
        plugin.waitUntilIdle()
        #expect(WatchedSocketPair.line(from: peer) == "", "the plugin closed its end")
        #expect(load.client.events.last == .failed(PluginCancelTests.cancelled))
    }

    @Test func pausingAtEveryDeliveryLosesNothing() throws {
        let pair = try WatchedSocketPair()
        let lines = (0..<50).map { "line \($0)\n" }.joined()
        pair.send(lines + ".\n")
        let client = RecordingClient { _, event in event.isEnd ? .keepGoing : .pause }
        let load = try makeLoad(pair, "word", client)
        load.start()
        var eventCount = 0
        while client.events.last?.isEnd != true {
            client.wait { $0.count > eventCount }
            eventCount = client.events.count
            load.handlerLoad.resume()
        }
        end(load)
        #expect(client.text == lines)
        #expect(client.events.last == .finished)
    }

    // MARK: Many loads

    @Test func twoHundredWaitingLoadsNeedNoThreads() throws {
        let pairs = try (0..<200).map { _ in try WatchedSocketPair() }
        let loads = try pairs.enumerated().map { number, pair in try makeLoad(pair, "\(number)") }
        for load in loads { load.start() }
        var random = SeededGenerator(seed: 3)
        // All loads now wait for their peers.
        for (number, pair) in pairs.enumerated() { #expect(WatchedSocketPair.line(from: pair.testSocket) == "\(number)") }
        for round in 0..<5 { for number in pairs.indices.shuffled(using: &random) { pairs[number].send("\(number) in \(round)\n") } }
        for (number, load) in loads.enumerated() where number % 3 == 0 { load.handlerLoad.end(with: PluginCancelTests.cancelled) }
        for pair in pairs { pair.send(".\n") }
        for (number, load) in loads.enumerated() {
            load.waitUntilEnded()
            #expect(load.violations.isEmpty)
            guard number % 3 != 0 else { continue }
            #expect(load.client.text == (0..<5).map { "\(number) in \($0)\n" }.joined())
        }
        plugin.waitUntilIdle()
    }
}
