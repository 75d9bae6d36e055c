// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore
import PortolanHTML
import PortolanTrace

/// A trace as one self-contained page, like the network panel of a browser: a row for each request and for each nested
/// load, with bars for its phases on a common time axis. Each row opens to its phases, heads, body and events.
struct WaterfallPage: Sendable {
    static let (maximumRowCount, maximumEventCount, maximumValueLength) = (1000, 200, 2000)

    let rows: [WaterfallRow]
    /// The number of rows that the page omits, because it has reached its limit.
    private let omittedRowCount: Int
    /// The number of all requests, including those in omitted rows. Nested loads are not requests of the command.
    private let requestCount: Int
    private let bodyBytes: Int64
    private let loadCount: Int
    private let lostEvents: Int
    private let began: Double
    private let detailsLimit: Int

    /// - Parameters:
    ///   - redaction: Removes secrets from the loads.
    ///   - detailsLimit: The size of the rows in bytes after which the page omits the details of further rows.
    init(of trace: Trace, redaction: Redaction, detailsLimit: Int = 32 << 20) {
        self.detailsLimit = detailsLimit
        let origin = trace.loads.map(\.began).min() ?? 0
        var rows: [WaterfallRow] = []
        var (omittedRowCount, requestCount, bodyBytes) = (0, 0, Int64(0))
        for load in trace.loads {
            let requestRows = load.requests.map { request in
                var row = WaterfallRow(request.transaction.redacted(by: redaction), since: origin)
                row.countHiddenFields(of: WaterfallRow(request.transaction, since: origin))
                row.add(request.challenges.map { WaterfallRow.Event(time: $0.time, text: redaction.text($0.text)) })
                return row
            }
            requestCount += requestRows.count
            for row in requestRows { bodyBytes = bodyBytes.addingSaturated(row.bodyBytes ?? 0) }
            let all = requestRows + Self.nestedRows(in: load.redacted(by: redaction), since: origin)
            // Nested loads follow the request in which they began.
            let sorted = all.enumerated().sorted { ($0.element.start, $0.offset) < ($1.element.start, $1.offset) }.map(\.element)
            let remainingCapacity = max(0, Self.maximumRowCount - rows.count)
            rows += sorted.prefix(remainingCapacity)
            omittedRowCount += max(0, sorted.count - remainingCapacity)
        }
        (self.rows, self.omittedRowCount, began, loadCount) = (rows, omittedRowCount, origin, trace.loads.count)
        (self.requestCount, self.bodyBytes) = (requestCount, bodyBytes)
        lostEvents = trace.loads.reduce(0) { $0 + $1.lostEvents + $1.lostTransportEvents }
    }

    private static func nestedRows(in load: TracedLoad, since origin: Double) -> [WaterfallRow] {
        let offset = Duration.seconds(max(0, load.began - origin))
        var rows: [WaterfallRow] = []
        /// The loads that have begun and not ended.
        var open: [(inner: NestedLoadReport, handler: String?, start: Duration)] = []
        for event in load.events {
            switch event.kind {
            case .event(.nestedLoadBegan(let inner, let handler)): open.append((inner, handler, event.time))
            case .event(.nestedLoadEnded(let inner, let bytes, let error)):
                let begin = open.lastIndex { $0.inner == inner }.map { open.remove(at: $0) }
                rows.append(
                    WaterfallRow(
                        inner, handler: begin?.handler, from: offset + (begin?.start ?? event.time), to: offset + event.time, bytes: bytes,
                        error: error))
            default: break
            }
        }
        return rows
            + open.map { WaterfallRow($0.inner, handler: $0.handler, from: offset + $0.start, to: nil, bytes: nil, error: nil) }
    }

    // MARK: Markup

    var text: String {
        let span = max((rows.map(\.end).max() ?? .zero) / .milliseconds(1), 0.001)
        let body = """
            <header>
            <h1>Loads</h1>
            <p>\(HTMLEscaping.escaped(summary(span)))</p>
            </header>
            <main>
            <ul class="legend">\(WaterfallRow.Phase.allCases.map { #"<li><span class="key \#($0.rawValue)"></span> \#($0.meaning)</li>"# }.joined())</ul>
            \(table(span))
            </main>
            """
        return HTMLPage.text(title: "Loads", style: Self.style, body: body)
    }

    /// - Parameter span: the length of the time axis, in milliseconds.
    private func summary(_ span: Double) -> String {
        var text =
            "\(String(requestCount, of: "request")) in \(String(loadCount, of: "load")), \(size(bodyBytes)) of bodies, "
            + "\(TimeAxis.number((span * 10).rounded() / 10)) ms. Started \(began.timestamp)."
        if omittedRowCount > 0 { text += " \(String(omittedRowCount, of: "row")) beyond the first \(Self.maximumRowCount) are left out." }
        if lostEvents > 0 { text += " \(String(lostEvents, of: "event")) were not recorded." }
        return text
    }

    private func table(_ span: Double) -> String {
        let axis = TimeAxis(to: span, atMost: 5)
        let step = axis.ticks.count > 1 ? axis.ticks[1].milliseconds / span * 100 : 100
        let labels = axis.ticks.map { #"<span style="left:\#(TimeAxis.number($0.milliseconds / span * 100))%">\#($0.label)</span>"# }
        return """
            <table class="waterfall" style="--step:\(TimeAxis.number(step))%">
            <caption class="offscreen">Requests and nested loads, in order of their start. The details of each follow in the row below it.</caption>
            <thead><tr><th scope="col">Request</th><th scope="col">Status</th><th scope="col" class="wide">Protocol</th><th scope="col" class="wide">Type</th><th scope="col" class="number">Size</th><th scope="col" class="number">Time</th><th scope="col" class="chart"><span class="offscreen">Phases</span><div class="axis" aria-hidden="true">\(labels.joined())</div></th></tr></thead>
            \(tableBodies(span))
            </table>
            """
    }

    /// Returns a `<tbody>` element for each row.
    private func tableBodies(_ span: Double) -> String {
        var text = ""
        for (index, row) in rows.enumerated() {
            let details = details(of: row, atMost: detailsLimit - text.utf8.count) ?? "<p>Left out: the page has reached its limit.</p>"
            text += tableBody(row, number: index + 1, details, span) + "\n"
        }
        return text
    }

    private func tableBody(_ row: WaterfallRow, number: Int, _ details: String, _ span: Double) -> String {
        let indent = row.depth > 0 ? #" style="padding-left:\#(min(row.depth, 8) * 14 + 10)px""# : ""
        let nested = row.depth > 0 ? #"<span class="note">nested </span>"# : ""
        let failure = row.failure.map { #"<br><span class="reason">\#(escapedValue($0))</span>"# } ?? ""
        let bars = row.bars.map { bar in
            let (left, width) = (bar.start / .milliseconds(1) / span * 100, bar.length / .milliseconds(1) / span * 100)
            return
                #"<span class="bar \#(bar.phase.rawValue)" style="left:\#(TimeAxis.number(left))%;width:\#(TimeAxis.number(width))%"></span>"#
        }
        let phrase = row.bars.map { "\($0.phase.title) \($0.length.milliseconds) ms" }.joined(separator: ", ")
        return """
            <tbody\(row.isFailure ? #" class="failure""# : "")>
            <tr><th scope="row"\(indent)>\(nested)\(HTMLEscaping.escaped(row.method)) <span class="url">\(escapedValue(row.url))</span>\(failure)</th>\
            <td>\(row.isFailure ? "✕ " : "")\(row.status.map(HTMLEscaping.escaped) ?? "–")</td>\
            <td class="wide">\(row.networkProtocol.map(HTMLEscaping.escaped) ?? "–")</td><td class="wide">\(row.mimeType.map(escapedValue) ?? "–")</td>\
            <td class="number">\(row.bodyBytes.map(size) ?? "–")</td><td class="number">\(row.duration.milliseconds) ms</td>\
            <td class="chart"><div class="track" role="img" aria-label="Starts at \(row.start.milliseconds) ms: \(phrase)">\(bars.joined())</div></td></tr>
            <tr class="more"><td colspan="7"><details><summary>Details of request \(number)</summary>
            \(details)
            </details></td></tr>
            </tbody>
            """
    }

    /// - Returns: `nil` if the details have more than `limit` bytes.
    private func details(of row: WaterfallRow, atMost limit: Int) -> String? {
        guard limit > 0 else { return nil }
        var parts: [String] = []
        if let note = row.note { parts.append("<p>\(escapedValue(note))</p>") }
        if let connection = row.connection { parts.append("<p>\(escapedValue(connection))</p>") }
        let phases = row.bars.map {
            #"<tr><th scope="row"><span class="key \#($0.phase.rawValue)"></span> \#($0.phase.title)</th><td class="number">\#(($0.start - row.start).milliseconds)</td><td class="number">\#($0.length.milliseconds)</td></tr>"#
        }
        parts.append(
            """
            <table><caption class="offscreen">Phases. Times count from the start of this request.</caption>
            <thead><tr><th scope="col">Phase</th><th scope="col" class="number">Start (ms)</th><th scope="col" class="number">Length (ms)</th></tr></thead>
            <tbody>\(phases.joined())</tbody></table>
            """)
        if row.depth == 0 {
            parts.append(head("Request fields of the caller", row.requestFields, hidden: row.hiddenRequestFieldCount))
            var length = 0
            for response in row.heads.prefix(Self.maximumEventCount) {
                let part = head("Response: \(response.title)", response.fields, hidden: response.hiddenFieldCount)
                length += part.utf8.count
                guard length <= limit else { return nil }
                parts.append(part)
            }
        }
        parts.append(throughputChart(row.throughput))
        if !row.events.isEmpty { parts.append(events(row.events)) }
        let text = parts.filter { !$0.isEmpty }.joined(separator: "\n")
        return text.utf8.count <= limit ? text : nil
    }

    private func head(_ title: String, _ fields: [FieldList.Pair], hidden hiddenCount: Int) -> String {
        let note = hiddenCount > 0 ? "\(String(hiddenCount, of: "field")) hidden as possible secrets; --keep-secrets shows them" : nil
        guard !fields.isEmpty else { return "<p>\(escapedValue(title)): \(note ?? "no fields").</p>" }
        let lines = fields.prefix(Self.maximumEventCount).map { "<dt>\(escapedValue($0.name))</dt><dd>\(escapedValue($0.value))</dd>" }
        let rest = fields.count - lines.count
        return """
            <details><summary>\(escapedValue(title))</summary><dl class="fields">\(lines.joined())</dl>\
            \(rest > 0 ? "<p>\(String(rest, of: "field")) more.</p>" : "")\(note.map { "<p>\($0).</p>" } ?? "")</details>
            """
    }

    private func events(_ events: [WaterfallRow.Event]) -> String {
        let half = Self.maximumEventCount / 2
        let isLong = events.count > Self.maximumEventCount
        let shown = isLong ? Array(events.prefix(half) + events.suffix(half)) : events
        var lines = shown.map { #"<tr><td class="number">\#($0.time.milliseconds)</td><td>\#(escapedValue($0.text))</td></tr>"# }
        if isLong { lines.insert("<tr><td></td><td>\(String(events.count - shown.count, of: "event")) not shown</td></tr>", at: half) }
        return """
            <details><summary>Events</summary><table class="events"><thead><tr><th scope="col" class="number">Time (ms)</th>\
            <th scope="col">Event</th></tr></thead><tbody>\(lines.joined(separator: "\n"))</tbody></table></details>
            """
    }

    private func throughputChart(_ throughput: Throughput) -> String {
        guard let largest = throughput.largest, let average = throughput.average, largest > 0 else { return "" }
        let (width, height) = (600.0, 60.0)
        let step = width / Double(throughput.rates.count)
        var path = "M0,\(Int(height))"
        for (index, rate) in throughput.rates.enumerated() {
            let y = TimeAxis.number(height - rate / largest * height)
            path += " L\(TimeAxis.number(Double(index) * step)),\(y) L\(TimeAxis.number(Double(index + 1) * step)),\(y)"
        }
        let phrase =
            "\(size(throughput.bytes)) in \((throughput.end - throughput.start).milliseconds) ms, \(ProgressBar.size(average))/s on average, "
            + "\(ProgressBar.size(largest))/s at most"
        return """
            <figure><figcaption>Throughput of the body: \(phrase)</figcaption>
            <svg class="curve" viewBox="0 0 600 60" preserveAspectRatio="none" role="img" aria-label="Throughput: \(phrase)"><path d="\(path) L600,60 Z"/></svg></figure>
            """
    }

    private func escapedValue(_ text: String) -> String {
        guard text.unicodeScalars.count > Self.maximumValueLength else { return HTMLEscaping.escaped(text) }
        return HTMLEscaping.escaped(String(String.UnicodeScalarView(text.unicodeScalars.prefix(Self.maximumValueLength)))) + " …"
    }

    private func size(_ bytes: Int64) -> String { ProgressBar.size(Double(bytes)) }

    private static let style = """
        :root { --queue: #8c959f; --name: #0a7f83; --connect: #b35900; --tls: #8250df; --send: #57606a; --wait: #1a7f37; --body: #0969da; --nested: #8c959f; }
        @media (prefers-color-scheme: dark) { :root { --queue: #6e7681; --name: #39c5cf; --connect: #f0883e; --tls: #bc8cff; --send: #8b949e; --wait: #3fb950; --body: #58a6ff; --nested: #6e7681; } }
        body { max-width: 90rem; }
        .key { display: inline-block; width: 1em; height: .7em; border-radius: 2px; }
        .waterfall > thead th, .waterfall > tbody > tr:first-child > td { white-space: nowrap; overflow-wrap: normal; }
        .waterfall > thead th { vertical-align: bottom; } .waterfall > tbody > tr:first-child > * { border-bottom: 0; padding-bottom: 0; }
        .url { font-family: ui-monospace, monospace; font-size: .92em; }
        .chart { width: 40%; min-width: 9rem; } .axis { position: relative; height: 1.3em; font-size: .8rem; font-weight: normal; }
        .axis span { position: absolute; white-space: nowrap; overflow-wrap: normal; padding-left: 3px; border-left: 1px solid var(--line); }
        .axis span:last-child:not(:first-child) { transform: translateX(-100%); border-left: 0; border-right: 1px solid var(--line); padding: 0 3px 0 0; }
        .track { position: relative; height: 1.1em; margin-top: .2em;
          background: repeating-linear-gradient(to right, var(--line) 0 1px, transparent 1px var(--step)); }
        .bar { position: absolute; top: 15%; height: 70%; min-width: 2px; }
        .queue { background: var(--queue); } .name { background: var(--name); } .connect { background: var(--connect); } .tls { background: var(--tls); }
        .send { background: var(--send); } .wait { background: var(--wait); } .body { background: var(--body); }
        .nested { background: repeating-linear-gradient(45deg, var(--nested) 0 3px, transparent 3px 6px); }
        .reason { color: var(--bad); font-size: .85rem; }
        .failure > tr:first-child > td:nth-of-type(1) { color: var(--bad); font-weight: 600; }
        .more > td { padding-top: 0; } .more details { border: 0; padding: 0; margin: 0; } .more summary { color: var(--dim); font-size: .85rem; }
        .more details details { margin: .5rem 0; } .more table { width: auto; } .more table td, .more table th { border: 0; padding: .05rem .8rem .05rem 0; }
        .fields dt { font-family: ui-monospace, monospace; font-size: .85rem; } .fields dd { font-family: ui-monospace, monospace; font-size: .85rem; }
        .curve { width: 100%; max-width: 600px; height: 60px; background: var(--panel); } .curve path { fill: var(--body); }
        @media (max-width: 50rem) { .axis span:not(:first-child):not(:last-child), .wide { display: none; } .waterfall > thead th:first-child { min-width: 7rem; } th, td { padding: .25rem .3rem; }
          .fields { grid-template-columns: 1fr; } }
        """
}

extension WaterfallRow.Phase {
    /// The name of the phase in `RequestTimings`, as words.
    fileprivate var title: String {
        switch self {
        case .queue: "Waiting"
        case .name: "Domain lookup"
        case .connect: "Connecting"
        case .tls: "TLS handshake"
        case .send: "Sending"
        case .wait: "Awaiting response"
        case .body: "Receiving"
        case .nested: "Nested load"
        }
    }

    fileprivate var meaning: String {
        switch self {
        case .queue: "Waiting for a free connection"
        case .tls: "TLS handshake, with a proxy's tunnel"
        case .name, .connect, .send, .wait, .body, .nested: title
        }
    }
}

extension Int64 {
    /// The sum, or the largest number on overflow.
    fileprivate func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, didOverflow) = addingReportingOverflow(other)
        return didOverflow ? .max : sum
    }
}
