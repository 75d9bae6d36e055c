// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanConformance
import PortolanFileSystem
import PortolanJSON

/// `portolan check`
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check a plugin against the rules of the contract.",
        discussion: """
            Each check runs in its own process. If a plugin crashes or hangs, the report says so, and the other checks continue. The URLs come
            from the manifest's conformance section. A check without a suitable URL is skipped. The report gives the number of skipped checks. The
            exit status is 0 only if no check failed and at least one check ran.
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json, tap, tap13, junit, html }

    @Argument(
        help: ArgumentHelp(
            "An identifier, a folder, a manifest or a library; or a built-in scheme: data:, file:, http: or https:.", valueName: "plugin"),
        completion: .file())
    var plugin: String?

    @Flag(help: "List the checks with their levels and rules, and run none.")
    var list = false

    @Option(help: ArgumentHelp("Explain these rules: IDs or categories, separated by commas. Run no check.", valueName: "ids"))
    var explain: String?

    @Option(
        help: ArgumentHelp(
            "Run the checks up to this level: 1 loading the plugin, 2 single loads, 3 order, cancellation and threads, 4 stress, and the use of network and files "
                + "(SEC-07), 5 performance.",
            valueName: "number"))
    var level = 3

    @Option(help: ArgumentHelp("Run only these checks: IDs or categories, separated by commas.", valueName: "ids"))
    var filter: String?

    @Option(
        help: ArgumentHelp(
            "A JSON file with the 'conformance' section of a manifest: test URLs and their expected results. For built-in schemes.",
            valueName: "file"),
        completion: .file())
    var loads: String?

    @Option(
        name: .customLong("have"),
        help: ArgumentHelp(
            "A server that runs already, for URLs that need it. The other servers of the manifest's 'services' are started, and ended after the checks.",
            valueName: "name=host:port"))
    var runningServers: [RunningServer] = []

    @Option(help: ArgumentHelp("Run this many checks at the same time.", valueName: "number"))
    var jobs = 2

    @Option(help: ArgumentHelp("Report a check as hung after this time.", valueName: "seconds"))
    var timeout = 20.0

    @Option(help: ArgumentHelp("The seed of the random input.", valueName: "number"))
    var seed: UInt64 = 1

    @Option(name: .customLong("repeat"), help: ArgumentHelp("Run each check this many times.", valueName: "number"))
    var repetitions = 1

    @Flag(help: "Run the checks in this process, for debuggers. A plugin that crashes ends the process.")
    var inProcess = false

    @Flag(
        help: """
            Run the checks under Valgrind, and report what memcheck finds in the plugin: invalid access, uninitialised values, wrong frees, leaks \
            (MEM). Takes minutes; each check has ten times its --timeout.
            """)
    var sanitizer = false

    @Option(name: .customLong("memcheck-folder"), help: .hidden)
    var memcheckFolder: String?

    @Option(name: .customLong("memcheck-subject"), help: .hidden)
    var memcheckTarget: String?

    @Flag(name: .customLong("json"), help: "Print JSON, on one line; the same as --format json.")
    var isJSON = false

    @Option(help: "The format of the results. tap is TAP 14; tap13 is the older format, which prove(1) of Perl 5.36 reads.")
    var format = Format.text

    @Flag(name: .shortAndLong, help: "Show passed and skipped checks, too.")
    var verbose = false

    func validate() throws {
        guard (1...5).contains(level) else { throw ValidationError("--level is 1 to 5, not \(level)") }
        guard (1...64).contains(jobs) else { throw ValidationError("--jobs is 1 to 64, not \(jobs)") }
        guard (1...10_000).contains(repetitions) else { throw ValidationError("--repeat is 1 to 10000, not \(repetitions)") }
        guard timeout >= 0.1, timeout <= 86_400 else { throw ValidationError("--timeout is 0.1 to 86400 seconds") }
        if sanitizer, inProcess { throw ValidationError("--sanitizer runs each check in its own process; leave out --in-process") }
        if isJSON, format != .text, format != .json {
            throw ValidationError("--json and --format \(format) are two formats; leave out one")
        }
        if plugin == nil, !list, explain == nil {
            throw ValidationError("name a plugin, list the checks with --list, or explain a rule with --explain")
        }
    }

    private var chosenFormat: Format { isJSON ? .json : format }

    func run() throws {
        SignalHandler.ignoreClosedPipes()
        if let explain { return try RuleExplanation.write(try namedRules(explain), asJSON: chosenFormat == .json) }
        let checks = try chosenChecks()
        guard !list, let plugin else { return try CheckList.write(checks, asJSON: chosenFormat == .json) }
        let folder = try runFolder()
        defer { folder.remove() }
        var runner = ConformanceRunner(try CheckTarget.target(memcheckTarget ?? plugin, loads: loads, in: folder))
        if sanitizer, memcheckFolder == nil {
            try Memcheck.replaceProcess(checking: runner.target, plugin, CommandLine.arguments, in: folder)
        }
        let servers = try CheckServers(for: runner.target, running: runningServers, in: folder)
        defer { servers.end() }
        runner.target = servers.target
        runner.folder = folder
        (runner.seed, runner.timeLimit) = (seed, .seconds(timeout))
        runner.makeNestedLoader = CheckTarget.nestedLoader(for: runner.target)
        let hasSanitizer = runner.target.library != nil && !sanitizer
        var report = TextReport(repeatingBy: command(for: plugin), isVerbose: verbose, hasSanitizer: hasSanitizer)
        var results: [CheckResult] = []
        // If the command is interrupted, the next line of the shell overwrites the progress line.
        var progress = CheckProgress(checks.count * repetitions, on: Descriptor.standardError.isTerminal ? .standardError : nil)
        func show(_ result: CheckResult) throws {
            results.append(result)
            let lines = chosenFormat == .text ? report.lines(for: result) : []
            guard !lines.isEmpty else { return }
            progress.clear()
            try StandardOutput.write(lines.map { PlainText.line($0) + "\n" }.joined())
        }
        func countResult(isFailure: Bool) {
            progress.countResult(isFailure: isFailure)
            progress.draw()
        }
        if memcheckFolder != nil {
            let all = (0..<repetitions).flatMap { _ in checks }
            for result in try runner.checkMemory(during: all, jobs: jobs, MemcheckRun(logs: folder.path), countResult) { try show(result) }
        } else {
            try runChecks(checks, by: runner) { result in
                try show(result)
                countResult(isFailure: result.verdict.isFailure)
            }
        }
        progress.clear()
        let summary = Summary(results)
        try write(summary, runner.target, plugin)
        guard !summary.isSuccess else { return }
        // The other formats have no place for it.
        let serverOutput = servers.outputLines.map { PlainText.line($0) + "\n" }.joined()
        if chosenFormat == .text { try StandardOutput.write(serverOutput) } else { Diagnostics.write(serverOutput) }
        throw Failure(
            .checkFailed,
            summary.isSkippedEntirely ? "no check of '\(plugin)' could run, so the result says nothing about the plugin; -v shows why" : nil
        )
    }

    /// The folder for all files of this run.
    private func runFolder() throws -> RunFolder {
        if let memcheckFolder {
            guard let folder = RunFolder(inherited: memcheckFolder) else {
                throw ValidationError("--memcheck-folder is for internal use; leave it out")
            }
            return folder
        }
        do throws(RunFolder.CreationError) { return try RunFolder() } catch { throw Failure(.writeFailed, error.description) }
    }

    private func runChecks(_ checks: [ConformanceCheck], by runner: ConformanceRunner, _ show: (CheckResult) throws -> Void) throws {
        let all = (0..<repetitions).flatMap { _ in checks }
        if inProcess {
            for check in all { try show(runner.result(of: check)) }
        } else {
            try runner.run(all, jobs: jobs, show)
        }
    }

    /// Returns the checks that `--level` and `--filter` select. A check that `--filter` names by its ID is selected at
    /// every level. `--sanitizer` excludes the PERF checks, because speed under Valgrind means nothing.
    private func chosenChecks() throws -> [ConformanceCheck] {
        let named = try namedChecks()
        guard sanitizer else { return named }
        let checks = named.filter { $0.rule.category != "PERF" }
        guard !checks.isEmpty else {
            throw ValidationError("--sanitizer: PERF checks mean nothing under Valgrind; name other checks with --filter")
        }
        return checks
    }

    private func namedRules(_ ids: String) throws -> [ConformanceRule] {
        let words = Self.words(of: ids)
        for word in words where !RuleCatalogue.rules.contains(where: { $0.id == word || $0.category == word }) {
            throw ValidationError("--explain: there is no rule or category '\(word)'; see 'portolan check --list'")
        }
        guard !words.isEmpty else { throw ValidationError("--explain names no rule; see 'portolan check --list'") }
        return RuleCatalogue.rules.filter { words.contains($0.id) || words.contains($0.category) }
    }

    private static func words(of ids: String) -> [String] { ids.split { $0 == "," || $0 == " " }.map { $0.uppercased() } }

    private func namedChecks() throws -> [ConformanceCheck] {
        guard let filter else { return ConformanceCheck.all(level: list ? 5 : level) }
        let words = Self.words(of: filter)
        for word in words where !ConformanceCheck.all.contains(where: { $0.id == word || $0.rule.category == word }) {
            guard word.prefix(while: { $0 != "-" }) != "MEM" else {
                throw ValidationError(
                    "--filter: \(word) is checked by --sanitizer, during the checks that --filter names; name others, or none")
            }
            throw ValidationError("--filter: there is no check or category '\(word)'; see 'portolan check --list'")
        }
        guard !words.isEmpty else { throw ValidationError("--filter names no check; see 'portolan check --list'") }
        let named = ConformanceCheck.all.filter { words.contains($0.id) || words.contains($0.rule.category) }
        let chosen = named.filter { list || words.contains($0.id) || $0.rule.level <= level }
        guard chosen.isEmpty, let least = named.map(\.rule.level).min() else { return chosen }
        throw ValidationError("--filter: no check of \(filter) is of level \(level) or below; add --level \(least)")
    }

    /// The checks that a higher level would select; `nil` if there are none, and with `--sanitizer`, which evaluates
    /// only the MEM rules.
    private var omittedChecks: OmittedChecks? {
        guard !sanitizer else { return nil }
        guard let filter else { return OmittedChecks(above: level) }
        let words = Self.words(of: filter)
        return OmittedChecks(above: level, categories: words, except: words)
    }

    /// Returns a command that checks the same plugin with the same options. The caller appends a filter for the checks.
    private func command(for plugin: String) -> String {
        "portolan check \(Self.quoted(plugin)) --seed \(seed)" + (loads.map { " --loads \(Self.quoted($0))" } ?? "")
            + runningServers.map { " --have \(Self.quoted("\($0.name)=\($0.address)"))" }.joined()
            + (timeout == 20 ? "" : " --timeout \(timeout)") + (sanitizer ? " --sanitizer" : "")
    }

    /// Quotes the argument for a shell where necessary.
    private static func quoted(_ word: String) -> String {
        guard word.contains(where: { !$0.isLetter && !$0.isNumber && !"/._-".contains($0) }) else { return word }
        return "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }

    private func write(_ summary: Summary, _ target: ConformanceTarget, _ plugin: String) throws {
        let name = target.manifest?.identifier ?? plugin
        switch chosenFormat {
        case .text:
            var lines = summary.causeLines + summary.errorLines + summary.categoryLines.map { "  \($0)" } + summary.skipReasonLines(4)
            lines += ["\(name): \(summary.line)", omittedChecks?.line].compactMap(\.self)
            try StandardOutput.write(lines.map { PlainText.line($0) + "\n" }.joined())
        case .json:
            let report = JSONReport(repeatingBy: command(for: plugin))
            try StandardOutput.write(report.value(of: summary, target: name, library: target.library))
        case .tap: try StandardOutput.write(TAPReport(repeatingBy: command(for: plugin)).text(of: summary))
        case .tap13: try StandardOutput.write(TAPReport(repeatingBy: command(for: plugin), version: 13).text(of: summary))
        case .junit: try StandardOutput.write(JUnitReport(repeatingBy: command(for: plugin)).text(of: summary, target: name))
        case .html:
            let report = HTMLReport(repeatingBy: command(for: plugin), note: omittedChecks?.line)
            try StandardOutput.write(report.page(of: summary, target: name))
        }
    }
}
