// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanConformance
import PortolanJSON

/// `portolan check`
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Judge a plugin by the rules of the contract.",
        discussion: """
            Each check runs in a process of its own: a plugin that crashes or hangs is told so, and the other checks go on. URLs come from the
            manifest's conformance section; what it has no example of is not judged, and counted. Exit status 0 only when nothing failed and at
            least one check was made.
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json, tap, tap13, junit, html }

    @Argument(
        help: ArgumentHelp(
            "An identifier, a folder, a manifest or a library; or what is built in: data:, file:, http: or https:.", valueName: "plugin"),
        completion: .file())
    var plugin: String?

    @Flag(help: "List the checks, with what each looks at, and do nothing more.")
    var list = false

    @Option(help: ArgumentHelp("How deep to look, 1 to 5.", valueName: "number"))
    var level = 3

    @Option(help: ArgumentHelp("Only these checks: IDs, or categories, with commas between.", valueName: "ids"))
    var filter: String?

    @Option(
        help: ArgumentHelp(
            "URLs, and what they have to yield, for what is built in: a conformance section, as manifests have it.", valueName: "file"),
        completion: .file())
    var loads: String?

    @Option(help: ArgumentHelp("How many checks run at once.", valueName: "number"))
    var jobs = 2

    @Option(help: ArgumentHelp("Seconds after which a check counts as hung.", valueName: "seconds"))
    var timeout = 20.0

    @Option(help: ArgumentHelp("Where random input begins.", valueName: "number"))
    var seed: UInt64 = 1

    @Option(name: .customLong("repeat"), help: ArgumentHelp("Make each check so many times.", valueName: "number"))
    var repetitions = 1

    @Flag(help: "Make the checks in this process, for debuggers; a plugin that crashes takes it along.")
    var inProcess = false

    @Flag(
        help: """
            Make the checks under Valgrind, and tell what memcheck sees in the plugin: invalid access, values that nobody set, wrong frees, leaks \
            (MEM). Takes minutes; each check has ten times its --timeout.
            """)
    var sanitizer = false

    @Option(name: .customLong("memcheck-folder"), help: .hidden)
    var memcheckFolder: String?

    @Option(name: .customLong("memcheck-subject"), help: .hidden)
    var memcheckTarget: String?

    @Flag(name: .customLong("json"), help: "Print JSON, on one line; the same as --format json.")
    var isJSON = false

    @Option(help: "How to print the results; tap is TAP 14, and tap13 what prove(1) of Perl 5.36 still reads.")
    var format = Format.text

    @Flag(name: .shortAndLong, help: "Tell of what passed and was not judged, too.")
    var verbose = false

    func validate() throws {
        guard (1...5).contains(level) else { throw ValidationError("--level is 1 to 5, not \(level)") }
        guard (1...64).contains(jobs) else { throw ValidationError("--jobs is 1 to 64, not \(jobs)") }
        guard (1...10_000).contains(repetitions) else { throw ValidationError("--repeat is 1 to 10000, not \(repetitions)") }
        guard timeout >= 0.1, timeout <= 86_400 else { throw ValidationError("--timeout is 0.1 to 86400 seconds") }
        if sanitizer, inProcess { throw ValidationError("--sanitizer makes each check in a process of its own; leave out --in-process") }
        if isJSON, format != .text, format != .json { throw ValidationError("--json and --format \(format) are two; leave out one") }
        if plugin == nil, !list { throw ValidationError("name a plugin, or --list the checks") }
    }

    private var chosenFormat: Format { isJSON ? .json : format }

    func run() throws {
        SignalHandler.ignoreClosedPipes()
        let checks = try chosenChecks()
        guard !list, let plugin else { return try CheckList.write(checks, asJSON: chosenFormat == .json) }
        let folder = try runFolder()
        defer { folder.remove() }
        var runner = ConformanceRunner(try CheckTarget.target(memcheckTarget ?? plugin, loads: loads, in: folder))
        if sanitizer, memcheckFolder == nil { try Memcheck.begin(with: runner.target, plugin, CommandLine.arguments, in: folder) }
        runner.folder = folder
        (runner.seed, runner.timeLimit) = (seed, .seconds(timeout))
        runner.makeInnerLoader = CheckTarget.innerLoader(for: runner.target)
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
        func note(isFailure: Bool) {
            progress.note(isFailure: isFailure)
            progress.draw()
        }
        if memcheckFolder != nil {
            let all = (0..<repetitions).flatMap { _ in checks }
            for result in try runner.checkMemory(during: all, jobs: jobs, MemcheckRun(logs: folder.path), note) { try show(result) }
        } else {
            try make(checks, by: runner) { result in
                try show(result)
                note(isFailure: result.verdict.isFailure)
            }
        }
        progress.clear()
        let summary = Summary(results)
        try write(summary, runner.target, plugin)
        guard !summary.isSuccess else { return }
        throw Failure(
            .checkFailed, summary.isEmpty ? "no check could be made of '\(plugin)', so this says nothing of it; -v says why" : nil)
    }

    /// The folder for all files of this run.
    private func runFolder() throws -> RunFolder {
        if let memcheckFolder {
            guard let folder = RunFolder(handedOver: memcheckFolder) else {
                throw ValidationError("--memcheck-folder is the command's own")
            }
            return folder
        }
        do throws(RunFolder.NotMade) { return try RunFolder() } catch { throw Failure(.writeFailed, error.description) }
    }

    private func make(_ checks: [ConformanceCheck], by runner: ConformanceRunner, _ show: (CheckResult) throws -> Void) throws {
        let all = (0..<repetitions).flatMap { _ in checks }
        if inProcess {
            for check in all { try show(runner.result(of: check)) }
        } else {
            try runner.run(all, jobs: jobs, show)
        }
    }

    /// Applies level and filter; a check that `--filter` names by its ID runs whatever its level. Under Valgrind, speed
    /// is not measured, so PERF checks are left out.
    private func chosenChecks() throws -> [ConformanceCheck] {
        let named = try namedChecks()
        guard sanitizer else { return named }
        let checks = named.filter { $0.rule.category != "PERF" }
        guard !checks.isEmpty else {
            throw ValidationError("--sanitizer: how fast a plugin is under Valgrind says nothing; --filter other checks")
        }
        return checks
    }

    private func namedChecks() throws -> [ConformanceCheck] {
        guard let filter else { return ConformanceCheck.all(level: list ? 5 : level) }
        let words = filter.split { $0 == "," || $0 == " " }.map { $0.uppercased() }
        for word in words where !ConformanceCheck.all.contains(where: { $0.id == word || $0.rule.category == word }) {
            guard word.prefix(while: { $0 != "-" }) != "MEM" else {
                throw ValidationError(
                    "--filter: \(word) is judged by --sanitizer, during the checks that --filter names; name others, or none")
            }
            throw ValidationError("--filter: there is no check or category '\(word)'; see 'portolan check --list'")
        }
        guard !words.isEmpty else { throw ValidationError("--filter names no check; see 'portolan check --list'") }
        let named = ConformanceCheck.all.filter { words.contains($0.id) || words.contains($0.rule.category) }
        let chosen = named.filter { list || words.contains($0.id) || $0.rule.level <= level }
        guard chosen.isEmpty, let least = named.map(\.rule.level).min() else { return chosen }
        throw ValidationError("--filter: no check of \(filter) is of level \(level) or below; add --level \(least)")
    }

    /// A command that repeats the checks on the same plugin; the caller appends which checks.
    private func command(for plugin: String) -> String {
        "portolan check \(Self.quoted(plugin)) --seed \(seed)" + (loads.map { " --loads \(Self.quoted($0))" } ?? "")
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
            let lines = summary.causeLines + summary.categoryLines.map { "  \($0)" } + summary.gapLines(4) + ["\(name): \(summary.line)"]
            try StandardOutput.write(lines.map { PlainText.line($0) + "\n" }.joined())
        case .json:
            let report = JSONReport(repeatingBy: command(for: plugin))
            try StandardOutput.write(report.value(of: summary, target: name, library: target.library))
        case .tap: try StandardOutput.write(TAPReport(repeatingBy: command(for: plugin)).text(of: summary))
        case .tap13: try StandardOutput.write(TAPReport(repeatingBy: command(for: plugin), version: 13).text(of: summary))
        case .junit: try StandardOutput.write(JUnitReport(repeatingBy: command(for: plugin)).text(of: summary, target: name))
        case .html: try StandardOutput.write(HTMLReport(repeatingBy: command(for: plugin)).page(of: summary, target: name))
        }
    }
}
