// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import Foundation
    import PortolanCookies
    import PortolanCore
    import PortolanHSTS
    import PortolanTestSupport
    import TestThreads
    import Testing

    @testable import PortolanStore

    /// Tests several users of one folder: in this process, which has a connection for each, and in others.
    @Suite(.blocking, .timeLimit(.minutes(3))) struct SharedFolderTests {
        private let fixture: StateFixture

        init() throws { fixture = try StateFixture() }

        @Test func changesOfTheOtherAreSeen() throws {
            let (first, second) = (try fixture.open(), try fixture.open())
            try first.cookies.set(.test(1))
            #expect(second.cookies.wait { $0.cookies.map(\.name) == ["n1"] })
            try second.cookies.set(.test(1, value: "new"))
            #expect(first.cookies.wait { $0.cookies.map(\.value) == ["new"] })
            second.cookies.delete(.test(1))
            #expect(first.cookies.wait { $0.cookies.isEmpty })
            #expect(second.cookies.cookies.isEmpty)
        }

        @Test func hostsOfTheOtherAreSeen() throws {
            let (first, second) = (try fixture.open(), try fixture.open())
            first.strictTransportSecurity.set(.init(name: "a.example"))
            try first.waitForFlush()
            // A flush also reads.
            try second.waitForFlush()
            #expect(second.strictTransportSecurity.allHosts.map(\.name) == ["a.example"])
            second.strictTransportSecurity.removeAll()
            try second.waitForFlush()
            try first.waitForFlush()
            #expect(first.strictTransportSecurity.allHosts.isEmpty)
        }

        /// The session cookies of one are its own.
        @Test func sessionCookieOfTheOtherIsNotSeen() throws {
            let (first, second) = (try fixture.open(), try fixture.open())
            try first.cookies.set(Cookie(name: "s", value: "1", domain: "example.org"))
            try second.cookies.set(.test(1))
            #expect(first.cookies.wait { $0.cookies.count == 2 })
            second.cookies.removeAll()
            #expect(first.cookies.wait { $0.cookies.map(\.name) == ["s"] })
            #expect(second.cookies.cookies.isEmpty)
        }

        @Test func observersHearOfTheOthersChanges() throws {
            let (first, second) = (try fixture.open(), try fixture.open())
            let changes = ConditionLock<[CookieStorage.Change]>([])
            let observation = second.cookies.observe { new in changes.withLockBroadcasting { $0 += new } }
            let cookie = Cookie.test(1)
            try first.cookies.set(cookie)
            let seen = changes.wait(atMost: .seconds(30)) { $0.isEmpty ? nil : $0 }
            #expect(seen?.count == 1)
            withExtendedLifetime(observation) {}
        }

        /// Both write at the same time, and nothing is lost.
        @Test func bothWriteAtOnce() async throws {
            let (first, second) = (try fixture.open(), try fixture.open())
            async let one: Void = inOwnThread {
                for number in 0..<200 {
                    try first.cookies.set(.test(number))
                    if number % 20 == 0 { try first.waitForFlush() }
                }
            }
            async let other: Void = inOwnThread {
                for number in 200..<400 {
                    try second.cookies.set(.test(number))
                    if number % 20 == 0 { try second.waitForFlush() }
                }
            }
            _ = try await (one, other)
            #expect(first.cookies.wait { $0.cookies.count == 400 })
            #expect(second.cookies.wait { $0.cookies.count == 400 })
            let expected = Set((0..<400).map { "n\($0)" })
            #expect(Set(first.cookies.cookies.map(\.name)) == expected && Set(second.cookies.cookies.map(\.name)) == expected)
        }

        @Test func manyOpenANewFolderAtOnce() async throws {
            let path = fixture.path
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<12 {
                    group.addTask {
                        let state = try await StateFolder.open(path)
                        try state.cookies.set(.test(number))
                        try await state.flush()
                    }
                }
                try await group.waitForAll()
            }
            #expect(Set(try fixture.cookieNames()) == Set((0..<12).map { "n\($0)" }))
            #expect(try fixture.files.allSatisfy { !$0.contains("corrupt") })
        }

        // MARK: Other processes

        @Test func cookiesOfAnotherProcessAreSeen() throws {
            let state = try fixture.open()
            let writer = try Writer(fixture.path, first: 0)
            let last = try writer.readLines(20)
            #expect(state.cookies.wait { cookies in cookies.cookies.contains { $0.name == "n\(last)" } })
            writer.kill()
        }

        /// A process may end at any moment. Cookies whose write was reported are there, and the file is whole.
        @Test func killedWriterLosesNothing() throws {
            var generator = SeededGenerator(seed: 9)
            var next = 0
            for round in 0..<100 {
                let writer = try Writer(fixture.path, first: next)
                let last = try writer.readLines(Int.random(in: 1...12, using: &generator))
                let seen = writer.kill() ?? last
                let state = try fixture.open()
                let names = Set(state.cookies.cookies.map(\.name))
                let missing = (next...seen).filter { !names.contains("n\($0)") }
                #expect(missing.isEmpty, "round \(round): \(missing)")
                next = seen + 2
                if round % 10 == 9 {
                    state.cookies.removeAll()
                    try state.waitForFlush()
                }
                state.waitForClose()
            }
            #expect(fixture.log.messages == [])
            #expect(try fixture.files == ["cookies.sqlite", "credentials.sqlite", "hsts.sqlite"])
        }
    }

    /// The program StoreWriter, which writes cookies until it is killed.
    private final class Writer {
        private let process = Process()
        private let output: FileHandle
        private var rest: [UInt8] = []

        init(_ folder: String, first: Int) throws {
            let pipe = Pipe()
            process.executableURL = (Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0]))
                .deletingLastPathComponent().appendingPathComponent("StoreWriter")
            process.arguments = [folder, String(first)]
            process.standardOutput = pipe
            output = pipe.fileHandleForReading
            try process.run()
        }

        deinit { kill() }

        /// Reads this many lines, and returns the last number.
        func readLines(_ count: Int) throws -> Int {
            var lines: [Int] = []
            while lines.count < count {
                let data = output.availableData
                try #require(!data.isEmpty, "the writer ended: \(String(decoding: rest, as: UTF8.self))")
                lines += numbers(in: data)
            }
            return try #require(lines.last)
        }

        /// Kills the process, and returns the last number that it has written since.
        @discardableResult
        func kill() -> Int? {
            guard process.isRunning else { return nil }
            Glibc.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            return numbers(in: output.readDataToEndOfFile()).last
        }

        private func numbers(in data: Data) -> [Int] {
            rest += data
            let end = rest.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            defer { rest.removeFirst(end) }
            return rest[..<end].split(separator: UInt8(ascii: "\n")).compactMap { Int(String(decoding: $0, as: UTF8.self)) }
        }
    }
#endif
