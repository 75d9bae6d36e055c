// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanTrace

/// Bodies that are too large for a recording are still compared, and no file exceeds its limit.
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
        func response(_ body: Body?, from recording: Recording) throws -> String {
            let replay = ReplayHandler(try Recording(parsing: recording.bytes(as: form)))
            let delegate = RecordingDelegate()
            loader(replay, StubHandler { _ in .text("") }).task(for: try Request("http://h/", method: .put, body: body), delegate: delegate)
                .resume()
            return delegate.error?.code.description ?? delegate.text
        }
        var small = Recording()
        small.add(try transaction(.text("abc"), "small"))
        #expect(try response(zeros, from: small) == "notFound")
        #expect(try response(.text("abc"), from: small) == "small")
        var large = small
        large.add(try transaction(zeros, "zeros"))
        #expect(try response(zeros, from: large) == "zeros")
        #expect(try response(ones, from: large) == "notFound")
        #expect(try response(.text("abd"), from: large) == "notFound")
        #expect(try response(nil, from: large) == "notFound")
    }

    // MARK: The limit of events

    private func record() throws -> TransactionRecord {
        TransactionRecord(Transaction(.get, try URLRecord(parsing: "http://h/"), began: 0), clock: SystemClock.shared)
    }

    /// Pieces of body beyond the limit are one event, also if the last event before the limit is another one.
    @Test(arguments: [false, true]) func bodyInManyPiecesIsRecordedCompletely(hasTrailersAtTheLimit: Bool) throws {
        let record = try record()
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
        let record = try record()
        let response = Response(url: try URLRecord(parsing: "http://h/"))
        for _ in 0..<Transaction.maximumEventCount {
            record.append(.response(response))
            record.append(.data([1], count: 1))
        }
        record.append(.finished)
        #expect(record.transaction == nil)
    }

    // MARK: The limit of a file

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
        let whole = try recording(4, bodySize: 30_000)
        let file = whole.file(as: form, limit: 100_000)
        #expect(file.bytes.count <= 100_000 && file.entriesWithoutBody == 2 && file.missingEntries == 0)
        #expect(file.omission == "no file may be larger than 64 MiB: the bodies of 2 of its entries are left out")
        let read = try Recording(parsing: file.bytes)
        #expect(read.transactions.map { $0.incompleteness == nil } == [true, true, false, false] && read.problems.isEmpty)
        #expect(read.transactions[3].incompleteness == "it has the first 0 bytes of 30000")
        // A recording that was filled again does not grow.
        var filled = read
        for transaction in whole.transactions.dropFirst(2) { filled.add(transaction) }
        let again = filled.file(as: form, limit: 100_000)
        #expect(again.missingEntries == 2 && again.bytes.count == read.bytes(as: form).count)
        let smallest = whole.file(as: form, limit: 1000)
        #expect(smallest.bytes.count <= 1000 && smallest.missingEntries > 0)
        #expect(try Recording(parsing: smallest.bytes).count == 4 - smallest.missingEntries)
        #expect(whole.file(as: form).omission == nil)
    }

    /// A file that fits in the limit is written whole, and a larger one loses its body.
    @Test(arguments: Recording.Form.allCases) func limitAppliesToTheWholeFile(form: Recording.Form) throws {
        let whole = try recording(1, bodySize: 100)
        let size = whole.bytes(as: form).count
        #expect(whole.file(as: form, limit: size + 1).omission == nil)
        #expect(whole.file(as: form, limit: size - 1).entriesWithoutBody == 1)
    }
}
