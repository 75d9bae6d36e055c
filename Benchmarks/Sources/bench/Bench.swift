// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

/// `bench`
@main
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Compare Portolan with its peers and with raw loops.",
        discussion: """
            With BENCH_SLOW=ROW in the environment, Portolan does the work of that row three times in each run, so that the row exceeds its budget.
            Exit status: 0; 1 if a row could not be measured or, with --strict, exceeds its budget; 64 if the command line is invalid.
            """,
        subcommands: [MemoryReport.self])

    @Option(name: .customLong("row"), help: "Measure this row only. May be given several times.")
    var names: [String] = []

    @Option(help: "The number of rounds. Each competitor runs once in a round; the result is the median.")
    var rounds = 7

    @Option(
        help:
            "The file for the results, as JSON; a page of bars is written beside it, with the extension .html. (default: .build/bench/results.json with report.html, with --grid grid.json)"
    )
    var output: String?

    @Option(help: "The folder for files that are created once and kept.")
    var scratch = ".build/bench/files"

    @Option(help: "The folder with the plugin libraries.")
    var plugins = ".build/bench/plugins"

    @Option(help: "The portolan program whose start is measured.")
    var portolan = ".build/benchmarks/release/portolan"

    @Option(help: "The program that starts nginx for the http: rows.")
    var servers = "Tests/Servers/serve"

    @Option(help: "Divide the numbers of loads in the http: and https: rows of 1 KiB by this, for a quick check without exact figures.")
    var divisor = 1

    @Flag(help: "Measure http: for several numbers of loads in flight and several body sizes, instead of the rows.")
    var grid = false

    @Flag(help: "Run only Portolan, for a profiler. No budget is checked, and no results are written.")
    var alone = false

    @Flag(help: "List the rows.")
    var list = false

    @Flag(help: "Exit with status 1 if a row exceeds its budget.")
    var strict = false

    func validate() throws {
        if let output, Self.reportFile(beside: Self.absolute(output)).path == Self.absolute(output) {
            throw ValidationError("--output \(output): the page of bars gets this name; name a .json file for the results")
        }
        guard (1...1000).contains(rounds) else { throw ValidationError("--rounds \(rounds): give a number from 1 to 1000") }
        guard divisor >= 1 else { throw ValidationError("--divisor \(divisor): give a number from 1") }
        let known = rows.map(\.name)
        let requested = names.map { ("--row", $0) } + (Self.slowRow.map { [("BENCH_SLOW", $0)] } ?? [])
        guard let (source, name) = requested.first(where: { !known.contains($0.1) }) else { return }
        throw ValidationError("\(source) \(name): there is no such row; the rows are \(known.joined(separator: ", "))")
    }

    func run() async throws {
        if list { return printList() }
        Self.unsetProxyVariables()
        let makers = rows.filter { names.isEmpty || names.contains($0.name) }
        let fixture = Fixture(
            scratch: Self.absolute(scratch), plugins: Self.absolute(plugins), portolan: Self.absolute(portolan),
            servers: Self.absolute(servers), divisor: divisor)
        if alone { return try await runAlone(makers, fixture) }
        printHead()
        var results: [RowResult] = []
        for maker in makers {
            if let result = await report(maker, fixture) { results.append(result) }
        }
        try finish(results, of: makers.count)
    }

    private var rows: [RowMaker] { grid ? HTTPGrid.all : RowMaker.all }

    /// No load uses a proxy, because all URLs are on this machine.
    private static func unsetProxyVariables() {
        for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] { unsafe unsetenv(name) }
    }

    private func runAlone(_ makers: [RowMaker], _ fixture: Fixture) async throws {
        for maker in makers {
            let row = try make(maker, fixture)
            let (value, _) = try await Measurement(rounds: rounds).measure(row.withoutPeers)
            print("\(maker.name): \(Figure.short(value)) \(row.unit.rawValue)")
        }
    }

    private func printList() {
        for maker in rows { print(Table.line(name: maker.name, summary: maker.summary)) }
    }

    private func printHead() {
        print("\(LibCurl.version.prefix { $0 != " " }), zlib \(Inflate.version); processor time, medians of \(rounds) interleaved rounds")
        print(Table.head)
    }

    private func finish(_ results: [RowResult], of count: Int) throws {
        let file = Self.absolute(output ?? ".build/bench/\(grid ? "grid" : "results").json")
        try results.write(to: file)
        let page = BenchReportPage(results).text
        try Data(page.utf8).write(to: Self.reportFile(beside: file), options: .atomic)
        if results.count < count || (strict && !results.allSatisfy(\.within)) { throw ExitCode(1) }
    }

    /// `report.html` beside results.json, and NAME.html beside NAME.json.
    private static func reportFile(beside path: String) -> URL {
        let file = URL(fileURLWithPath: path)
        let name = file.deletingPathExtension().lastPathComponent
        return file.deletingLastPathComponent().appendingPathComponent("\(name == "results" ? "report" : name).html")
    }

    /// Measures a row and prints its line; `nil` if the measurement fails.
    private func report(_ maker: RowMaker, _ fixture: Fixture) async -> RowResult? {
        do {
            let (row, result) = try await measure(maker, fixture)
            print(Table.line(for: result, peers: row.peers.map(\.name)))
            return result
        } catch {
            FileHandle.standardError.write(Data("bench: \(maker.name): \(error)\n".utf8))
            return nil
        }
    }

    private func measure(_ maker: RowMaker, _ fixture: Fixture) async throws -> (Row, RowResult) {
        let row = try make(maker, fixture)
        let (value, peers) = try await Measurement(rounds: rounds).measure(row)
        let result = RowResult(
            name: maker.name, unit: row.unit.rawValue, value: value, peers: peers, budget: row.budget.text,
            limits: row.budget.limits(peers), within: row.budget.isKept(value, peers))
        return (row, result)
    }

    private func make(_ maker: RowMaker, _ fixture: Fixture) throws -> Row {
        let row = try maker.make(fixture)
        guard Self.slowRow == maker.name else { return row }
        return row.repeatingSubject(3)
    }

    private static var slowRow: String? {
        ProcessInfo.processInfo.environment["BENCH_SLOW"].flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func absolute(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.path
    }
}
