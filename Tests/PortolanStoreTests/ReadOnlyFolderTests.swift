// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import PortolanCookies
    import PortolanHSTS
    import PortolanTestSupport
    import TestThreads
    import Testing

    @testable import PortolanStore

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// Tests folders that can't be written, as on a read-only file system.
    @Suite(.blocking) struct ReadOnlyFolderTests {
        private let fixture: StateFixture

        init() throws { fixture = try StateFixture() }

        /// Runs `body` while the folder can't be written, also by root.
        private func whileReadOnly(_ body: () throws -> Void) throws {
            try fixture.temporary.setPermissions("state", 0o500)
            let capabilities = try ThreadCapabilities()
            try capabilities.setEffective(withoutOverrides: true)
            defer {
                // `try?` because a test can't do more about it than fail later.
                try? capabilities.setEffective(withoutOverrides: false)
                try? fixture.temporary.setPermissions("state", 0o700)
            }
            try body()
        }

        @Test func cookiesAreReadAndChangesStayInMemory() throws {
            try fixture.writeCookies(2)
            let files = try fixture.files
            try whileReadOnly {
                let state = try fixture.open()
                #expect(state.cookies.cookies.map(\.name) == ["n0", "n1"])
                try state.waitForFlush()
                try state.cookies.set(.test(2))
                state.cookies.delete(.test(0))
                let error = #expect(throws: StoreError.self) { try state.waitForFlush() }
                #expect(error?.code == .readOnly && error?.message.contains("stay in memory") == true, "\(error?.message ?? "")")
                #expect(state.cookies.cookies.map(\.name) == ["n1", "n2"])
                state.waitForClose()
                #expect(try fixture.files == files)
            }
            #expect(try fixture.cookieNames() == ["n0", "n1"])
            let warnings = fixture.log.messages.filter { $0.contains("because the folder or its file system is read-only") }
            #expect(warnings.count == 1 && warnings.first?.contains(fixture.cookieFile) == true, "\(fixture.log.messages)")
        }

        @Test func cookiesThatHaveEndedAreNoChange() throws {
            try fixture.writeCookies(2)
            try fixture.execute("UPDATE cookie SET expires = 1 WHERE number = 1")
            try whileReadOnly {
                let state = try fixture.open()
                #expect(state.cookies.cookies.map(\.name) == ["n1"])
                try state.waitForFlush()
                state.waitForClose()
            }
        }

        /// A shell can make it so while a program runs.
        @Test func changesAreWrittenWhenTheFolderCanBe() throws {
            try fixture.writeCookies(1)
            var state: StateFolder?
            try whileReadOnly {
                state = try fixture.open()
                try state?.cookies.set(.test(1))
                #expect(throws: StoreError.self) { try state?.waitForFlush() }
            }
            try state?.waitForFlush()
            state?.waitForClose()
            #expect(try fixture.cookieNames() == ["n0", "n1"])
        }

        @Test func missingAndDamagedFilesAreEmpty() throws {
            try fixture.writeCookies(1)
            try FileManager.default.removeItem(atPath: fixture.path + "/hsts.sqlite")
            try fixture.replace("cookies.sqlite", by: "no database".utf8)
            try whileReadOnly {
                let state = try fixture.open()
                #expect(state.cookies.cookies.isEmpty && state.strictTransportSecurity.allHosts.isEmpty)
                state.waitForClose()
                #expect(fixture.log.messages.contains { $0.contains("is damaged") && $0.contains("can't be replaced") })
                #expect(try fixture.files == ["cookies.sqlite", "credentials.sqlite"])
            }
        }

        /// The log needs a file beside it that can't be made. So a copy is read, or the log is reported.
        @Test(arguments: [true, false]) func logOfAKilledProcessIsReadOrReported(canCopy: Bool) throws {
            try fixture.writeCookies(1)
            let other = try StateFixture()
            try other.writeCookies(1)
            let state = try other.open()
            try state.cookies.set(.test(1))
            try state.waitForFlush()
            for suffix in ["", "-wal"] {
                try fixture.replace("cookies.sqlite" + suffix, by: try other.bytes(of: "cookies.sqlite" + suffix))
            }
            let files = try fixture.files
            var options = Database.Options()
            options.temporaryFolder = canCopy ? other.path : "/proc"
            let filesOfOther = try other.files
            try whileReadOnly {
                let state = try fixture.open(options)
                #expect(state.cookies.cookies.map(\.name) == (canCopy ? ["n0", "n1"] : ["n0"]))
                #expect(try other.files == filesOfOther && fixture.files == files)
                try state.cookies.set(.test(2))
                #expect(throws: StoreError.self) { try state.waitForFlush() }
                state.waitForClose()
                let isReported = fixture.log.messages.contains { $0.contains("cookies.sqlite-wal', can't be read") }
                #expect(isReported != canCopy, "\(fixture.log.messages)")
            }
            #expect(try fixture.cookieNames() == ["n0", "n1"])
            state.waitForClose()
        }
    }

    /// The capabilities of this thread, which the threads that it starts inherit (`capabilities(7)`).
    private struct ThreadCapabilities {
        /// CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        private static let overrides: UInt32 = 1 << 1 | 1 << 2

        /// For each half of the set: the effective, the permitted and the inheritable ones.
        private var sets = [UInt32](repeating: 0, count: 6)

        init() throws {
            var header = Self.header
            try #require(unsafe capget(&header, &sets) == 0)
        }

        private static var header: [UInt32] { [0x2008_0522, 0] }

        func setEffective(withoutOverrides isReduced: Bool) throws {
            var (header, sets) = (Self.header, sets)
            if isReduced { sets[0] &= ~Self.overrides }
            try #require(unsafe capset(&header, &sets) == 0)
        }
    }

    @_silgen_name("capget") private func capget(_ header: UnsafeMutablePointer<UInt32>, _ sets: UnsafeMutablePointer<UInt32>) -> CInt
    @_silgen_name("capset") private func capset(_ header: UnsafeMutablePointer<UInt32>, _ sets: UnsafeMutablePointer<UInt32>) -> CInt
#endif
