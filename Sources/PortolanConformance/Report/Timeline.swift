// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// A picture of events (SVG): a lane for each thread or each participant, with time to the right.
package struct Timeline: Sendable {
    package enum Kind: String, Sendable {
        /// A call into a plugin.
        case `in`
        /// A return from a plugin, or the result of a load.
        case out
        case call
    }

    package struct Event: Sendable {
        let milliseconds: Double
        let lane, words: String
        let kind: Kind

        /// - Parameter milliseconds: The time. NaN becomes 0; larger times become the limit of the picture, a thousand
        ///   days.
        package init(milliseconds: Double, lane: String, words: String, kind: Kind) {
            self.milliseconds = milliseconds.isNaN ? 0 : min(max(milliseconds, 0), 86_400_000_000)
            (self.lane, self.words, self.kind) = (lane, words, kind)
        }
    }

    private let events: [Event]
    private let lanes: [String]

    private static let (labelWidth, width, laneHeight, rowHeight) = (110.0, 860.0, 26.0, 13.0)

    package init(_ events: [Event]) {
        self.events = events
        lanes = events.reduce(into: []) { if !$0.contains($1.lane) { $0.append($1.lane) } }
    }

    /// - Parameter lines: Lines in the form of the call log.
    init(_ lines: [String]) {
        self.init(
            lines.compactMap { line in
                guard let line = CallLogEntry(line) else { return nil }
                let kind: Kind = line.entered != nil ? .in : line.left != nil ? .out : .call
                return Event(milliseconds: line.milliseconds, lane: "thread \(line.thread)", words: line.words, kind: kind)
            })
    }

    var isEmpty: Bool { events.isEmpty }

    /// One `<svg>` element. Its content comes from the plugin, and is escaped.
    package var svg: String {
        // A plugin may have overwritten the log, so the times may be out of order.
        let times = events.map(\.milliseconds)
        guard let first = times.min(), let last = times.max() else { return "" }
        let span = max(last - first, 0.001)
        let laneHeight = Double(lanes.count) * Self.laneHeight
        let height = laneHeight + Double(events.count) * Self.rowHeight + 24
        var lines = [
            #"<svg viewBox="0 0 \#(Int(Self.labelWidth + Self.width + 20)) \#(Int(height))" role="img" aria-label="Events by lane">"#
        ]
        for (index, lane) in lanes.enumerated() {
            let y = Double(index) * Self.laneHeight + 18
            lines.append(#"<text x="0" y="\#(Self.text(y))">\#(HTMLEscaping.escaped(lane))</text>"#)
            lines.append(
                #"<line class="lane" x1="\#(Self.text(Self.labelWidth))" x2="\#(Self.text(Self.labelWidth + Self.width))" y1="\#(Self.text(y - 4))" y2="\#(Self.text(y - 4))"/>"#
            )
        }
        for (index, event) in events.enumerated() {
            let x = Self.labelWidth + (event.milliseconds - first) / span * Self.width
            let lane = Double(lanes.firstIndex(of: event.lane) ?? 0) * Self.laneHeight + 14
            let kind = event.kind.rawValue
            let words = HTMLEscaping.escaped(event.words)
            let time = Self.text(event.milliseconds)
            lines.append(
                #"<circle class="\#(kind)" cx="\#(Self.text(x))" cy="\#(Self.text(lane))" r="4"><title>\#(time) ms \#(words)</title></circle>"#
            )
            let row = laneHeight + Double(index) * Self.rowHeight + 20
            lines.append(#"<text class="row \#(kind)" x="0" y="\#(Self.text(row))">\#(time) ms</text>"#)
            lines.append(
                #"<text class="row \#(kind)" x="\#(Self.text(Self.labelWidth))" y="\#(Self.text(row))">\#(HTMLEscaping.escaped(event.lane))  \#(words)</text>"#
            )
        }
        return (lines + ["</svg>"]).joined(separator: "\n")
    }

    /// A number with three decimals, and always a decimal point.
    private static func text(_ number: Double) -> String {
        let thousandths = Int((number * 1000).rounded())
        let fraction = String(abs(thousandths) % 1000)
        return "\(thousandths / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction)"
    }
}
