// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanConformance
import PortolanTrace

/// A trace as one self-contained page, with a picture of the events of each load.
enum TracePage {
    /// For longer loads, the picture shows the beginning and the end.
    private static let shownEvents = 400

    static func page(of trace: Trace) -> String {
        let articles = trace.loads.map { load in
            let events = load.events.map(event)
            let shown = events.count <= shownEvents ? events : Array(events.prefix(shownEvents / 2) + events.suffix(shownEvents / 2))
            let left = events.count - shown.count + load.lostEvents
            return """
                <h2>\(HTMLEscaping.escaped(title(of: load)))</h2>
                <p>Started \(load.began.timestamp)\(left > 0 ? "; \(left) events in the middle are not shown" : "").</p>
                <figure>\(Timeline(shown).svg)</figure>
                """
        }
        return HTMLPage.text(title: "Loads", body: "<h1>Loads</h1>\n" + articles.joined(separator: "\n"))
    }

    private static func title(of load: TracedLoad) -> String {
        for case .event(.started(let request, _)) in load.events.map(\.kind) {
            return "\(request.method.rawValue) \(request.url.redacted)"
        }
        return "a load that did not start"
    }

    private static func event(_ event: TracedLoad.TraceEvent) -> Timeline.Event {
        let (lane, words, kind) = words(for: event.kind)
        return Timeline.Event(milliseconds: event.time / .milliseconds(1), lane: lane, words: words, kind: kind)
    }

    private static func words(for kind: TracedLoad.TraceEventKind) -> (lane: String, words: String, kind: Timeline.Kind) {
        guard case .event(let event) = kind else {
            guard case .data(_, let count) = kind else { return ("response", "", .call) }
            return ("response", "data, \(count) bytes", .out)
        }
        switch event {
        case .started(let request, let handler):
            return ("request", "started, \(request.url.redacted), by \(handler ?? "no handler")", .call)
        case .redirected(let request, let response):
            return ("response", "redirected (\(response.status?.code ?? 0)) to \(request.url.redacted)", .out)
        case .challenged(let space, let failures, _, _):
            return ("response", "\(space.kindName) challenge by \(space.host)\(failures > 0 ? ", \(failures) failures so far" : "")", .out)
        case .innerBegan(let inner, let handler):
            return ("nested \(inner.depth)", "started, \(inner.url.redacted), by \(handler ?? "no handler")", .call)
        case .innerEnded(let inner, let bytes, let error):
            return ("nested \(inner.depth)", "ended with \(error?.name ?? "\(bytes) bytes")", .out)
        case .interim(let response): return ("response", "interim response \(response.status?.code ?? 0)", .out)
        case .response(let response):
            return (
                "response", "response \(response.status.map { "\($0.code)" } ?? ""), \(response.mimeType?.description ?? "no type")", .out
            )
        case .trailers(let fields): return ("response", "trailers, \(fields.count)", .out)
        case .sent(let progress): return ("request", "sent \(progress.sent) bytes", .call)
        case .step(let step): return ("connection", "\(step)", .call)
        case .metrics(let metrics, _): return ("connection", "\(metrics.timings.count) requests in total", .call)
        case .retrying(let failure, let wait, _):
            return ("request", "trying again in \(wait.secondsText) s: \(failure.message ?? "")", .call)
        case .finished(let totals): return ("response", "finished, \(totals.bytes) bytes", .out)
        case .failed(let failure): return ("response", "failed: \(failure.message ?? "")", .out)
        }
    }
}
