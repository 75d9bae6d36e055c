// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanTrace

/// A body that is too large for a recording is compared by its digest, and no file exceeds its size limit.
@Suite(.timeLimit(.minutes(5))) struct LargeBodyTests {
    private func transaction(_ body: Body, _ response: String) throws -> Transaction {
        var transaction = Transaction(.put, try URLRecord(parsing: "http://h/"), began: 0)
        transaction.setBody(BodyCollector.contents(of: body))
        transaction.append(.response(Response(url: transaction.url)), at: .zero)
        transaction.append(.data(Array(response.utf8), count: response.utf8.count), at: .zero)
        transaction.append(.finished, at: .zero)
        return transaction
    }

    @Test(arguments: Recording.Form.allCases) func bodiesTooLargeToRecordAreDistinguished(form: Recording.Form) throws {
        let (zeros, ones) = (
            Body.bytes([UInt8](repeating: 0, count: Transaction.maximumBodySize + 1)),
            Body.bytes([UInt8](repeating: 1, count: Transaction.maximumBodySize + 1))
        )
        /// The text of the response that the recording has for this body, or the name of the error code.
        func response(_ body: Body?, from recording: Recording) throws -> String {
            let replay = ReplayHandler(try Recording(parsing: recording.bytes(as: form)))
            let delegate = RecordingDelegate()
            // A debug build needs seconds for the digest of the body, and a busy machine much longer.
            let replayLoader = loader(replay, StubHandler { _ in .text("") }) { $0.timeouts.idle = nil }
            replayLoader.task(for: try Request("http://h/", method: .put, body: body), delegate: delegate).resume()
            return delegate.error?.code.description ?? delegate.text
        }
        var smallRecording = Recording()
        smallRecording.add(try transaction(.text("abc"), "small"))
        #expect(try response(zeros, from: smallRecording) == "notFound")
        #expect(try response(.text("abc"), from: smallRecording) == "small")
        var largeRecording = smallRecording
        largeRecording.add(try transaction(zeros, "zeros"))
        #expect(try response(zeros, from: largeRecording) == "zeros")
        #expect(try response(ones, from: largeRecording) == "notFound")
        #expect(try response(.text("abd"), from: largeRecording) == "notFound")
        #expect(try response(nil, from: largeRecording) == "notFound")
    }

    // MARK: The limit on the number of events

    private func makeRecord() throws -> TransactionRecord {
        TransactionRecord(Transaction(.get, try URLRecord(parsing: "http://h/"), began: 0), clock: SystemClock.shared)
    }

    /// All pieces of the body beyond the limit are combined into one event, even after an event that is not data.
    @Test(arguments: [false, true]) func bodyInManyPiecesIsRecordedCompletely(hasTrailersAtTheLimit: Bool) throws {
        let record = try makeRecord()
        record.append(.response(Response(url: try URLRecord(parsing: "http://h/"))))
        for _ in 0..<(Transaction.maximumEventCount - 2) { record.append(.data([1], count: 1)) }
        record.append(hasTrailersAtTheLimit ? .trailers([:]) : .data([1], count: 1))
        for _ in 0..<1000 { record.append(.data([2, 2], count: 2)) }
        record.append(.finished)
        let transaction = try #require(record.transaction)
        let (bytes, count) = transaction.receivedBody
        #expect(
            count == Transaction.maximumEventCount - (hasTrailersAtTheLimit ? 2 : 1) + 2000 && bytes.count == count
                && transaction.incompleteness == nil)
        #expect(transaction.moments.count <= Transaction.maximumEventCount + 2)
    }

    @Test func loadWithTooManyResponsesIsNotRecorded() throws {
        let record = try makeRecord()
        let response = Response(url: try URLRecord(parsing: "http://h/"))
        for _ in 0..<Transaction.maximumEventCount {
            record.append(.response(response))
            record.append(.data([1], count: 1))
        }
        record.append(.finished)
        #expect(record.transaction == nil)
    }

    // MARK: The limit on the size of a file

    /// A recording of `count` transactions with bodies of `bodySize` bytes.
    private func recording(_ count: Int, bodySize: Int) throws -> Recording {
        var recording = Recording()
        for number in 0..<count {
            var transaction = Transaction(.get, try URLRecord(parsing: "http://h/\(number)"), began: 0)
            transaction.append(.response(Response(url: transaction.url)), at: .zero)
            transaction.append(.data([UInt8](repeating: 0xFF, count: bodySize), count: bodySize), at: .zero)
            transaction.append(.finished, at: .zero)
            recording.add(transaction)
        }
        return recording
    }

    @Test(arguments: Recording.Form.allCases) func bodiesAboveTheFileLimitAreLeftOut(form: Recording.Form) throws {
        let wholeRecording = try recording(4, bodySize: 30_000)
        let file = wholeRecording.file(as: form, limit: 100_000)
        #expect(file.bytes.count <= 100_000 && file.entriesWithoutBody == 2 && file.missingEntries == 0)
        #expect(file.omission == "no file may be larger than 64 MiB: the bodies of 2 of its entries are left out")
        let parsedRecording = try Recording(parsing: file.bytes)
        #expect(
            parsedRecording.transactions.map { $0.incompleteness == nil } == [true, true, false, false] && parsedRecording.problems.isEmpty)
        #expect(parsedRecording.transactions[3].incompleteness == "it has the first 0 bytes of 30000")
        // The file does not grow if the entries without bodies are recorded again.
        var filledRecording = parsedRecording
        for transaction in wholeRecording.transactions.dropFirst(2) { filledRecording.add(transaction) }
        let fileOfFilledRecording = filledRecording.file(as: form, limit: 100_000)
        #expect(fileOfFilledRecording.missingEntries == 2 && fileOfFilledRecording.bytes.count == parsedRecording.bytes(as: form).count)
        let smallFile = wholeRecording.file(as: form, limit: 1000)
        #expect(smallFile.bytes.count <= 1000 && smallFile.missingEntries > 0)
        #expect(try Recording(parsing: smallFile.bytes).count == 4 - smallFile.missingEntries)
        #expect(wholeRecording.file(as: form).omission == nil)
    }

    /// A recording that fits in the limit is written with its body, and a larger one without its body.
    @Test(arguments: Recording.Form.allCases) func limitAppliesToTheWholeFile(form: Recording.Form) throws {
        let wholeRecording = try recording(1, bodySize: 100)
        let size = wholeRecording.bytes(as: form).count
        #expect(wholeRecording.file(as: form, limit: size + 1).omission == nil)
        #expect(wholeRecording.file(as: form, limit: size - 1).entriesWithoutBody == 1)
    }
}
