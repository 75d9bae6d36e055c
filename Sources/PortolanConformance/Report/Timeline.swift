// SPDX-License-Identifier: Apache-2.0

import PortolanHTML

/// The last calls between the runner and a plugin: a picture (SVG) with a lane for each thread of each load and the
/// time to the right, and a table of the calls.
struct Timeline: Sendable {
    private enum Kind: String, CaseIterable {
        case call, `return`, event

        init(_ entry: CallLogEntry) {
            self = entry.calledFunction != nil ? .call : entry.returnedFunction != nil ? .return : .event
        }

        var meaning: String {
            switch self {
            case .call: "the runner calls the plugin"
            case .return: "the plugin returns"
            case .event: "the plugin calls the runner"
            }
        }

        /// The shape around the origin, as an SVG path.
        var path: String {
            switch self {
            case .call: "M-4,-5 L5,0 L-4,5 Z"
            case .return: "M4,-5 L-5,0 L4,5 Z"
            case .event: "M0,-4.5 A4.5,4.5 0 1 1 0,4.5 A4.5,4.5 0 1 1 0,-4.5 Z"
            }
        }
    }

    /// The calls of one load; `load` is `nil` for calls that belong to no load.
    private struct Group {
        let load: Int?
        var entries: [CallLogEntry] = []

        var title: String { load.map { "Load \($0)" } ?? "No load" }
        var threads: [Substring] { entries.reduce(into: []) { if !$0.contains($1.thread) { $0.append($1.thread) } } }
    }

    private let groups: [Group]
    /// The smallest and the largest time of a call, in milliseconds since the start of the check.
    private let range: ClosedRange<Double>
    /// The number of calls.
    private let count: Int

    /// The limit of times in milliseconds, which is a thousand days, because the plugin can have overwritten the log.
    private static let largestTime = 86_400_000_000.0
    private static let (labelWidth, width, laneHeight, axisHeight) = (150.0, 800.0, 34.0, 22.0)
    /// The width of one character of a name in the picture.
    private static let characterWidth = 6.7

    /// - Parameter lines: Lines in the form of the call log. Others are left out.
    init(_ lines: [String]) {
        let entries = lines.compactMap(CallLogEntry.init)
        var groups: [Group] = []
        for entry in entries {
            let index = groups.firstIndex { $0.load == entry.load } ?? groups.endIndex
            if index == groups.endIndex { groups.append(Group(load: entry.load)) }
            groups[index].entries.append(entry)
        }
        let times = entries.map { min(max($0.milliseconds, 0), Self.largestTime) }
        (self.groups, count) = (groups, entries.count)
        range = (times.min() ?? 0)...(times.max() ?? 0)
    }

    var isEmpty: Bool { count == 0 }

    /// One `<figure>`. Its content comes from the plugin, and is escaped.
    var figure: String {
        let legend = Kind.allCases.map { kind in
            #"<li><svg class="key" viewBox="-6 -6 12 12" width="12" height="12" aria-hidden="true">\#(shape(kind))</svg> \#(kind.meaning)</li>"#
        }
        return """
            <figure class="calls">
            <figcaption>The last \(ValueFormatting.count(count, "call")) between the runner and the plugin, by load and thread. The axis begins with the first of them; the list has the times since the start of the check.</figcaption>
            <ul class="legend">\(legend.joined())</ul>
            <div class="scroll" tabindex="0" role="group" aria-label="Picture of the calls">\(svg)</div>
            <details><summary>List of the calls</summary>
            <div class="scroll">\(table)</div>
            </details>
            </figure>
            """
    }

    /// The picture. The table has the same content for readers that cannot see the picture.
    var svg: String {
        let span = max(range.upperBound - range.lowerBound, 0.001)
        let laneCount = groups.reduce(0) { $0 + $1.threads.count }
        let height = Self.axisHeight + Double(laneCount) * Self.laneHeight + 4
        var lines = [
            #"<svg viewBox="0 0 \#(Int(Self.labelWidth + Self.width + 40)) \#(Int(height))" role="img" aria-label="Calls by load and thread; the list below has them as text">"#
        ]
        for tick in TimeAxis(to: span).ticks {
            let x = text(Self.labelWidth + tick.milliseconds / span * Self.width)
            lines.append(#"<line class="grid" x1="\#(x)" x2="\#(x)" y1="\#(text(Self.axisHeight - 4))" y2="\#(text(height))"/>"#)
            lines.append(#"<text class="axis" x="\#(x)" y="12" text-anchor="middle">+\#(tick.label)</text>"#)
        }
        var y = Self.axisHeight + Self.laneHeight / 2 - 5
        for group in groups {
            for thread in group.threads {
                lines.append(#"<text x="0" y="\#(text(y + 4))">\#(HTMLEscaping.escaped("\(group.title), thread \(thread)"))</text>"#)
                lines.append(
                    #"<line class="lane" x1="\#(text(Self.labelWidth))" x2="\#(text(Self.labelWidth + Self.width))" y1="\#(text(y))" y2="\#(text(y))"/>"#
                )
                let entries = group.entries.filter { $0.thread == thread }
                for entry in entries {
                    let time = min(max(entry.milliseconds, 0), Self.largestTime)
                    lines.append(
                        #"<g transform="translate(\#(text(x(of: entry, span))),\#(text(y)))">\#(shape(Kind(entry)))<title>\#(text(time)) ms \#(HTMLEscaping.escaped(entry.phrase))</title></g>"#
                    )
                }
                lines += names(of: entries, span, y + 17)
                y += Self.laneHeight
            }
        }
        return (lines + ["</svg>"]).joined(separator: "\n")
    }

    private func x(of entry: CallLogEntry, _ span: Double) -> Double {
        Self.labelWidth + (min(max(entry.milliseconds, 0), Self.largestTime) - range.lowerBound) / span * Self.width
    }

    /// The names under the shapes of one lane. If there is no room for a name, it is counted after the name before it:
    /// `→ run, +3`.
    private func names(of entries: [CallLogEntry], _ span: Double, _ y: Double) -> [String] {
        var labels: [(x: Double, name: String, count: Int)] = []
        for entry in entries {
            let x = x(of: entry, span)
            // Room for the count, too.
            if let last = labels.indices.last, x < labels[last].x + Double(labels[last].name.count + 6) * Self.characterWidth {
                labels[last].count += 1
            } else {
                labels.append((x, entry.name, 0))
            }
        }
        return labels.map { label in
            let name = HTMLEscaping.escaped(label.name) + (label.count > 0 ? ", +\(label.count)" : "")
            let isAtTheEnd = label.x > Self.labelWidth + Self.width * 0.8
            return
                #"<text class="name" x="\#(text(label.x + (isAtTheEnd ? 5 : -5)))" y="\#(text(y))"\#(isAtTheEnd ? #" text-anchor="end""# : "")>\#(name)</text>"#
        }
    }

    private var table: String {
        let bodies = groups.map { group in
            let rows = group.entries.map { entry in
                let time = text(min(max(entry.milliseconds, 0), Self.largestTime))
                return
                    #"<tr><td class="number">\#(time)</td><td class="number">\#(HTMLEscaping.escaped(String(entry.thread)))</td><td><code>\#(HTMLEscaping.escaped(entry.phrase))</code></td></tr>"#
            }
            return #"<tbody><tr><th colspan="3" scope="rowgroup">\#(group.title)</th></tr>"# + rows.joined(separator: "\n") + "</tbody>"
        }
        return """
            <table><thead><tr><th scope="col" class="number">Time (ms)</th><th scope="col" class="number">Thread</th><th scope="col">Call</th></tr></thead>
            \(bodies.joined(separator: "\n"))
            </table>
            """
    }

    private func shape(_ kind: Kind) -> String { #"<path class="\#(kind.rawValue)" d="\#(kind.path)"/>"# }

    /// A number with three decimals, and always a decimal point.
    private func text(_ number: Double) -> String {
        let thousandths = Int((number * 1000).rounded())
        return "\(thousandths / 1000).\(String(abs(thousandths) % 1000 + 1000).dropFirst())"
    }

    static let style = """
        .calls .scroll > svg { width: 100%; min-width: 44rem; } .calls .lane { stroke: var(--line); } .calls tbody th { font-weight: 600; padding-top: .6rem; }
        .calls table { width: auto; min-width: 60%; } .calls td { border: 0; padding: .05rem .6rem; }
        path.call { fill: var(--good); } path.return { fill: none; stroke: var(--good); stroke-width: 1.5; } path.event { fill: var(--odd); }
        .key { vertical-align: -1px; } .calls .name { font-size: 10px; }
        """
}
