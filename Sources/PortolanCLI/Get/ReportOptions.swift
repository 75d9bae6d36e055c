// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanFileSystem

/// Options for reports about the loads.
struct ReportOptions: ParsableArguments {
    @Flag(
        name: .customLong("events"),
        help:
            "Print the events of the load as JSON, one per line. They contain the body as base64, unless -o or -O writes the body to a file."
    )
    var printsEvents = false

    @Option(
        name: .customLong("trace"),
        help: ArgumentHelp(
            "Record the loads, with times and bodies, in this file. The name ends in .har (HTTP Archive 1.2), .json, or .html (a waterfall chart).",
            valueName: "file"),
        completion: .file())
    var trace: OutputPlace?

    @Option(
        name: [.customShort("D", allowingJoined: true), .customLong("dump-header")], parsing: .unconditional,
        help: ArgumentHelp(
            "Write the headers of all responses to this file, also those of redirects; - is standard output.", valueName: "file"),
        completion: .file())
    var headerFile: OutputPlace?

    @Option(
        name: [.customShort("w", allowingJoined: true), .customLong("write-out")], parsing: .unconditional,
        help: ArgumentHelp(
            "After each load, print this text, with variables such as %{http_code} ('portolan help curl' lists them). @FILE reads the text from a file.",
            valueName: "format"))
    var writeOut: String?

    @Flag(name: [.customShort("v"), .customLong("verbose")], help: "Print connections, requests and responses on standard error.")
    var isVerbose = false

    @Flag(name: [.customShort("s"), .customLong("silent")], help: "Show no progress, no warnings and no errors on standard error.")
    var isSilent = false

    @Flag(name: [.customShort("S"), .customLong("show-error")], help: "With -s, still show errors.")
    var showsErrors = false

    @Flag(name: .customLong("no-progress-meter"), help: "Show no progress, but warnings and errors.")
    var hidesProgress = false

    @Option(
        name: .customLong("stderr"), parsing: .unconditional,
        help: ArgumentHelp("Write what goes to standard error to this file; - is standard output.", valueName: "file"),
        completion: .file())
    var errorFile: OutputPlace?

    /// Accepted for compatibility with curl. There is only one form of the progress line.
    @Flag(name: .customLong("progress-bar"), help: .hidden)
    var showsBar = false

    /// Accepted for compatibility with curl. Standard output is never buffered.
    @Flag(name: [.customShort("N"), .customLong("no-buffer")], help: .hidden)
    var isUnbuffered = false

    func validate() throws {
        if let trace, TraceFile(trace) == nil {
            throw ValidationError("--trace: the name of '\(trace.path)' has to end in .har, .json or .html")
        }
        if headerFile?.path.isEmpty == true { throw ValidationError("-D: the name of the file is empty") }
        if errorFile?.path.isEmpty == true { throw ValidationError("--stderr: the name of the file is empty") }
    }

    private static let formatSizeLimit = 1 << 20

    /// Reads the text of `-w`.
    func writeOutFormat(within timeLimit: Duration?) throws(Failure) -> WriteOutFormat? {
        guard let writeOut else { return nil }
        guard writeOut.hasPrefix("@") else { return WriteOutFormat(parsing: writeOut) }
        let input = InputFile(option: "-w", path: String(writeOut.dropFirst()))
        // As in curl, line breaks of the file are no part of the format.
        let text = try input.wholeStream(limit: Self.formatSizeLimit, within: timeLimit).filter { $0 != 0x0D && $0 != 0x0A }
        return WriteOutFormat(parsing: String(decoding: text, as: UTF8.self))
    }

    var diagnostics: Diagnostics.Verbosity { !isSilent ? .warnings : showsErrors ? .errors : .nothing }

    /// - Parameters:
    ///   - target: where the body goes.
    ///   - checksTrust: whether server certificates are checked.
    func makeObservers(_ trace: TraceFile?, to target: OutputTarget, checksTrust: Bool) -> [any LoadObserver] {
        var observers: [any LoadObserver] = []
        if let trace { observers.append(trace.recorder()) }
        if isVerbose { observers.append(VerboseLines(checksTrust: checksTrust)) }
        if printsEvents { observers.append(EventLines(includesBody: target.isStandardOutput)) }
        let writesToTerminal = (target.isStandardOutput || printsEvents) && Descriptor.standardOutput.isTerminal || target.isTerminal
        let hidesBar = isSilent || isVerbose || hidesProgress || writesToTerminal
        if Descriptor.standardError.isTerminal, !hidesBar { observers.append(ProgressBar(terminal: .standardError)) }
        return observers
    }
}
