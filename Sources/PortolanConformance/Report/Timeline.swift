// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The last calls across the boundary as a picture (SVG): a lane for each thread, time to the right.
struct Timeline {
    private struct Event {
        let milliseconds: Double
        let thread, words: String
    }

    private let events: [Event]
    private let threads: [String]

    private static let (labelWidth, width, laneHeight, rowHeight) = (110.0, 860.0, 26.0, 13.0)

    /// - Parameter lines: as the journal writes them, `1.234 ms  thread 42  did_load`.
    init(_ lines: [String]) {
        events = lines.compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 4)
            guard parts.count == 5, parts[1] == "ms", parts[2] == "thread", let time = Double(parts[0]) else { return nil }
            return Event(milliseconds: time, thread: String(parts[3]), words: String(parts[4].drop { $0 == " " }))
        }
        threads = events.reduce(into: []) { if !$0.contains($1.thread) { $0.append($1.thread) } }
    }

    var isEmpty: Bool { events.isEmpty }

    /// One `<svg>` element; what stands in it comes from the plugin, and is escaped.
    var svg: String {
        guard let first = events.first?.milliseconds, let last = events.last?.milliseconds else { return "" }
        let span = max(last - first, 0.001)
        let lanes = Double(threads.count) * Self.laneHeight
        let height = lanes + Double(events.count) * Self.rowHeight + 24
        var lines = [
            #"<svg viewBox="0 0 \#(Int(Self.labelWidth + Self.width + 20)) \#(Int(height))" role="img" aria-label="The last calls, by thread">"#
        ]
        for (index, thread) in threads.enumerated() {
            let y = Double(index) * Self.laneHeight + 18
            lines.append(#"<text x="0" y="\#(Self.text(y))">thread \#(Markup.escaped(thread))</text>"#)
            lines.append(
                #"<line class="lane" x1="\#(Self.text(Self.labelWidth))" x2="\#(Self.text(Self.labelWidth + Self.width))" y1="\#(Self.text(y - 4))" y2="\#(Self.text(y - 4))"/>"#
            )
        }
        for (index, event) in events.enumerated() {
            let x = Self.labelWidth + (event.milliseconds - first) / span * Self.width
            let lane = Double(threads.firstIndex(of: event.thread) ?? 0) * Self.laneHeight + 14
            let kind = event.words.hasPrefix("→") ? "in" : event.words.hasPrefix("←") ? "out" : "call"
            let words = Markup.escaped(event.words)
            let time = Self.text(event.milliseconds)
            lines.append(
                #"<circle class="\#(kind)" cx="\#(Self.text(x))" cy="\#(Self.text(lane))" r="4"><title>\#(time) ms \#(words)</title></circle>"#
            )
            let row = lanes + Double(index) * Self.rowHeight + 20
            lines.append(#"<text class="row \#(kind)" x="0" y="\#(Self.text(row))">\#(time) ms</text>"#)
            lines.append(
                #"<text class="row \#(kind)" x="\#(Self.text(Self.labelWidth))" y="\#(Self.text(row))">\#(Markup.escaped(event.thread))  \#(words)</text>"#
            )
        }
        return (lines + ["</svg>"]).joined(separator: "\n")
    }

    /// With three decimals at most, and always a point.
    private static func text(_ number: Double) -> String {
        let thousandths = Int((number * 1000).rounded())
        let fraction = String(abs(thousandths) % 1000)
        return "\(thousandths / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction)"
    }
}
