// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import PortolanCookies
    import PortolanTestSupport
    import TestThreads
    import Testing

    @testable import PortolanStore

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// The errors if a file can't be written. The changes stay in memory until the file can be written.
    @Suite(.blocking) struct StoreErrorTests {
        private let fixture: StateFixture

        init() throws { fixture = try StateFixture() }

        private func flushError(_ state: StateFolder) -> StoreError? {
            do throws(StoreError) {
                try state.waitForFlush()
                return nil
            } catch {
                return error
            }
        }

        private static let shortBusyTimeout = Database.Options(busyTimeout: .milliseconds(20))

        @Test func busyFileIsReportedAndWrittenLater() throws {
            let state = try fixture.open(Self.shortBusyTimeout)
            let database = try Database(path: fixture.cookieFile, options: Database.Options())
            try database.transaction(isWrite: true) { _ in
                try state.cookies.set(.test(1))
                let error = flushError(state)
                #expect(error?.code == .busy && error?.message.contains("another process has locked") == true, "\(error?.message ?? "")")
            }
            try state.waitForFlush()
            try database.close()
            state.waitForClose()
            #expect(try fixture.cookieNames() == ["n1"])
            #expect(fixture.log.messages.count == 1)
        }

        /// The store retries the write without a further call.
        @Test func writeToABusyFileIsRetried() throws {
            let (state, secondFolder) = (try fixture.open(Self.shortBusyTimeout), try fixture.open())
            let database = try Database(path: fixture.cookieFile, options: Database.Options())
            try database.transaction(isWrite: true) { _ in
                try state.cookies.set(.test(1))
                #expect(flushError(state)?.code == .busy)
            }
            try database.close()
            #expect(secondFolder.cookies.wait { $0.cookies.count == 1 })
        }

        @Test func readOnlyFileIsReported() throws {
            try fixture.writeCookies(1)
            let state = try fixture.open(Database.Options(pragmas: ["query_only = ON"]))
            try state.cookies.set(.test(2))
            let error = flushError(state)
            #expect(error?.code == .readOnly && error?.message.contains(fixture.cookieFile) == true, "\(error?.message ?? "")")
            #expect(state.cookies.cookies.count == 2)
            state.waitForClose()
            #expect(try fixture.cookieNames() == ["n0"])
        }

        @Test func fullFileSystemIsReported() throws {
            try fixture.writeCookies(1)
            let state = try fixture.open(Database.Options(pragmas: ["max_page_count = 12"]))
            for number in 0..<40 { try state.cookies.set(.test(number, value: String(repeating: "x", count: 3000))) }
            let error = flushError(state)
            #expect(error?.code == .full && error?.message.contains("free some space") == true, "\(error?.message ?? "")")
            // After the removal of most cookies, the file can be written again.
            for number in 2..<40 { state.cookies.delete(.test(number)) }
            try state.waitForFlush()
            state.waitForClose()
            #expect(try fixture.cookieNames() == ["n0", "n1"])
        }

        /// The result codes of SQLite are documented at <https://sqlite.org/rescode.html>.
        @Test(
            arguments: [
                (5, .busy), (261, .busy), (6, .busy), (8, .readOnly), (1032, .readOnly), (13, .full), (4874, .full), (3, .accessDenied),
                (23, .accessDenied),
                (11, .corrupt), (26, .corrupt), (267, .corrupt), (7, .noResources), (14, .ioFailed), (10, .ioFailed), (266, .ioFailed),
                (1, .ioFailed),
            ] as [(Int32, StoreError.Code)])
        func sqliteResultCodesMapToErrorCodes(code: Int32, expected: StoreError.Code) {
            let error = StoreError(Database.Failure(code: code, text: "text"), at: "/s/cookies.sqlite")
            #expect(error.code == expected && error.description.contains("/s/cookies.sqlite"))
        }

        @Test(
            arguments: [
                (EACCES, .accessDenied), (EPERM, .accessDenied), (EROFS, .readOnly), (ENOSPC, .full), (EDQUOT, .full),
                (ENOTDIR, .wrongKind),
                (EMFILE, .noResources), (EIO, .ioFailed),
            ] as [(CInt, StoreError.Code)])
        func errnoValuesMapToErrorCodes(errorNumber: CInt, expected: StoreError.Code) {
            #expect(StoreError.system(errorNumber, "'/s' can't be made", at: "/s").code == expected)
        }
    }
#endif
