// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanHTTP

/// The client survives any bytes from a server, and each transaction ends once.
@Suite struct HTTP2HostilityTests {
    private typealias Frames = ServerFrames

    private static let frames: [[UInt8]] = [
        Frames.headers([(":status", "200"), ("content-length", "10")]),
        Frames.headers([(":status", "103"), ("link", "</a>")]),
        Frames.headers([(":status", "200")], stream: 3, endsStream: true),
        Frames.headers([("x-a", "b")], endsStream: true),
        Frames.frame(1, flags: 0x2C, stream: 3, [0, 0, 0, 0, 1, 9] + Frames.fields([(":status", "204")])),
        Frames.frame(1, stream: 5, Frames.fields([(":status", "200")])),
        Frames.frame(9, flags: 4, stream: 5, Frames.fields([("x-a", "b")])),
        Frames.frame(1, flags: 5, stream: 5, [0x88, 0x3F, 0xE1, 0x1F, 0x40, 0x83, 0xF1, 0xE3, 0xC7]),
        Frames.data("hello"), Frames.data("hello", endsStream: true), Frames.data("", stream: 3),
        Frames.data("x", stream: 5, endsStream: true),
        Frames.padded("hello", padding: 9), Frames.padded("", padding: 0, stream: 5),
        Frames.frame(2, stream: 3, [0x80, 0, 0, 3, 255]),
        Frames.reset(0), Frames.reset(8, stream: 3), Frames.reset(7, stream: 5),
        Frames.settings([(1, 0), (3, 0), (4, 0), (5, 16384), (6, 1)]),
        Frames.settings([(3, 0xFFFF_FFFF), (4, 0x7FFF_FFFF), (5, 0xFF_FFFF)]),
        Frames.settings([(1, 0xFFFF_FFFF), (2, 1), (8, 1), (9, 9)]), Frames.settingsAcknowledgement,
        Frames.frame(5, flags: 4, stream: 1, Frames.number(2) + Frames.fields([(":method", "GET")])),
        Frames.frame(6, [1, 2, 3, 4, 5, 6, 7, 8]), Frames.frame(6, flags: 1, [1, 2, 3, 4, 5, 6, 7, 8]),
        Frames.goAway(last: 3), Frames.goAway(last: 0x7FFF_FFFF, code: 11), Frames.goAway(last: 0),
        Frames.windowUpdate(1, stream: 0), Frames.windowUpdate(0x7FFF_FFFF, stream: 1), Frames.windowUpdate(0, stream: 3),
        Frames.frame(10, [0, 2, 0x68, 0x32]), Frames.frame(12, [0, 1, 0x61]), Frames.frame(0xFE, flags: 0xFF, stream: 7, [1, 2, 3]),
    ]

    @Test(arguments: 0..<40)
    func framesInAnyOrderEndEachTransactionOnce(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<25 {
            let bytes = (0..<Int.random(in: 1...12, using: &generator)).flatMap { _ in Self.frames.randomElement(using: &generator) ?? [] }
            try expectOneEndPerTransaction(bytes, mutations: 0, &generator)
        }
    }

    @Test(arguments: 0..<40)
    func framesWithWrongBytesEndEachTransactionOnce(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed &+ 1000)
        for _ in 0..<25 {
            let bytes = (0..<Int.random(in: 1...6, using: &generator)).flatMap { _ in Self.frames.randomElement(using: &generator) ?? [] }
            try expectOneEndPerTransaction(bytes, mutations: Int.random(in: 1...4, using: &generator), &generator)
        }
    }

    /// Sends the bytes in two pieces, and expects that each transaction ends once.
    ///
    /// - Parameter mutations: the number of bytes that are replaced by random ones.
    private func expectOneEndPerTransaction(_ input: [UInt8], mutations: Int, _ generator: inout SeededGenerator) throws {
        var bytes = input
        for _ in 0..<mutations {
            let index = Int.random(in: 0..<bytes.count, using: &generator)
            bytes[index] = UInt8.random(in: 0...255, using: &generator)
        }
        let server = try HTTP2ConnectionFixture(sendsSettings: Bool.random(using: &generator))
        let transactions = [
            try RecordingTransaction(), try RecordingTransaction(.put, body: .bytes([UInt8](repeating: 1, count: 100_000))),
            try RecordingTransaction(.head),
        ]
        let streams = transactions.map { server.start($0) }
        transactions[0].flow = Bool.random(using: &generator) ? .pause : .keepGoing
        let splitIndex = Int.random(in: 0...bytes.count, using: &generator)
        server.send(Array(bytes[..<splitIndex]))
        let isCancelled = Int.random(in: 0..<4, using: &generator) == 0
        if isCancelled { streams[2].cancel() }
        server.send(Array(bytes[splitIndex...]))
        let endCounts = transactions.map(\.endCount)
        #expect(endCounts.allSatisfy { $0 <= 1 })
        server.endConnection()
        while transactions[0].endCount == 0 {
            let count = transactions[0].events.count
            streams[0].resumeReading()
            if transactions[0].events.count == count { break }
        }
        for (index, transaction) in transactions.enumerated() {
            let mayStaySilent = isCancelled && index == 2
            #expect(transaction.endCount == 1 || mayStaySilent && transaction.endCount == 0, "\(bytes)")
        }
    }
}
