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

    /// Several state folders at one path: in this process, with a connection each, and in other processes.
    @Suite(.blocking, .timeLimit(.minutes(3))) struct SharedFolderTests {
        private let fixture: StateFixture

        init() throws { fixture = try StateFixture() }

        @Test func cookieChangesOfAnotherConnectionAreSeen() throws {
            let (first, second) = (try fixture.open(), try fixture.open())
            try first.cookies.set(.test(1))
            #expect(second.cookies.wait { $0.cookies.map(\.name) == ["n1"] })
            try second.cookies.set(.test(1, value: "new"))
            #expect(first.cookies.wait { $0.cookies.map(\.value) == ["new"] })
            second.cookies.delete(.test(1))
            #expect(first.cookies.wait { $0.cookies.isEmpty })
            #expect(second.cookies.cookies.isEmpty)
        }

        @Test func hostChangesOfAnotherConnectionAreSeen() throws {
            let (first, second) = (try fixture.open(), try fixture.open())
            first.strictTransportSecurity.set(.init(name: "a.example"))
            try first.waitForFlush()
            // A flush also reads the changes of other connections.
            try second.waitForFlush()
            #expect(second.strictTransportSecurity.allHosts.map(\.name) == ["a.example"])
            second.strictTransportSecurity.removeAll()
            try second.waitForFlush()
            try first.waitForFlush()
            #expect(first.strictTransportSecurity.allHosts.isEmpty)
        }

        /// A session cookie stays in the memory of its own storage.
        @Test func sessionCookieOfAnotherConnectionIsNotSeen() throws {
            let (first, second) = (try fixture.open(), try fixture.open())
            try first.cookies.set(Cookie(name: "s", value: "1", domain: "example.org"))
            try second.cookies.set(.test(1))
            #expect(first.cookies.wait { $0.cookies.count == 2 })
            second.cookies.removeAll()
            #expect(first.cookies.wait { $0.cookies.map(\.name) == ["s"] })
            #expect(second.cookies.cookies.isEmpty)
        }

        @Test func observersReceiveTheChangesOfAnotherConnection() throws {
            let (first, second) = (try fixture.open(), try fixture.open())
            let changes = ConditionLock<[CookieStorage.Change]>([])
            let observation = second.cookies.observe { newChanges in changes.withLockBroadcasting { $0 += newChanges } }
            let cookie = Cookie.test(1)
            try first.cookies.set(cookie)
            let receivedChanges = changes.wait(atMost: .seconds(30)) { $0.isEmpty ? nil : $0 }
            #expect(receivedChanges?.count == 1)
            withExtendedLifetime(observation) {}
        }

        @Test func concurrentWritesOfTwoConnectionsLoseNoCookie() async throws {
            let (first, second) = (try fixture.open(), try fixture.open())
            async let firstWrites: Void = inOwnThread {
                for number in 0..<200 {
                    try first.cookies.set(.test(number))
                    if number % 20 == 0 { try first.waitForFlush() }
                }
            }
            async let secondWrites: Void = inOwnThread {
                for number in 200..<400 {
                    try second.cookies.set(.test(number))
                    if number % 20 == 0 { try second.waitForFlush() }
                }
            }
            _ = try await (firstWrites, secondWrites)
            #expect(first.cookies.wait { $0.cookies.count == 400 })
            #expect(second.cookies.wait { $0.cookies.count == 400 })
            let expected = Set((0..<400).map { "n\($0)" })
            #expect(Set(first.cookies.cookies.map(\.name)) == expected && Set(second.cookies.cookies.map(\.name)) == expected)
        }

        @Test func manyTasksOpenANewFolderAtOnce() async throws {
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
            let writer = try WriterProcess(fixture.path, firstNumber: 0)
            let last = try writer.readLines(20)
            #expect(state.cookies.wait { cookies in cookies.cookies.contains { $0.name == "n\(last)" } })
            writer.kill()
        }

        /// A process can be killed at any moment. Afterwards, the file is intact and contains each cookie whose write
        /// was reported.
        @Test func killedWriterLosesNoCookie() throws {
            var generator = SeededGenerator(seed: 9)
            var nextNumber = 0
            for round in 0..<100 {
                let writer = try WriterProcess(fixture.path, firstNumber: nextNumber)
                let last = try writer.readLines(Int.random(in: 1...12, using: &generator))
                let lastReported = writer.kill() ?? last
                let state = try fixture.open()
                let names = Set(state.cookies.cookies.map(\.name))
                let missing = (nextNumber...lastReported).filter { !names.contains("n\($0)") }
                #expect(missing.isEmpty, "round \(round): \(missing)")
                nextNumber = lastReported + 2
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

    /// A process of the program StoreWriter, which writes cookies until it is killed, and prints the number of each.
    private final class WriterProcess {
        private let process = Process()
        private let output: FileHandle
        private var incompleteLine: [UInt8] = []

        init(_ folder: String, firstNumber: Int) throws {
            let pipe = Pipe()
            process.executableURL = (Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0]))
                .deletingLastPathComponent().appendingPathComponent("StoreWriter")
            process.arguments = [folder, String(firstNumber)]
            process.standardOutput = pipe
            output = pipe.fileHandleForReading
            try process.run()
        }

        deinit { kill() }

        /// Waits for this number of lines, and returns the number in the last line.
        func readLines(_ count: Int) throws -> Int {
            var lines: [Int] = []
            while lines.count < count {
                let data = output.availableData
                try #require(!data.isEmpty, "the writer ended: \(String(decoding: incompleteLine, as: UTF8.self))")
                lines += numbers(in: data)
            }
            return try #require(lines.last)
        }

        /// Kills the process, and returns the last number that it has printed since the last read; `nil` if there is
        /// none.
        @discardableResult
        func kill() -> Int? {
            guard process.isRunning else { return nil }
            Glibc.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            return numbers(in: output.readDataToEndOfFile()).last
        }

        /// The numbers in the lines that the data completes.
        private func numbers(in data: Data) -> [Int] {
            incompleteLine += data
            let end = incompleteLine.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            defer { incompleteLine.removeFirst(end) }
            return incompleteLine[..<end].split(separator: UInt8(ascii: "\n")).compactMap { Int(String(decoding: $0, as: UTF8.self)) }
        }
    }
#endif
