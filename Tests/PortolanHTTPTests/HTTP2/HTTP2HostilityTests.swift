// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanHTTP

/// No bytes from a server end the process, and each transaction ends once.
@Suite struct HTTP2HostilityTests {
    private typealias F = ServerFrames

    private static let frames: [[UInt8]] = [
        F.headers([(":status", "200"), ("content-length", "10")]),
        F.headers([(":status", "103"), ("link", "</a>")]),
        F.headers([(":status", "200")], stream: 3, ends: true),
        F.headers([("x-a", "b")], ends: true),
        F.frame(1, flags: 0x2C, stream: 3, [0, 0, 0, 0, 1, 9] + F.fields([(":status", "204")])),
        F.frame(1, stream: 5, F.fields([(":status", "200")])),
        F.frame(9, flags: 4, stream: 5, F.fields([("x-a", "b")])),
        F.frame(1, flags: 5, stream: 5, [0x88, 0x3F, 0xE1, 0x1F, 0x40, 0x83, 0xF1, 0xE3, 0xC7]),
        F.data("hello"), F.data("hello", ends: true), F.data("", stream: 3), F.data("x", stream: 5, ends: true),
        F.padded("hello", padding: 9), F.padded("", padding: 0, stream: 5),
        F.frame(2, stream: 3, [0x80, 0, 0, 3, 255]),
        F.reset(0), F.reset(8, stream: 3), F.reset(7, stream: 5),
        F.settings([(1, 0), (3, 0), (4, 0), (5, 16384), (6, 1)]), F.settings([(3, 0xFFFF_FFFF), (4, 0x7FFF_FFFF), (5, 0xFF_FFFF)]),
        F.settings([(1, 0xFFFF_FFFF), (2, 1), (8, 1), (9, 9)]), F.settingsAcknowledgement,
        F.frame(5, flags: 4, stream: 1, F.number(2) + F.fields([(":method", "GET")])),
        F.frame(6, [1, 2, 3, 4, 5, 6, 7, 8]), F.frame(6, flags: 1, [1, 2, 3, 4, 5, 6, 7, 8]),
        F.goAway(last: 3), F.goAway(last: 0x7FFF_FFFF, code: 11), F.goAway(last: 0),
        F.windowUpdate(1, stream: 0), F.windowUpdate(0x7FFF_FFFF, stream: 1), F.windowUpdate(0, stream: 3),
        F.frame(10, [0, 2, 0x68, 0x32]), F.frame(12, [0, 1, 0x61]), F.frame(0xFE, flags: 0xFF, stream: 7, [1, 2, 3]),
    ]

    @Test(arguments: 0..<40)
    func framesInAnyOrderEndEachTransactionOnce(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<25 {
            let bytes = (0..<Int.random(in: 1...12, using: &generator)).flatMap { _ in Self.frames.randomElement(using: &generator) ?? [] }
            try checkEnds(bytes, mutations: 0, &generator)
        }
    }

    @Test(arguments: 0..<40)
    func framesWithWrongBytesEndEachTransactionOnce(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed &+ 1000)
        for _ in 0..<25 {
            let bytes = (0..<Int.random(in: 1...6, using: &generator)).flatMap { _ in Self.frames.randomElement(using: &generator) ?? [] }
            try checkEnds(bytes, mutations: Int.random(in: 1...4, using: &generator), &generator)
        }
    }

    private func checkEnds(_ input: [UInt8], mutations: Int, _ generator: inout SeededGenerator) throws {
        var bytes = input
        for _ in 0..<mutations {
            let index = Int.random(in: 0..<bytes.count, using: &generator)
            bytes[index] = UInt8.random(in: 0...255, using: &generator)
        }
        let server = try EmbeddedServer(sendsSettings: Bool.random(using: &generator))
        let transactions = [
            try RecordingTransaction(), try RecordingTransaction(.put, body: .bytes([UInt8](repeating: 1, count: 100_000))),
            try RecordingTransaction(.head),
        ]
        let streams = transactions.map { server.start($0) }
        transactions[0].flow = Bool.random(using: &generator) ? .pause : .keepGoing
        let cut = Int.random(in: 0...bytes.count, using: &generator)
        server.send(Array(bytes[..<cut]))
        let isCancelled = Int.random(in: 0..<4, using: &generator) == 0
        if isCancelled { streams[2].cancel() }
        server.send(Array(bytes[cut...]))
        let before = transactions.map(\.endCount)
        #expect(before.allSatisfy { $0 <= 1 })
        server.endConnection()
        while transactions[0].endCount == 0 {
            let count = transactions[0].events.count
            streams[0].resumeReading()
            if transactions[0].events.count == count { break }
        }
        for (index, transaction) in transactions.enumerated() {
            let isSilent = isCancelled && index == 2
            #expect(transaction.endCount == 1 || isSilent && transaction.endCount == 0, "\(bytes)")
        }
    }
}
