// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanTrace

/// Bodies that are too large for a recording are still compared, and no file exceeds its limit.
@Suite(.timeLimit(.minutes(5))) struct LargeBodyTests {
    private func exchange(_ body: Body, _ response: String) throws -> Exchange {
        var exchange = Exchange(.put, try URLRecord(parsing: "http://h/"), began: 0)
        exchange.note(sent: BodyCollector.contents(of: body))
        exchange.note(.response(Response(url: exchange.url)), at: .zero)
        exchange.note(.data(Array(response.utf8), count: response.utf8.count), at: .zero)
        exchange.note(.finished, at: .zero)
        return exchange
    }

    @Test(arguments: Recording.Form.allCases) func bodiesTooLargeToRecordAreDistinguished(form: Recording.Form) throws {
        let (zeros, ones) = (
            Body.bytes([UInt8](repeating: 0, count: Exchange.largestBody + 1)),
            Body.bytes([UInt8](repeating: 1, count: Exchange.largestBody + 1))
        )
        func response(_ body: Body?, from recording: Recording) throws -> String {
            let replay = ReplayHandler(try Recording(parsing: recording.bytes(as: form)))
            let delegate = RecordingDelegate()
            loader(replay, StubHandler { _ in .text("") }).task(for: try Request("http://h/", method: .put, body: body), delegate: delegate)
                .resume()
            return delegate.error?.code.description ?? delegate.text
        }
        var small = Recording()
        small.add(try exchange(.text("abc"), "small"))
        #expect(try response(zeros, from: small) == "notFound")
        #expect(try response(.text("abc"), from: small) == "small")
        var large = small
        large.add(try exchange(zeros, "zeros"))
        #expect(try response(zeros, from: large) == "zeros")
        #expect(try response(ones, from: large) == "notFound")
        #expect(try response(.text("abd"), from: large) == "notFound")
        #expect(try response(nil, from: large) == "notFound")
    }

    // MARK: The limit of events

    private func record() throws -> ExchangeRecord {
        ExchangeRecord(Exchange(.get, try URLRecord(parsing: "http://h/"), began: 0), clock: SystemClock.shared)
    }

    /// Pieces of body beyond the limit are one event, also if the last event before the limit is another one.
    @Test(arguments: [false, true]) func bodyInManyPiecesIsRecordedCompletely(hasTrailersAtTheLimit: Bool) throws {
        let record = try record()
        record.note(.response(Response(url: try URLRecord(parsing: "http://h/"))))
        for _ in 0..<(Exchange.largestEventCount - 2) { record.note(.data([1], count: 1)) }
        record.note(hasTrailersAtTheLimit ? .trailers([:]) : .data([1], count: 1))
        for _ in 0..<1000 { record.note(.data([2, 2], count: 2)) }
        record.note(.finished)
        let exchange = try #require(record.exchange)
        let (bytes, count) = exchange.payload
        #expect(count == Exchange.largestEventCount - (hasTrailersAtTheLimit ? 2 : 1) + 2000 && bytes.count == count && exchange.gap == nil)
        #expect(exchange.moments.count <= Exchange.largestEventCount + 2)
    }

    @Test func loadWithTooManyResponsesIsNotRecorded() throws {
        let record = try record()
        let response = Response(url: try URLRecord(parsing: "http://h/"))
        for _ in 0..<Exchange.largestEventCount {
            record.note(.response(response))
            record.note(.data([1], count: 1))
        }
        record.note(.finished)
        #expect(record.exchange == nil)
    }

    // MARK: The limit of a file

    private func recording(_ count: Int, bodySize: Int) throws -> Recording {
        var recording = Recording()
        for number in 0..<count {
            var exchange = Exchange(.get, try URLRecord(parsing: "http://h/\(number)"), began: 0)
            exchange.note(.response(Response(url: exchange.url)), at: .zero)
            exchange.note(.data([UInt8](repeating: 0xFF, count: bodySize), count: bodySize), at: .zero)
            exchange.note(.finished, at: .zero)
            recording.add(exchange)
        }
        return recording
    }

    @Test(arguments: Recording.Form.allCases) func bodiesAboveTheFileLimitAreLeftOut(form: Recording.Form) throws {
        let whole = try recording(4, bodySize: 30_000)
        let file = whole.file(as: form, limit: 100_000)
        #expect(file.bytes.count <= 100_000 && file.entriesWithoutBody == 2 && file.missingEntries == 0)
        #expect(file.omission == "no file may be larger than 64 MiB: the bodies of 2 of its entries are left out")
        let read = try Recording(parsing: file.bytes)
        #expect(read.exchanges.map { $0.gap == nil } == [true, true, false, false] && read.problems.isEmpty)
        #expect(read.exchanges[3].gap == "it has the first 0 bytes of 30000")
        // A recording that was filled again does not grow.
        var filled = read
        for exchange in whole.exchanges.dropFirst(2) { filled.add(exchange) }
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
