// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import HTTPTypes
    import PortolanCore
    import PortolanFileSystem
    import PortolanTestSupport
    import Synchronization
    import TestThreads
    import Testing

    @testable import PortolanBackground

    @Suite(.blocking, .timeLimit(.minutes(2))) struct BackgroundSessionTests {
        private let fixture: BackgroundFixture

        init() throws { fixture = try BackgroundFixture() }

        @Test func endIsDeliveredOnceAndForgotten() async throws {
            let service = try fixture.start()
            let added = try await fixture.add()
            #expect(added.state == .waiting && added.url == FileOrigin.url && added.path == fixture.folder.path(of: "a"))
            let end = try #require(try await fixture.ends(1).first)
            #expect(end.id == added.id && end.state == .finished && end.bytes == 5000 && end.expectedBytes == 5000 && end.status == 200)
            #expect(try fixture.folder.contents(of: "a") == Array(repeating: 7, count: 5000))
            #expect(try await fixture.session().transfers.isEmpty)
            await #expect(throws: LoadError.self) { try await fixture.session().transfer(added.id) }
            try await service.stop()
            #expect(fixture.folder.openDescriptorCount == 0)
        }

        @Test func endsAreDeliveredToTheProgramThatAsksLater() async throws {
            let service = try fixture.start()
            let names = ["a", "b", "c"]
            for name in names { _ = try await fixture.add(name) }
            _ = try await fixture.add("d", to: "other")
            try await service.stop()
            let next = try fixture.start()
            let ends = try await fixture.ends(3)
            #expect(Set(ends.map(\.path)) == Set(names.map { fixture.folder.path(of: $0) }) && ends.allSatisfy { $0.state == .finished })
            #expect(try await fixture.ends(1, of: "other").map(\.path) == [fixture.folder.path(of: "d")])
            try await next.stop()
        }

        @Test func endThatWasNotAcknowledgedIsDeliveredAgain() async throws {
            let service = try fixture.start()
            let added = try await fixture.add()
            let answers = try await fixture.exchange([#"{"attach":{"session":"s"}}"# + "\n"], answers: 2)
            #expect(answers.first == #"{"attached":{}}"# && answers.last?.hasPrefix(#"{"ended":"#) == true)
            #expect(try await fixture.ends(1).map(\.id) == [added.id])
            try await service.stop()
        }

        @Test func onlyOneProgramReceivesTheEndsOfASession() async throws {
            let service = try fixture.start()
            async let first = fixture.exchange([#"{"attach":{"session":"s"}}"# + "\n"])
            while try await fixture.exchange([#"{"attach":{"session":"s"}}"# + "\n"], answers: 1) == [#"{"attached":{}}"#] {}
            let error = await downloadFailure { () throws(LoadError) in
                do { _ = try await fixture.ends(1) } catch { throw error as? LoadError ?? LoadError(.unknown, message: "\(error)") }
            }
            #expect(error?.code == .noResources && error?.message.contains("another program") == true)
            try await service.stop()
            _ = try await first
        }

        @Test func receivingIsCancelledWithItsTask() async throws {
            let service = try fixture.start()
            let task = Task { [fixture] in try await fixture.ends(1) }
            task.cancel()
            #expect(try await task.value.isEmpty)
            try await service.stop()
        }

        @Test func lostConnectionIsContinued() async throws {
            let service = try fixture.start()
            fixture.origin.change { state in
                state.cut = 2500
                state.beforeResponse = { [weak origin = fixture.origin] in
                    if let origin, origin.requests.count == 3 { origin.change { $0.cut = nil } }
                }
            }
            _ = try await fixture.add()
            let end = try #require(try await fixture.ends(1).first)
            // The third answer begins before its cut is removed.
            #expect(end.state == .finished && end.failures >= 2)
            #expect(try fixture.folder.contents(of: "a").count == 5000)
            #expect(fixture.origin.requests.dropFirst().allSatisfy { $0.fields[.range]?.hasPrefix("bytes=") == true })
            try await service.stop()
        }

        @Test func busyServerIsAskedAgain() async throws {
            let service = try fixture.start()
            fixture.origin.change { state in
                (state.status, state.fields[.retryAfter]) = (.serviceUnavailable, "0")
                state.beforeResponse = { [weak origin = fixture.origin] in
                    if let origin, origin.requests.count == 2 { origin.change { $0.status = .ok } }
                }
            }
            _ = try await fixture.add()
            let end = try #require(try await fixture.ends(1).first)
            #expect(end.state == .finished && end.status == 200 && end.failures >= 2)
            try await service.stop()
        }

        @Test func missingFileIsAFailure() async throws {
            let service = try fixture.start()
            fixture.origin.change { $0.status = .notFound }
            _ = try await fixture.add()
            let end = try #require(try await fixture.ends(1).first)
            #expect(end.state == .failed && end.status == 404 && end.errorCode == LoadError.Code.notFound.rawValue && end.failures == 1)
            #expect(fixture.origin.requests.count == 1)
            try await service.stop()
        }

        @Test func missingPasswordWaitsForAPerson() async throws {
            let service = try fixture.start()
            fixture.origin.change { $0.status = .unauthorized }
            let added = try await fixture.add()
            let waiting = try await fixture.wait(for: .needsCredential, of: added.id)
            #expect(waiting.errorCode == LoadError.Code.authenticationRequired.rawValue && waiting.status == 401)
            // A session with nothing but such transfers is idle.
            let answers = try await fixture.exchange([#"{"attach":{"session":"s"}}"# + "\n"], answers: 2)
            #expect(answers.last?.hasPrefix(#"{"idle":{"needCredential":[{"#) == true)
            #expect(waiting.message?.contains("refused") == false)
            _ = try await fixture.session().resume(added.id, user: "u", password: "wrong")
            let refused = try await fixture.wait(for: .needsCredential, of: added.id)
            #expect(refused.message?.hasPrefix("the user name and password were refused: ") == true)
            fixture.origin.change { $0.status = .ok }
            let resumed = try await fixture.session().resume(added.id, user: "u", password: "secret")
            #expect(resumed.state == .waiting && resumed.failures == 0)
            #expect(try await fixture.ends(1).map(\.state) == [.finished])
            try await service.stop()
        }

        @Test func runningTransferIsCancelled() async throws {
            let service = try fixture.start()
            let isBlocked = ConditionLock(true)
            fixture.origin.change {
                $0.beforePiece = { sent in if sent >= 2000 { try await inOwnThread { isBlocked.wait { $0 ? nil : () } } } }
            }
            let added = try await fixture.add()
            while try await fixture.session().transfer(added.id).bytes < 2000 { await Task.yield() }
            let cancelled = try await fixture.session().cancel(added.id)
            #expect(cancelled.id == added.id)
            isBlocked.withLockBroadcasting { $0 = false }
            #expect(try await fixture.ends(1).map(\.state) == [.cancelled])
            #expect(try fixture.folder.names == ["run", "state"])
            try await service.stop()
        }

        @Test func stoppedServiceContinuesWhereItStopped() async throws {
            let service = try fixture.start()
            let isBlocked = ConditionLock(true)
            fixture.origin.change {
                $0.beforePiece = { sent in if sent >= 2000 { try await inOwnThread { isBlocked.wait { $0 ? nil : () } } } }
            }
            let added = try await fixture.add()
            while try await fixture.session().transfer(added.id).bytes < 2000 { await Task.yield() }
            service.service.stop()
            isBlocked.withLockBroadcasting { $0 = false }
            try await service.waitForEnd()
            fixture.origin.change { $0.beforePiece = nil }
            let next = try fixture.start()
            let end = try #require(try await fixture.ends(1).first)
            #expect(end.id == added.id && end.state == .finished && end.failures == 0)
            #expect(fixture.origin.requests.last?.fields[.range] != nil)
            try await next.stop()
        }

        @Test func twoTransfersDoNotWriteOneFile() async throws {
            let service = try fixture.start()
            fixture.origin.change { $0.status = .unauthorized }
            let first = try await fixture.add()
            let error = await #expect(throws: LoadError.self) { _ = try await fixture.add() }
            #expect(error?.code == .badRequest && error?.message.contains("transfer \(first.id)") == true)
            #expect(try await fixture.session().transfers.map(\.id) == [first.id])
            try await service.stop()
            // What was refused is not in the journal.
            let next = try fixture.start()
            #expect(try await fixture.session().transfers.map(\.id) == [first.id])
            try await next.stop()
        }

        /// A program resumes the transfer while it receives its end.
        @Test func resumedTransferHasAnotherEnd() async throws {
            let service = try fixture.start()
            fixture.origin.change { $0.status = .notFound }
            let added = try await fixture.add()
            let (session, origin) = (try fixture.session(), fixture.origin)
            let states = ConditionLock<[BackgroundTransfer.State]>([])
            try await fixture.session().receiveEnds { transfer in
                states.withLock { $0.append(transfer.state) }
                guard transfer.state == .failed else { return false }
                origin.change { $0.status = .ok }
                #expect(throws: Never.self) { try session.waitForResume(added.id, user: nil, password: nil) }
                return true
            }
            #expect(states.withLock { $0 } == [.failed, .finished])
            #expect(try await fixture.session().transfers.isEmpty)
            try await service.stop()
        }

        @Test func resumedTransferDoesNotWriteTheFileOfAnother() async throws {
            let service = try fixture.start()
            fixture.origin.change { $0.status = .notFound }
            let first = try await fixture.add()
            _ = try await fixture.wait(for: .failed, of: first.id)
            fixture.origin.change { $0.status = .unauthorized }
            let second = try await fixture.add()
            let error = await #expect(throws: LoadError.self) { _ = try await fixture.session().resume(first.id) }
            #expect(error?.message.contains("transfer \(second.id) already writes") == true)
            try await service.stop()
        }

        @Test func endThatAProgramHasLostIsDeliveredAgain() async throws {
            let service = try fixture.start()
            let added = try await fixture.add()
            let session = try fixture.session()
            for receipt in [BackgroundSession.Receipt.lost, .last] {
                let ids = try await inOwnThread {
                    let received = ConditionLock<[Int64]>([])
                    try session.waitForEnds(
                        { transfer in
                            received.withLock { $0.append(transfer.id) }; return receipt
                        }, { _ in false })
                    return received.withLock { $0 }
                }
                #expect(ids == [added.id])
            }
            #expect(try await fixture.session().transfers.isEmpty)
            try await service.stop()
        }

        /// Transfers that wait for a network leave the places to others.
        @Test func transfersWithoutANetworkDoNotKeepOthersWaiting() async throws {
            var offline = LoadError(.cannotConnect, message: "no route")
            offline.isForLackOfNetwork = true
            fixture.failure.withLock { [offline] in $0 = offline }
            let service = try fixture.start { $0.parallelTransfers = 1 }
            let first = try await fixture.add("a")
            while try await fixture.session().transfer(first.id).message?.hasPrefix("waits for a network") != true { await Task.yield() }
            fixture.failure.withLock { $0 = nil }
            _ = try await fixture.add("b", to: "other")
            #expect(try await fixture.ends(1, of: "other").map(\.state) == [.finished])
            let waiting = try await fixture.session().transfer(first.id)
            #expect(waiting.state == .waiting && waiting.failures == 0)
            fixture.networkChanges.report()
            #expect(try await fixture.ends(1).map(\.state) == [.finished])
            try await service.stop()
        }

        /// RFC 9110 §9.2.2
        @Test func interruptedPostSaysThatItIsNotSentTwice() async throws {
            let service = try fixture.start()
            fixture.failure.withLock { $0 = LoadError(.connectionLost, message: "reset") }
            try fixture.folder.write([1, 2, 3], to: "upload")
            var request = try Request(FileOrigin.url)
            request.method = .post
            _ = try await fixture.session().upload(request, from: fixture.folder.path(of: "upload"))
            let end = try #require(try await fixture.ends(1).first)
            #expect(end.state == .failed && end.message?.contains("POST must not be sent twice") == true, "\(end)")
            try await service.stop()
        }

        /// Programs can have different folders for the socket.
        @Test func serviceIsFoundFromAnotherRuntimeFolder() async throws {
            let service = try fixture.start()
            let added = try await fixture.add()
            let place = ServicePlace(runtimeFolder: fixture.folder.path(of: "run2"), stateFolder: fixture.place.stateFolder)
            #expect(try TransferService(at: place, loader: fixture.origin.loader) == nil)
            let session = try BackgroundSession(identifier: "s", place: place, command: ["/nonexistent/transferd"])
            #expect(try await session.transfer(added.id).id == added.id)
            try await service.stop()
        }

        /// As after the user has logged out, while the service has gone on.
        @Test func serviceIsFoundWithoutItsFirstSocket() async throws {
            let service = try fixture.start()
            let added = try await fixture.add()
            FileSystem.remove(fixture.place.sockets[0])
            #expect(try await fixture.session().transfer(added.id).id == added.id)
            try await service.stop()
            #expect(fixture.place.sockets.allSatisfy(FileSystem.isMissing))
        }

        @Test func serviceThatDoesNotAnswerIsAnError() async throws {
            try fixture.place.prepare()
            let listener = try LocalSocket.listen(at: fixture.place.sockets[0])
            defer { try? listener.close() }
            var start = ServiceStart(place: fixture.place, command: ["/nonexistent/transferd"])
            start.answerTimeout = .milliseconds(1)
            let session = BackgroundSession(identifier: "s", start)
            let error = await #expect(throws: LoadError.self) { _ = try await session.transfers }
            #expect(error?.code == .timedOut, "\(String(describing: error))")
            let other = await #expect(throws: LoadError.self) { try await session.receiveEnds { _ in true } }
            #expect(other?.code == .timedOut, "\(String(describing: other))")
        }

        @Test func pathThatIsTooLongForASocketIsLeftOut() {
            let long = "/" + String(repeating: "x", count: 100)
            #expect(ServicePlace(runtimeFolder: long, stateFolder: "/s").sockets == ["/s/transferd.sock"])
            #expect(ServicePlace(runtimeFolder: "/r", stateFolder: long).sockets == ["/r/transferd.sock"])
            #expect(ServicePlace(runtimeFolder: "/r", stateFolder: "/s").sockets == ["/r/transferd.sock", "/s/transferd.sock"])
            #expect(ServicePlace(runtimeFolder: "/s", stateFolder: "/s").sockets == ["/s/transferd.sock"])
            // The error says how long a path can be.
            #expect(ServicePlace(runtimeFolder: long, stateFolder: long).sockets.count == 1)
        }

        /// As in a folder on a file system without sockets.
        @Test(arguments: [0, 1]) func oneOfTheSocketsIsEnough(missing: Int) async throws {
            try fixture.place.prepare()
            try fixture.folder.write([1], to: missing == 0 ? "run/transferd.sock/file" : "state/transferd.sock/file")
            let service = try fixture.start()
            #expect(try await fixture.add().id == 1)
            try await service.stop()
        }

        @Test func secondServiceAtOnePlaceIsRefused() async throws {
            let service = try fixture.start()
            #expect(try TransferService(at: fixture.place, loader: fixture.origin.loader) == nil)
            try await service.stop()
            let next = try fixture.start()
            try await next.stop()
        }

        @Test func idleServiceEnds() async throws {
            let service = try fixture.start { $0.idle = .zero }
            try await service.waitForEnd()
            let error = await #expect(throws: LoadError.self) { _ = try await fixture.add() }
            #expect(error?.code == .cannotConnect && error?.message.contains("/nonexistent/transferd") == true)
        }

        @Test func numberOfTransfersAndConnectionsIsLimited() async throws {
            let service = try fixture.start { ($0.transfers, $0.connections) = (1, 1) }
            fixture.origin.change { $0.status = .unauthorized }
            _ = try await fixture.add()
            let error = await #expect(throws: LoadError.self) { _ = try await fixture.add("b") }
            #expect(error?.code == .noResources)
            async let first = fixture.exchange([#"{"attach":{"session":"s"}}"# + "\n"])
            var answers: [String] = []
            while answers.first?.contains("programs are connected already") != true {
                answers = try await fixture.exchange([#"{"list":{}}"# + "\n"], answers: 1)
            }
            try await service.stop()
            _ = try await first
        }
    }
#endif
