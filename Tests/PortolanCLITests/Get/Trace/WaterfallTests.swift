// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCore
import PortolanHTML
import PortolanJSON
import PortolanTrace
import Testing

@testable import PortolanCLI

/// The page that `get --trace FILE.html` writes: a row with bars for each request.
@Suite struct WaterfallTests {
    private let url: URLRecord
    private var load = TracedLoad(began: 1_000_000)

    init() throws { url = try URLRecord(parsing: "http://h/a") }

    private func page(_ loads: [TracedLoad]) -> WaterfallPage {
        WaterfallPage(of: Trace(loads: loads), redaction: Redaction(keepsSecrets: false))
    }

    private func response(_ code: Int = 200, _ fields: HTTPFields = [:]) -> LoadEvent {
        .response(Response(url: url, mimeType: .html, status: HTTPResponse.Status(code: code), fields: fields))
    }

    @Test mutating func hiddenFieldsAreCounted() throws {
        for (fields, text) in [
            ([:], "Request fields of the caller: no fields."),
            ([.authorization: "s3cr3t"], "Request fields of the caller: 1 field hidden as possible secrets; --keep-secrets"),
            ([.authorization: "s3cr3t", .accept: "a"], "</dl><p>1 field hidden as"),
        ] as [(HTTPFields, String)] {
            var load = load
            load.record(.started(Request(url: url, fields: fields), handler: nil), at: .zero)
            load.record(response(), at: .milliseconds(1))
            load.record(.finished(LoadTotals()), at: .milliseconds(2))
            let html = page([load]).text
            #expect(html.contains(text) && !html.contains("s3cr3t"))
        }
    }

    /// The bars of a row, as `phase start+length` in milliseconds.
    private static func bars(_ row: WaterfallRow) -> [String] {
        row.bars.map { "\($0.phase.rawValue) \($0.start.milliseconds)+\($0.length.milliseconds)" }
    }

    @Test mutating func phasesOfTheTransferFollowEachOther() throws {
        var metrics = LoadMetrics()
        for (step, time) in [
            (LoadStep.domainResolved, 2), (.connected, 5), (.tlsEstablished, 15), (.requestSent, 16), (.firstByte, 40),
        ] { metrics.recordStep(step, at: .milliseconds(time)) }
        var report = TransferReport(networkProtocol: "h2")
        (report.tlsVersion, report.isTLSResumed, report.remoteAddress) = ("TLSv1.3", true, "127.0.0.1:443")
        (report.bytesSent, report.bytesReceived) = (10, 20)
        metrics.recordTransfer(report, at: .milliseconds(50))
        load.record(.started(Request(url: url), handler: "x"), at: .zero)
        load.record(response(), at: .milliseconds(40))
        load.record(body: [1, 2], of: 2, at: .milliseconds(45))
        load.record(.metrics(metrics, since: .zero), at: .milliseconds(50))
        load.record(.finished(LoadTotals(bytes: 2, redirects: 0)), at: .milliseconds(50))
        let row = try #require(page([load]).rows.first)
        #expect(Self.bars(row) == ["name 0.0+2.0", "connect 2.0+3.0", "tls 5.0+10.0", "send 15.0+1.0", "wait 16.0+24.0", "body 40.0+10.0"])
        #expect((row.status, row.mimeType, row.networkProtocol, row.bodyBytes) == ("200", "text/html", "h2", 2))
        #expect(
            row.connection == "new connection to 127.0.0.1:443, TLSv1.3 resumed, 10 bytes sent, 20 bytes received" && !row.isFailure)
        #expect(row.duration == .milliseconds(50))
    }

    @Test mutating func responseEndsTheWaitOfALoadWithoutANetwork() throws {
        load.record(.started(Request(url: url), handler: nil), at: .zero)
        load.record(response(), at: .milliseconds(3))
        load.record(.finished(LoadTotals()), at: .milliseconds(7))
        let row = try #require(page([load]).rows.first)
        #expect(Self.bars(row) == ["wait 0.0+3.0", "body 3.0+4.0"])
        #expect(row.networkProtocol == nil && row.connection == nil && page([load]).text.contains(#"<td class="wide">–</td>"#))
    }

    @Test mutating func consecutiveDataIsOneEvent() throws {
        load.record(.started(Request(url: url), handler: nil), at: .zero)
        load.record(response(), at: .milliseconds(1))
        for number in 0..<1000 { load.record(body: [], of: 10, at: .milliseconds(2 + number)) }
        load.record(.finished(LoadTotals()), at: .milliseconds(1002))
        let row = try #require(page([load]).rows.first)
        #expect(row.events.map(\.text) == ["response", "data in 1000 pieces, until 1001.0 ms, 10000 bytes", "finished"])
        #expect(row.events.map(\.time) == [.milliseconds(1), .milliseconds(2), .milliseconds(1002)])
        #expect(row.throughput.rates.count == Throughput.bucketCount && row.throughput.bytes == 10_000)
        #expect(page([load]).text.contains("Throughput of the body: 9.7 KiB in 999.0 ms, "))
    }

    @Test func throughputIsMeasuredPerPartOfTheTime() {
        let steady = Throughput([(.zero, 100), (.seconds(1), 100), (.seconds(2), 100), (.seconds(4), 100)])
        #expect(steady.rates == [100, 100, 100, 100] && steady.average == 100 && steady.largest == 100)
        // No bytes arrived in the third of the four seconds.
        #expect(Throughput([(.zero, 4), (.seconds(1), 2), (.seconds(1), 2), (.seconds(4), 8)]).rates == [4, 4, 0, 8])
        for pieces in [[], [(Duration.zero, Int64(5))], [(.zero, 5), (.zero, 5)]] {
            let throughput = Throughput(pieces.map { (time: $0.0, bytes: $0.1) })
            #expect(throughput.rates.isEmpty && throughput.average == nil)
        }
        #expect(Throughput([(.zero, .max), (.seconds(1), .max)]).bytes == .max)
    }

    @Test mutating func rowsOfFailuresAndRedirectsHaveAReason() throws {
        let next = try URLRecord(parsing: "http://u:secret@h/b?token=concealed")
        load.record(.started(Request(url: url), handler: nil), at: .zero)
        load.record(.redirected(to: Request(url: next), Response(url: url, status: .found)), at: .milliseconds(1))
        load.record(.failed(Failure(LoadError(.connectionLost, message: "the server <left>"))), at: .milliseconds(2))
        let page = page([load])
        try #require(page.rows.count == 2)
        #expect(page.rows[0].note?.hasPrefix("Redirect to http://") == true && page.rows[0].status == "302")
        #expect(page.rows[1].status == "failed" && page.rows[1].isFailure && page.rows[1].start.milliseconds == "1.0")
        #expect(page.text.contains("the server &lt;left&gt;") && page.text.contains("✕ failed"))
        #expect(!page.text.contains("secret@") && !page.text.contains("concealed"))
    }

    /// A challenge is an event of the request that got it.
    @Test mutating func challengesAreEventsOfTheirRequests() throws {
        let space = ProtectionSpace(kind: .password(scheme: "digest"), protocolName: "http", host: "h", port: 80, realm: "<r>")
        var refusal = Response(url: url, status: .unauthorized)
        refusal.fields[.wwwAuthenticate] = #"Digest realm="<r>", nonce="n""#
        var metrics = LoadMetrics()
        metrics.recordResend(after: refusal)
        metrics.recordTransfer(TransferReport(networkProtocol: "http/1.1"), at: .milliseconds(2))
        metrics.recordTransfer(TransferReport(networkProtocol: "http/1.1"), at: .milliseconds(6))
        load.record(.started(Request(url: url), handler: "x"), at: .zero)
        load.record(.challenged(space, failures: 0, isTrusted: true, .answered, source: "-u"), at: .milliseconds(3))
        load.record(.challenged(space, failures: 1, isTrusted: true, .notHandled), at: .milliseconds(5))
        load.record(response(401), at: .milliseconds(5))
        load.record(.metrics(metrics, since: .zero), at: .milliseconds(6))
        load.record(.finished(LoadTotals()), at: .milliseconds(6))
        let (page, place) = (page([load]), "Digest challenge of 'h:80', realm '<r>'")
        #expect(
            page.rows.map { $0.events.map(\.text).filter { $0.contains("challenge") } } == [
                ["\(place), 0 failures before it: sending the user name and a hash of the password (from -u)"],
                ["\(place), 1 failure before it: no user name and password for it"],
            ])
        #expect(page.text.contains("realm '&lt;r&gt;'") && !page.text.contains("<r>"))
    }

    @Test mutating func loadThatTheCommandEndedIsIncomplete() throws {
        load.record(.started(Request(url: url), handler: nil), at: .zero)
        load.record(.failed(Failure(.writeFailed, "the disk is full")), at: .milliseconds(2))
        let row = try #require(page([load]).rows.first)
        #expect(row.status == "incomplete" && row.failure == "the disk is full")
    }

    @Test mutating func nestedLoadsAreRowsInOrder() throws {
        let inner = try NestedLoadReport(url: URLRecord(parsing: "http://h/inner"), method: .get, depth: 1)
        load.record(.started(Request(url: url), handler: "outer"), at: .zero)
        load.record(.nestedLoadBegan(inner, handler: "org.x"), at: .milliseconds(2))
        load.record(.nestedLoadBegan(inner, handler: nil), at: .milliseconds(3))
        load.record(.nestedLoadEnded(inner, bytes: 7, nil), at: .milliseconds(5))
        load.record(response(), at: .milliseconds(6))
        load.record(.finished(LoadTotals()), at: .milliseconds(8))
        let page = page([load])
        #expect(page.rows.map(\.url) == ["http://h/a", "http://h/inner", "http://h/inner"])
        #expect(page.rows.map { Self.bars($0) }.dropFirst() == [["nested 2.0+0.0"], ["nested 3.0+2.0"]])
        #expect(page.rows.map(\.note) == [nil, "The end of this load was not recorded.", nil])
        #expect(page.rows.map(\.status) == ["200", "incomplete", "finished"])
        #expect(page.rows.map(\.bodyBytes) == [0, nil, 7] && page.rows.map(\.depth) == [0, 1, 1])
        #expect(page.rows[1].connection == "nested load, handler org.x" && page.text.contains("padding-left:24px"))
    }

    @Test mutating func failedNestedLoadShowsItsReasonInItsRow() throws {
        let inner = try NestedLoadReport(url: URLRecord(parsing: "http://h/inner"), method: .get, depth: 1)
        load.record(.started(Request(url: url), handler: "outer"), at: .zero)
        load.record(.nestedLoadBegan(inner, handler: "org.x"), at: .milliseconds(2))
        load.record(.nestedLoadEnded(inner, bytes: 0, LoadError(.connectionLost, message: "the server <left>")), at: .milliseconds(5))
        load.record(response(), at: .milliseconds(6))
        load.record(.finished(LoadTotals()), at: .milliseconds(8))
        let page = page([load])
        #expect(page.rows.map(\.status) == ["200", "failed"])
        let row = try #require(page.text.split(separator: "<tbody").first { $0.contains("http://h/inner") })
        #expect(row.prefix { $0 != "\u{0}" }.split(separator: "<details>").first?.contains("the server &lt;left&gt;") == true)
    }

    /// The time after the last complete step belongs to the phase in which the load failed.
    @Test(
        arguments: [
            ([], LoadError.Code.nameNotFound, "http://h/", ["name 0.0+50.0"]),
            ([], .cannotConnect, "http://127.0.0.1/", ["connect 0.0+50.0"]),
            ([], .timedOut, "http://127.0.0.1/", ["connect 0.0+50.0"]),
            ([], .timedOut, "http://h/", ["name 0.0+50.0"]),
            ([], .badURL, "data:x", ["wait 0.0+50.0"]),
            ([(.domainResolved, 2)], .cannotConnect, "http://h/", ["name 0.0+2.0", "connect 2.0+48.0"]),
            ([(.domainResolved, 2)], .timedOut, "http://h/", ["name 0.0+2.0", "connect 2.0+48.0"]),
            ([(.domainResolved, 2), (.connected, 5)], .connectionLost, "https://h/", ["name 0.0+2.0", "connect 2.0+3.0", "tls 5.0+45.0"]),
            ([(.connected, 5)], .certificateNotTrusted, "https://h/", ["connect 0.0+5.0", "tls 5.0+45.0"]),
            ([(.connected, 5)], .tunnelFailed, "https://h/", ["connect 0.0+5.0", "tls 5.0+45.0"]),
            ([(.connected, 5)], .bodyFailed, "http://h/", ["connect 0.0+5.0", "send 5.0+45.0"]),
            (
                [(.connectionReused, 5), (.requestSent, 6)], .emptyResponse, "http://h/",
                ["queue 0.0+5.0", "send 5.0+1.0", "wait 6.0+44.0"]
            ),
        ] as [([(LoadStep, Int)], LoadError.Code, String, [String])])
    mutating func failureIsDrawnInThePhaseInWhichItHappened(
        steps: [(LoadStep, Int)], code: LoadError.Code, url: String, bars: [String]
    ) throws {
        var metrics = LoadMetrics()
        for (step, time) in steps { metrics.recordStep(step, at: .milliseconds(time)) }
        load.record(.started(Request(url: try URLRecord(parsing: url)), handler: nil), at: .zero)
        if !steps.isEmpty { load.record(.metrics(metrics, since: .zero), at: .milliseconds(50)) }
        load.record(.failed(Failure(LoadError(code, message: "it failed"))), at: .milliseconds(50))
        #expect(try Self.bars(#require(page([load]).rows.first)) == bars)
        // The timings of the HTTP Archive have the same sum.
        let transaction = try #require(load.transactions.first)
        let timings = try #require(HTTPArchive.entry(transaction)["timings"])
        var sum = 0.0
        for name in ["blocked", "dns", "connect", "send", "wait", "receive"] {
            if case .number(let number)? = timings[name] { sum += max(0, Double(number) ?? 0) }
        }
        #expect(abs(sum - 50) < 0.01)
    }

    /// The server refused the upload before the whole body was sent.
    @Test mutating func earlyResponseEndsTheSending() throws {
        var metrics = LoadMetrics()
        metrics.recordStep(.connected, at: .milliseconds(1))
        metrics.recordStep(.firstByte, at: .milliseconds(10))
        metrics.recordTransfer(TransferReport(networkProtocol: "http/1.1"), at: .milliseconds(15))
        load.record(.started(Request(url: url), handler: nil), at: .zero)
        load.record(response(413), at: .milliseconds(10))
        load.record(.metrics(metrics, since: .zero), at: .milliseconds(15))
        load.record(.finished(LoadTotals()), at: .milliseconds(15))
        #expect(try Self.bars(#require(page([load]).rows.first)) == ["connect 0.0+1.0", "send 1.0+9.0", "wait 10.0+0.0", "body 10.0+5.0"])
    }

    /// The times in the details of a row count from the start of its request.
    @Test mutating func timesOfTheDetailsStartWithTheirRequest() throws {
        load.record(.started(Request(url: url), handler: nil), at: .zero)
        load.record(.redirected(to: Request(url: url), Response(url: url, status: .found)), at: .milliseconds(100))
        load.record(response(), at: .milliseconds(103))
        load.record(.finished(LoadTotals()), at: .milliseconds(107))
        let text = page([load]).text
        let start = try #require(text.firstRange(of: "Details of request 2"))
        let details = text[start.upperBound...]
        #expect(details.contains(#"Awaiting response</th><td class="number">0.0</td><td class="number">3.0</td>"#))
        #expect(details.contains(#"Receiving</th><td class="number">3.0</td><td class="number">4.0</td>"#))
        #expect(details.contains(#"<td class="number">3.0</td><td>response</td>"#))
    }

    @Test mutating func loadWithMoreEventsThanTheLimitIsComplete() throws {
        let count = Transaction.maximumEventCount + 5000
        load.record(.started(Request(url: url), handler: nil), at: .zero)
        load.record(response(), at: .milliseconds(1))
        for number in 0..<count {
            load.record(body: [7], of: 10, at: .milliseconds(2) + .microseconds(number))
            if number > Transaction.maximumEventCount { load.record(.step(.requestSent), at: .milliseconds(2) + .microseconds(number)) }
        }
        load.record(.finished(LoadTotals(bytes: Int64(count) * 10, redirects: 0)), at: .seconds(2))
        #expect(load.events.count <= Transaction.maximumEventCount + 2 && load.lostEvents == 0)
        let row = try #require(page([load]).rows.first)
        #expect(row.status == "200" && !row.isFailure && row.note == nil && row.duration == .seconds(2))
        #expect(row.bodyBytes == Int64(count) * 10)
        let transaction = try #require(load.transactions.first)
        #expect(transaction.receivedBody.bytes.count == count && transaction.incompleteness?.hasSuffix("bytes of \(count * 10)") == true)
    }

    /// The page shows the first 1000 rows, but its totals include all requests. Nested loads do not count as requests.
    @Test mutating func totalsIncludeRowsBeyondTheLimit() throws {
        let inner = try NestedLoadReport(url: URLRecord(parsing: "http://h/inner"), method: .get, depth: 1)
        load.record(.started(Request(url: url), handler: "outer"), at: .zero)
        load.record(.nestedLoadBegan(inner, handler: "org.x"), at: .milliseconds(2))
        load.record(.nestedLoadEnded(inner, bytes: 7, nil), at: .milliseconds(5))
        load.record(response(), at: .milliseconds(6))
        load.record(body: [], of: 1024, at: .milliseconds(7))
        load.record(.finished(LoadTotals()), at: .milliseconds(8))
        let text = page(Array(repeating: load, count: 1200)).text
        #expect(text.contains("1200 requests in 1200 loads, 1.1 MiB of bodies, "))
        #expect(text.contains("1400 rows beyond the first 1000 are left out."))
    }

    @Test func pageNeedsNoBodies() throws {
        var load = TracedLoad(began: 1_000_000, keepsBodies: false)
        #expect(load.remainingCapacity == 0)
        load.record(.started(Request(url: url, method: .post, body: .bytes([1, 2, 3])), handler: nil), at: .zero)
        load.record(response(), at: .milliseconds(1))
        load.record(body: [], of: 1 << 30, at: .milliseconds(2))
        load.record(.finished(LoadTotals()), at: .milliseconds(3))
        #expect(load.transactions.first?.body == nil)
        #expect(page([load]).rows.first?.bodyBytes == 1 << 30)
    }

    @Test mutating func hostileTextIsEscaped() throws {
        let name = try #require(HTTPField.Name("X-A"))
        load.record(.started(Request(url: url, method: try #require(.init("A'B")), fields: [name: "<i>"]), handler: "<h>"), at: .zero)
        load.record(response(200, [name: #"</dd><script>"x"&"#]), at: .zero)
        load.record(.trailers([name: "<b>"]), at: .zero)
        load.record(.finished(LoadTotals()), at: .zero)
        let text = page([load]).text
        for fragment in ["<script", "<i>", "<b>", "<h>"] { #expect(!text.contains(fragment), "\(fragment)") }
        for fragment in ["&lt;/dd&gt;&lt;script&gt;&quot;x&quot;&amp;", "&lt;i&gt;", "&lt;b&gt;"] {
            #expect(text.contains(fragment), "\(fragment)")
        }
    }

    /// The rows, the events, the fields and the characters of a value have limits.
    @Test mutating func largeTracesAreShortened() throws {
        let name = try #require(HTTPField.Name("X-Long"))
        load.record(.started(Request(url: url), handler: nil), at: .zero)
        for _ in 0..<300 { load.record(.interim(Response(url: url, status: .init(code: 103))), at: .zero) }
        load.record(response(200, [name: String(repeating: "v", count: 5000)]), at: .zero)
        load.record(.finished(LoadTotals()), at: .zero)
        let pageWithManyEvents = page([load])
        #expect(pageWithManyEvents.text.contains("102 events not shown") && pageWithManyEvents.rows[0].events.count == 302)
        var shortLoad = TracedLoad(began: 1_000_000)
        shortLoad.record(.started(Request(url: url), handler: nil), at: .zero)
        shortLoad.record(response(200, [name: String(repeating: "v", count: 5000)]), at: .zero)
        shortLoad.record(.finished(LoadTotals()), at: .zero)
        let text = page([shortLoad]).text
        #expect(text.contains(String(repeating: "v", count: 2000) + " …") && !text.contains(String(repeating: "v", count: 2001)))
        let pageWithManyRows = page(Array(repeating: shortLoad, count: 1500))
        #expect(pageWithManyRows.rows.count == 1000 && pageWithManyRows.text.contains("500 rows beyond the first 1000 are left out."))
        #expect(pageWithManyRows.text.contains("1500 requests in 1500 loads"))
        #expect(page([]).text.contains("0 requests in 0 loads"))
        let textWithDetailsLimit = WaterfallPage(
            of: Trace(loads: [shortLoad, shortLoad, shortLoad]), redaction: Redaction(keepsSecrets: false), detailsLimit: 4000
        ).text
        #expect(textWithDetailsLimit.ranges(of: "Left out: the page has reached its limit.").count == 2)
    }

    /// The limit applies to the first row, too.
    @Test mutating func oneRowDoesNotExceedTheLimitOfThePage() throws {
        var fields = HTTPFields()
        for number in 0..<100 { fields[try #require(HTTPField.Name("X-\(number)"))] = String(repeating: "&", count: 1000) }
        load.record(.started(Request(url: url), handler: nil), at: .zero)
        for _ in 0..<20 { load.record(.interim(Response(url: url, status: .init(code: 103), fields: fields)), at: .zero) }
        load.record(response(), at: .zero)
        load.record(.finished(LoadTotals()), at: .zero)
        let limit = 1 << 20
        let text = WaterfallPage(of: Trace(loads: [load]), redaction: Redaction(keepsSecrets: true), detailsLimit: limit).text
        #expect(text.utf8.count < limit && text.contains("Left out: the page has reached its limit."))
    }

    private static let labelsOfTheShortestAxis = ["0 µs", "0.2 µs", "0.4 µs", "0.6 µs", "0.8 µs", "1 µs"]

    @Test(arguments: [
        (0.001, Self.labelsOfTheShortestAxis), (0.0, Self.labelsOfTheShortestAxis),
        (0.0034, ["0 µs", "0.5 µs", "1 µs", "1.5 µs", "2 µs", "2.5 µs", "3 µs"]),
        (1, ["0 ms", "0.2 ms", "0.4 ms", "0.6 ms", "0.8 ms", "1 ms"]),
        (329, ["0 ms", "50 ms", "100 ms", "150 ms", "200 ms", "250 ms", "300 ms"]),
        (4200, ["0 s", "1 s", "2 s", "3 s", "4 s"]), (.infinity, Self.labelsOfTheShortestAxis), (.nan, Self.labelsOfTheShortestAxis),
        (-5, Self.labelsOfTheShortestAxis),
    ])
    func ticksAreAtRoundTimes(milliseconds: Double, labels: [String]) {
        let ticks = TimeAxis(to: milliseconds).ticks
        #expect(ticks.count <= 10 && ticks.map(\.milliseconds) == ticks.map(\.milliseconds).sorted())
        #expect(ticks.map(\.label) == labels)
    }

    @Test func axisOfAnyDurationHasTwoToTenTicks() {
        for exponent in -8...14 {
            for factor in [1.0, 1.7, 2, 4.9, 9.99] {
                var span = factor
                for _ in 0..<abs(exponent) { span = exponent < 0 ? span / 10 : span * 10 }
                let ticks = TimeAxis(to: span).ticks
                #expect((2...10).contains(ticks.count), "\(span): \(ticks.count)")
                #expect((ticks.last?.milliseconds ?? 0) <= max(span, 0.001) * 1.0001)
            }
        }
    }
}
