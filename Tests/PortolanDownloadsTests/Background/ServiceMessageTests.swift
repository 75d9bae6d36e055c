// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import HTTPTypes
    import PortolanCore
    import PortolanFileSystem
    import PortolanStore
    import PortolanTestSupport
    import TestThreads
    import Testing

    @testable import PortolanBackground

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// What a hostile program, a damaged journal or an earlier crash can leave.
    @Suite(.blocking, .timeLimit(.minutes(2))) struct ServiceMessageTests {
        private let fixture: BackgroundFixture

        init() throws { fixture = try BackgroundFixture() }

        @Test(arguments: [
            "\n", "{}\n", "nonsense\n", #"{"nosuch":{}}"# + "\n", #"{"add":{"key":"k","session":"s"}}"# + "\n",
            #"{"show":{"id":"1"}}"# + "\n", #"{"show":{"id":99999999999999999999}}"# + "\n", "\u{0}\n",
            String(repeating: "[", count: 100_000) + "\n",
            #"{"list":{"session":"# + String(repeating: "x", count: (1 << 20) + 1),
        ])
        func messageThatIsNoRequestEndsTheConnection(line: String) async throws {
            let service = try fixture.start()
            let answers = try await fixture.exchange([line])
            #expect(answers.count == 1 && answers.first?.hasPrefix(#"{"failed":{"code":"#) == true)
            // The service goes on.
            #expect(try await fixture.session().transfers.isEmpty)
            try await service.stop()
        }

        @Test(arguments: [
            #"{"acknowledge":{"_0":{"id":1,"round":0}}}"#, #"{"show":{"id":1}}"#, #"{"cancel":{"id":-1}}"#, #"{"resume":{"id":0}}"#,
        ])
        func requestThatCannotBeServedIsAnsweredWithAnError(line: String) async throws {
            let service = try fixture.start()
            let answers = try await fixture.exchange([line + "\n", #"{"list":{}}"# + "\n"], answers: 2)
            #expect(answers.first?.hasPrefix(#"{"failed":"#) == true && answers.last == #"{"transfers":{"_0":[]}}"#)
            try await service.stop()
        }

        /// An acknowledgement of a transfer that runs, or of another session, removes nothing.
        @Test func onlyTheEndOfOwnTransfersIsAcknowledged() async throws {
            let service = try fixture.start()
            fixture.origin.change { $0.status = .unauthorized }
            let waiting = try await fixture.add()
            let other = try await fixture.add("b", to: "other")
            let lines = [
                #"{"attach":{"session":"s"}}"#, #"{"acknowledge":{"_0":{"id":\#(waiting.id),"round":0}}}"#,
                #"{"acknowledge":{"_0":{"id":\#(other.id),"round":0}}}"#,
                #"{"list":{}}"#,
            ]
            var answers = try await fixture.exchange(lines.map { $0 + "\n" }, answers: 2)
            answers.removeAll { $0.hasPrefix(#"{"idle":"#) }
            #expect(try await fixture.session().transfers.map(\.id) == [waiting.id])
            #expect(try await fixture.session("other").transfers.map(\.id) == [other.id])
            try await service.stop()
        }

        private static let base = TransferDescription(
            kind: .download, url: "http://h/", method: "GET", fields: [["A", "b"]], idleTimeout: 1, totalTimeout: nil, path: "/a",
            responsePath: nil, existingFile: "replace", isDiscretionary: false, user: nil, password: nil)

        private static let changes: [(name: String, change: @Sendable (inout TransferDescription) -> Void)] = [
            ("no URL", { $0.url = "h" }), ("long URL", { $0.url = "http://h/" + String(repeating: "a", count: 65_536) }),
            ("method", { $0.method = "G T" }), ("POST for a download", { $0.method = "POST" }),
            ("line break", { $0.fields = [["A", "b\nC: d"]] }),
            ("field name", { $0.fields = [["A B", "c"]] }), ("pair", { $0.fields = [["A"]] }),
            ("many fields", { $0.fields = Array(repeating: ["A", "b"], count: 257) }), ("relative", { $0.path = "a" }),
            ("empty", { $0.path = "" }),
            ("NUL", { $0.path = "/a\0" }), ("long path", { $0.path = "/" + String(repeating: "a", count: 4096) }),
            ("relative response", { $0.responsePath = "b" }), ("existing", { $0.existingFile = "merge" }),
            ("time", { $0.idleTimeout = -1 }),
            ("time", { $0.totalTimeout = .infinity }), ("password", { $0.password = String(repeating: "p", count: 4097) }),
        ]

        @Test(arguments: changes.indices) func descriptionIsChecked(index: Int) throws {
            try Self.base.check()
            var description = Self.base
            Self.changes[index].change(&description)
            let error = #expect(throws: LoadError.self, "\(Self.changes[index].name)") { try description.check() }
            #expect(error?.code == .badRequest || error?.code == .badURL)
        }

        // MARK: After a crash

        /// Writes a journal with one transfer, as a service that was killed leaves it.
        private func journal(_ description: TransferDescription, _ change: (inout TransferStatus) -> Void) throws -> Int64 {
            let journal = try TransferJournal(folder: fixture.place.stateFolder)
            defer { journal.close() }
            var status = TransferStatus(transfer: description.transfer(0, session: "s"), added: Date().timeIntervalSince1970)
            status.transfer.state = .running
            change(&status)
            return try journal.add(
                key: "k", session: "s", task: ServiceMessage.encode(description), status: ServiceMessage.encode(status)
            ).number
        }

        private func download(to name: String, _ existingFile: String = "replace") -> TransferDescription {
            var description = Self.base
            (description.url, description.path, description.existingFile) = (FileOrigin.url, fixture.folder.path(of: name), existingFile)
            return description
        }

        /// The service was killed between the rename of the file and its entry in the journal.
        @Test(arguments: ["replace", "keepBoth"]) func fileThatHasItsNameIsNotLoadedAgain(existingFile: String) async throws {
            try fixture.folder.write([1], to: "a")
            let name = existingFile == "keepBoth" ? "a.1" : "a"
            try fixture.folder.write([2], to: name)
            let identity = try #require(FileIdentity(at: fixture.folder.path(of: name)))
            let id = try journal(download(to: "a", existingFile)) { $0.movingFile = identity }
            let service = try fixture.start()
            let end = try #require(try await fixture.ends(1).first)
            #expect(end.id == id && end.state == .finished && end.path == fixture.folder.path(of: name) && fixture.origin.requests.isEmpty)
            #expect(end.bytes == 1)
            try await service.stop()
        }

        /// The service was killed before the rename.
        @Test func fileWithoutItsNameIsLoaded() async throws {
            let id = try journal(download(to: "a")) { $0.movingFile = FileIdentity(at: fixture.place.stateFolder) }
            let service = try fixture.start()
            let end = try #require(try await fixture.ends(1).first)
            #expect(end.id == id && end.state == .finished && fixture.origin.requests.count == 1)
            try await service.stop()
        }

        /// RFC 9110 §9.2.2
        @Test(arguments: ["POST", "PUT"]) func onlyIdempotentUploadIsSentAgain(method: String) async throws {
            var description = Self.base
            (description.kind, description.method, description.url) = (.upload, method, FileOrigin.url)
            description.path = try fixture.folder.write([1, 2, 3], to: "upload")
            let mayBeSent = method == "PUT"
            _ = try journal(description) { $0.hasBegun = !mayBeSent }
            let service = try fixture.start()
            let end = try #require(try await fixture.ends(1).first)
            #expect(end.state == (mayBeSent ? .finished : .failed) && fixture.origin.requests.count == (mayBeSent ? 1 : 0))
            #expect(end.message?.contains("must not be sent twice") == (mayBeSent ? nil : true))
            try await service.stop()
        }

        @Test func damagedJournalIsReplaced() async throws {
            try fixture.folder.write(
                Array("no database, and much longer than a header".utf8) + Array(repeating: 1, count: 5000), to: "state/transfers.sqlite")
            #expect(unsafe chmod(fixture.place.stateFolder, 0o700) == 0)
            let journal = try TransferJournal(folder: fixture.place.stateFolder)
            #expect(journal.damage?.contains("transfers.sqlite.corrupt-1") == true)
            #expect(try journal.entries().isEmpty)
            // The numbers of the damaged file are not used again.
            #expect(try journal.add(key: "k", session: "s", task: [1], status: [1]).number > 1_700_000_000)
            journal.close()
        }

        /// A row of another version stays, and the others are used.
        @Test func rowThatIsNotUnderstoodIsLeftAlone() async throws {
            let journal = try TransferJournal(folder: fixture.place.stateFolder)
            _ = try journal.add(key: "x", session: "s", task: Array("{}".utf8), status: Array("{}".utf8))
            journal.close()
            let service = try fixture.start()
            #expect(try await fixture.session().transfers.isEmpty)
            try await service.stop()
            let again = try TransferJournal(folder: fixture.place.stateFolder)
            #expect(try again.entries().count == 1)
            again.close()
        }

        @Test func repeatedRequestAddsNothing() throws {
            let journal = try TransferJournal(folder: fixture.place.stateFolder)
            let first = try journal.add(key: "k", session: "s", task: [1], status: [2])
            let second = try journal.add(key: "k", session: "s", task: [1], status: [2])
            #expect(first.isNew && !second.isNew && first.number == second.number)
            try journal.remove(first.number, hasSecrets: false)
            #expect(try journal.add(key: "k", session: "s", task: [], status: []).number > first.number)
            journal.close()
        }

        @Test func filesAreForTheUserOnly() async throws {
            let service = try fixture.start()
            var status = stat()
            for (path, mode) in [
                (fixture.place.runtimeFolder, mode_t(0o700)), (fixture.place.sockets[0], 0o600), (fixture.place.sockets[1], 0o600),
                (fixture.place.stateFolder, 0o700),
                ("\(fixture.place.stateFolder)/transfers.sqlite", 0o600), (fixture.place.lock, 0o600),
            ] {
                #expect(unsafe stat(path, &status) == 0 && status.st_mode & 0o777 == mode, "\(path)")
            }
            try await service.stop()
            #expect(unsafe chmod(fixture.place.runtimeFolder, 0o777) == 0)
            let error = #expect(throws: LoadError.self) { _ = try TransferService(at: fixture.place, loader: fixture.origin.loader) }
            #expect(error?.code == .accessDenied)
        }
    }
#endif
