// SPDX-License-Identifier: Apache-2.0

import PortolanHTML

/// The results as an HTML page without other files. Each row has bars for Portolan and its peers, with their numbers,
/// and a line for the budget.
struct BenchReportPage {
    private let results: [RowResult]

    init(_ results: [RowResult]) { self.results = results }

    var text: String {
        let exceeded = results.filter { !$0.within }.map(\.name)
        let summary =
            results.isEmpty
            ? "No row was measured."
            : exceeded.isEmpty
                ? "All \(results.count) rows are within their budgets."
                : "\(exceeded.count) of \(results.count) rows are over their budgets: \(exceeded.joined(separator: ", "))."
        let body = """
            <header>
            <h1>Benchmarks</h1>
            <p>\(HTMLEscaping.escaped(summary))</p>
            <p class="note">Medians of processor time, measured in turns in one run. The ratio is Portolan's value to the peer's.</p>
            <ul class="legend"><li><span class="key own"></span> Portolan</li><li><span class="key peer"></span> Peer</li><li><span class="key limit"></span> Budget</li></ul>
            </header>
            <main class="scroll">
            <table>
            <thead><tr><th scope="col">Row</th><th scope="col">Program</th><th scope="col" class="number">Value</th><th scope="col" class="number">Ratio</th><th scope="col" class="chart"><span class="offscreen">Bar</span></th></tr></thead>
            \(results.map(rows).joined(separator: "\n"))
            </table>
            </main>
            """
        return HTMLPage.text(title: "Portolan's benchmarks", style: Self.style, body: body)
    }

    private func rows(of result: RowResult) -> String {
        let peers = result.peers.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        let largest = ([result.value] + peers.map(\.value) + result.limits).filter(\.isFinite).max() ?? 0
        let unit = Unit(rawValue: result.unit)
        let better = unit.map { $0.isRate ? "more is better" : "less is better" } ?? ""
        let name = """
            <th scope="rowgroup" rowspan="\(peers.count + 1)"><b>\(HTMLEscaping.escaped(result.name))</b><br>
            <span class="\(result.within ? "within" : "over")">\(result.within ? "✓ within budget" : "✕ over budget"): \(HTMLEscaping.escaped(result.budget))</span><br>
            <span class="note">\(HTMLEscaping.escaped(result.unit)), \(better)</span></th>
            """
        func row(_ program: String, _ value: Double, ratio: String, isPortolan: Bool) -> String {
            let limits = result.limits.map { #"<span class="line" style="left:\#(percent($0, of: largest))%"></span>"# }.joined()
            return """
                <tr>\(isPortolan ? name : "")<td>\(isPortolan ? "<b>Portolan</b>" : HTMLEscaping.escaped(program))</td><td class="number">\(Figure.short(value))</td>\
                <td class="number">\(ratio)</td><td class="chart"><div class="track" aria-hidden="true"><span class="bar \(isPortolan ? "own" : "peer")" style="width:\(percent(value, of: largest))%"></span>\(limits)</div></td></tr>
                """
        }
        let lines =
            [row("Portolan", result.value, ratio: "", isPortolan: true)]
            + peers.map { row($0.key, $0.value, ratio: $0.value == 0 ? "–" : Figure.short(result.value / $0.value), isPortolan: false) }
        return "<tbody>\(lines.joined(separator: "\n"))</tbody>"
    }

    private func percent(_ value: Double, of largest: Double) -> String {
        guard value.isFinite, largest > 0 else { return "0" }
        return TimeAxis.number(min(max(value / largest, 0), 1) * 100)
    }

    private static let style = """
        :root { --own: #0969da; --peer: #8c959f; } @media (prefers-color-scheme: dark) { :root { --own: #58a6ff; --peer: #6e7681; } }
        table { min-width: 40rem; } tbody td { border-bottom: 0; padding-top: .1rem; padding-bottom: .1rem; } tbody th { width: 15rem; }
        tbody tr:last-child > td { border-bottom: 1px solid var(--line); padding-bottom: .7rem; } tbody tr:first-child > * { padding-top: .6rem; }
        .within { color: var(--good); font-size: .85rem; } .over { color: var(--bad); font-size: .85rem; font-weight: 600; }
        .chart { width: 45%; min-width: 14rem; } .track { position: relative; height: 1.2em; } .bar { position: absolute; top: 15%; height: 70%; min-width: 1px; }
        .own { background: var(--own); } .peer { background: var(--peer); } .line { position: absolute; top: -4px; bottom: -4px; border-left: 2px dashed var(--text); }
        .key { display: inline-block; width: 1em; height: .7em; } .key.limit { border-left: 2px dashed var(--text); width: .3em; height: 1em; vertical-align: -2px; }
        """
}
