// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCore
import PortolanHTML
import PortolanTrace
import Testing

@testable import PortolanCLI

/// The page of `get --trace FILE.html`.
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

    private static func bars(_ row: WaterfallRow) -> [String] {
        row.bars.map { "\($0.phase.rawValue) \($0.start.milliseconds)+\($0.length.milliseconds)" }
    }

    @Test mutating func phasesOfTheTransferFollowEachOther() throws {
        var metrics = LoadMetrics()
        for (step, time) in [
            (LoadStep.domainResolved, 2), (.connected, 5), (.tlsEstablished, 15), (.requestSent, 16), (.firstByte, 40),
        ] { metrics.note(step, at: .milliseconds(time)) }
        var report = TransferReport(networkProtocol: "h2")
        (report.tlsVersion, report.isTLSResumed, report.remoteAddress) = ("TLSv1.3", true, "127.0.0.1:443")
        (report.bytesSent, report.bytesReceived) = (10, 20)
        metrics.note(report, at: .milliseconds(50))
        load.note(.started(Request(url: url), handler: "x"), at: .zero)
        load.note(response(), at: .milliseconds(40))
        load.note(body: [1, 2], of: 2, at: .milliseconds(45))
        load.note(.metrics(metrics, since: .zero), at: .milliseconds(50))
        load.note(.finished(LoadTotals(bytes: 2, redirects: 0)), at: .milliseconds(50))
        let row = try #require(page([load]).rows.first)
        #expect(Self.bars(row) == ["name 0.0+2.0", "connect 2.0+3.0", "tls 5.0+10.0", "send 15.0+1.0", "wait 16.0+24.0", "body 40.0+10.0"])
        #expect((row.status, row.mimeType, row.networkProtocol, row.bodyBytes) == ("200", "text/html", "h2", 2))
        #expect(
            row.connection == "new connection to 127.0.0.1:443, TLSv1.3 resumed, 10 bytes sent, 20 bytes received" && !row.isFailure)
        #expect(row.time == .milliseconds(50))
    }

    @Test mutating func withoutANetworkTheResponseEndsTheWait() throws {
        load.note(.started(Request(url: url), handler: nil), at: .zero)
        load.note(response(), at: .milliseconds(3))
        load.note(.finished(LoadTotals()), at: .milliseconds(7))
        let row = try #require(page([load]).rows.first)
        #expect(Self.bars(row) == ["wait 0.0+3.0", "body 3.0+4.0"])
        #expect(row.networkProtocol == nil && row.connection == nil && page([load]).text.contains(#"<td class="wide">–</td>"#))
    }

    @Test mutating func runsOfDataAreOneEvent() throws {
        load.note(.started(Request(url: url), handler: nil), at: .zero)
        load.note(response(), at: .milliseconds(1))
        for number in 0..<1000 { load.note(body: [], of: 10, at: .milliseconds(2 + number)) }
        load.note(.finished(LoadTotals()), at: .milliseconds(1002))
        let row = try #require(page([load]).rows.first)
        #expect(row.events.map(\.text) == ["response", "data in 1000 pieces, until 1001.0 ms, 10000 bytes", "finished"])
        #expect(row.events.map(\.time) == [.milliseconds(1), .milliseconds(2), .milliseconds(1002)])
        #expect(row.throughput.rates.count == Throughput.bucketCount && row.throughput.bytes == 10_000)
        #expect(page([load]).text.contains("Throughput of the body: 9.7 KiB in 999.0 ms, "))
    }

    @Test func throughputCountsTheBytesOfEachPartOfTheTime() {
        let steady = Throughput([(.zero, 100), (.seconds(1), 100), (.seconds(2), 100), (.seconds(4), 100)])
        #expect(steady.rates == [100, 100, 100, 100] && steady.average == 100 && steady.largest == 100)
        // Nothing came in the third of four seconds.
        #expect(Throughput([(.zero, 4), (.seconds(1), 2), (.seconds(1), 2), (.seconds(4), 8)]).rates == [4, 4, 0, 8])
        for pieces in [[], [(Duration.zero, Int64(5))], [(.zero, 5), (.zero, 5)]] {
            let throughput = Throughput(pieces.map { (time: $0.0, bytes: $0.1) })
            #expect(throughput.rates.isEmpty && throughput.average == nil)
        }
        #expect(Throughput([(.zero, .max), (.seconds(1), .max)]).bytes == .max)
    }

    @Test mutating func failuresAndRedirectsSayWhatHappened() throws {
        let next = try URLRecord(parsing: "http://u:secret@h/b?token=concealed")
        load.note(.started(Request(url: url), handler: nil), at: .zero)
        load.note(.redirected(to: Request(url: next), Response(url: url, status: .found)), at: .milliseconds(1))
        load.note(.failed(Failure(LoadError(.connectionLost, message: "the server <left>"))), at: .milliseconds(2))
        let page = page([load])
        try #require(page.rows.count == 2)
        #expect(page.rows[0].note?.hasPrefix("Redirect to http://") == true && page.rows[0].status == "302")
        #expect(page.rows[1].status == "failed" && page.rows[1].isFailure && page.rows[1].start.milliseconds == "1.0")
        #expect(page.text.contains("the server &lt;left&gt;") && page.text.contains("✕ failed"))
        #expect(!page.text.contains("secret@") && !page.text.contains("concealed"))
    }

    @Test mutating func aLoadThatTheCommandEndedIsIncomplete() throws {
        load.note(.started(Request(url: url), handler: nil), at: .zero)
        load.note(.failed(Failure(.writeFailed, "the disk is full")), at: .milliseconds(2))
        let row = try #require(page([load]).rows.first)
        #expect(row.status == "incomplete" && row.isFailure && row.note == "the disk is full")
    }

    @Test mutating func nestedLoadsAreRowsInOrder() throws {
        let inner = try InnerReport(url: URLRecord(parsing: "http://h/inner"), method: .get, depth: 1)
        load.note(.started(Request(url: url), handler: "outer"), at: .zero)
        load.note(.innerBegan(inner, handler: "org.x"), at: .milliseconds(2))
        load.note(.innerBegan(inner, handler: nil), at: .milliseconds(3))
        load.note(.innerEnded(inner, bytes: 7, nil), at: .milliseconds(5))
        load.note(response(), at: .milliseconds(6))
        load.note(.finished(LoadTotals()), at: .milliseconds(8))
        let page = page([load])
        #expect(page.rows.map(\.url) == ["http://h/a", "http://h/inner", "http://h/inner"])
        #expect(page.rows.map { Self.bars($0) }.dropFirst() == [["nested 2.0+0.0"], ["nested 3.0+2.0"]])
        #expect(page.rows.map(\.note) == [nil, "The end of this load was not recorded.", nil])
        #expect(page.rows.map(\.bodyBytes) == [0, nil, 7] && page.rows.map(\.depth) == [0, 1, 1])
        #expect(page.rows[1].connection == "nested load, handler org.x" && page.text.contains("padding-left:24px"))
    }

    @Test mutating func hostileTextIsEscaped() throws {
        let name = try #require(HTTPField.Name("X-A"))
        load.note(.started(Request(url: url, method: try #require(.init("A'B")), fields: [name: "<i>"]), handler: "<h>"), at: .zero)
        load.note(response(200, [name: #"</dd><script>"x"&"#]), at: .zero)
        load.note(.trailers([name: "<b>"]), at: .zero)
        load.note(.finished(LoadTotals()), at: .zero)
        let text = page([load]).text
        for mark in ["<script", "<i>", "<b>", "<h>"] { #expect(!text.contains(mark), "\(mark)") }
        for mark in ["&lt;/dd&gt;&lt;script&gt;&quot;x&quot;&amp;", "&lt;i&gt;", "&lt;b&gt;"] { #expect(text.contains(mark), "\(mark)") }
    }

    /// The rows, the events, the fields and the characters of a value have limits.
    @Test mutating func largeTracesAreCut() throws {
        let name = try #require(HTTPField.Name("X-Long"))
        load.note(.started(Request(url: url), handler: nil), at: .zero)
        for _ in 0..<300 { load.note(.interim(Response(url: url, status: .init(code: 103))), at: .zero) }
        load.note(response(200, [name: String(repeating: "v", count: 5000)]), at: .zero)
        load.note(.finished(LoadTotals()), at: .zero)
        let one = page([load])
        #expect(one.text.contains("102 events not shown") && one.rows[0].events.count == 302)
        var short = TracedLoad(began: 1_000_000)
        short.note(.started(Request(url: url), handler: nil), at: .zero)
        short.note(response(200, [name: String(repeating: "v", count: 5000)]), at: .zero)
        short.note(.finished(LoadTotals()), at: .zero)
        let text = page([short]).text
        #expect(text.contains(String(repeating: "v", count: 2000) + " …") && !text.contains(String(repeating: "v", count: 2001)))
        let many = page(Array(repeating: short, count: 1500))
        #expect(many.rows.count == 1000 && many.text.contains("500 rows beyond the first 1000 are left out."))
        #expect(many.text.contains("1500 requests in 1500 loads"))
        #expect(page([]).text.contains("0 requests in 0 loads"))
        let limited = WaterfallPage(
            of: Trace(loads: [short, short, short]), redaction: Redaction(keepsSecrets: false), detailsLimit: 4000
        ).text
        #expect(limited.ranges(of: "Left out: the page has reached its limit.").count == 1)
    }

    private static let shortest = ["0 µs", "0.2 µs", "0.4 µs", "0.6 µs", "0.8 µs", "1 µs"]

    @Test(arguments: [
        (0.001, Self.shortest), (0.0, Self.shortest), (0.0034, ["0 µs", "0.5 µs", "1 µs", "1.5 µs", "2 µs", "2.5 µs", "3 µs"]),
        (1, ["0 ms", "0.2 ms", "0.4 ms", "0.6 ms", "0.8 ms", "1 ms"]),
        (329, ["0 ms", "50 ms", "100 ms", "150 ms", "200 ms", "250 ms", "300 ms"]),
        (4200, ["0 s", "1 s", "2 s", "3 s", "4 s"]), (.infinity, Self.shortest), (.nan, Self.shortest), (-5, Self.shortest),
    ])
    func ticksAreRound(span: Double, labels: [String]) {
        let ticks = TimeAxis(to: span).ticks
        #expect(ticks.count <= 10 && ticks.map(\.milliseconds) == ticks.map(\.milliseconds).sorted())
        #expect(ticks.map(\.label) == labels)
    }

    @Test func anySpanHasFewTicks() {
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
