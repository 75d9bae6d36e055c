// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import HTTPTypes
    import PortolanCore
    import PortolanTestSupport
    import TestThreads
    import Testing

    @testable import PortolanBackground
    @testable import PortolanStore

    /// Transfers whose journal can't be written, or has rows of another program.
    @Suite(.blocking, .timeLimit(.minutes(2))) struct TransferJournalTests {
        private let fixture: BackgroundFixture

        init() throws { fixture = try BackgroundFixture() }

        /// Runs statements in the file of the journal.
        private func change<Result>(_ body: (Database.Statements) throws -> Result) throws -> Result {
            let database = try Database(path: fixture.place.stateFolder + "/transfers.sqlite", options: Database.Options())
            let result = try database.transaction(isWrite: true, body)
            try database.close()
            return result
        }

        /// RFC 9110 §9.2.2. If the service ended now, the next one could not know that the request was sent.
        @Test func postWaitsUntilTheJournalCanBeWritten() async throws {
            let service = try fixture.start()
            try change { try $0.executeAll("CREATE TRIGGER full BEFORE UPDATE ON transfer BEGIN SELECT RAISE(FAIL, 'full'); END") }
            try fixture.folder.write([1, 2, 3], to: "upload")
            var request = try Request(FileOrigin.url)
            request.method = .post
            let added = try await fixture.session().upload(request, from: fixture.folder.path(of: "upload"))
            var waiting = added
            while waiting.message == nil { waiting = try await fixture.session().transfer(added.id) }
            #expect(waiting.state == .waiting && waiting.message?.contains("POST must not be sent twice") == true, "\(waiting)")
            #expect(waiting.nextAttempt != nil && fixture.origin.requests.isEmpty)
            // A download can be repeated, so it does not wait.
            let download = try await fixture.add()
            _ = try await fixture.wait(for: .finished, of: download.id)
            try change { try $0.executeAll("DROP TRIGGER full") }
            _ = try await fixture.session().resume(added.id)
            let ends = try await fixture.ends(2)
            #expect(Set(ends.map(\.id)) == [added.id, download.id] && ends.allSatisfy { $0.state == .finished }, "\(ends)")
            #expect(fixture.origin.requests.count { $0.method == .post } == 1)
            try await service.stop()
        }

        private static let impossibleChanges: [@Sendable (inout TransferStatus) -> Void] = [
            { $0.transfer.nextAttempt = 1e300 }, { $0.transfer.nextAttempt = -1 }, { $0.added = 1e300 }, { $0.ended = -1e300 },
            { $0.round = .max }, { $0.transfer.failures = .max }, { $0.transfer.failures = -1 }, { $0.transfer.bytes = -1 },
            { $0.transfer.expectedBytes = .min },
        ]

        @Test(arguments: impossibleChanges.indices)
        func rowWithImpossibleNumbersIsLeftAlone(_ index: Int) async throws {
            let service = try fixture.start()
            fixture.origin.change { $0.status = .unauthorized }
            let added = try await fixture.add()
            _ = try await fixture.wait(for: .needsCredential, of: added.id)
            try await service.stop()
            let row = try change { try $0.rows("SELECT status FROM transfer").first?.first?.blob }
            let bytes = try #require(row)
            var status = try ServiceMessage.decode(TransferStatus.self, from: bytes)
            #expect(status.isValid)
            Self.impossibleChanges[index](&status)
            let changed = try ServiceMessage.encode(status)
            try change { _ = try $0.execute("UPDATE transfer SET status = ?", [.blob(changed)]) }

            let second = try fixture.start()
            #expect(try await fixture.session().transfers.isEmpty)
            fixture.origin.change { $0.status = .ok }
            _ = try await fixture.add("b")
            #expect(try await fixture.ends(1).map(\.state) == [.finished])
            try await second.stop()
            #expect(try change { try $0.rows("SELECT status FROM transfer").first?.first?.blob } == changed)

            try change { _ = try $0.execute("UPDATE transfer SET status = ?", [.blob(bytes)]) }
            let third = try fixture.start()
            #expect(try await fixture.session().transfers.map(\.id) == [added.id])
            try await third.stop()
        }
    }
#endif
