// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan

/// Options for the output of the body and for reports.
struct OutputOptions: ParsableArguments {
    @Option(
        name: [.customShort("o", allowingJoined: true), .customLong("output")], parsing: .unconditional,
        help: ArgumentHelp(
            "Write the body to this file. The file is created only after the whole body has arrived. - is standard output. A FIFO, a device or a "
                + "descriptor, such as /dev/fd/3, gets each part of the body when it arrives.", valueName: "file"),
        completion: .file())
    var file: OutputPlace?

    @Flag(
        name: [.customShort("O"), .customLong("remote-name")],
        help: "Write the body to a file in the current folder. Its name is the last part of the URL. An existing file is not overwritten.")
    var usesRemoteName = false

    @Flag(
        name: [.customShort("J"), .customLong("remote-header-name")],
        help: "With -O, use the file name of the response (Content-Disposition), if it has one.")
    var usesSuggestedName = false

    @Option(
        name: [.customShort("C", allowingJoined: true), .customLong("continue-at")], parsing: .unconditional,
        help: ArgumentHelp(
            "Continue an earlier load at this byte offset; - means the size of the file. If the load fails, the received bytes stay in the file.",
            valueName: "-|offset"))
    var resumePoint: ResumePoint?

    @Flag(name: [.customShort("i"), .customLong("include")], help: "Print the response's header before the body.")
    var includesHead = false

    @Flag(
        name: [.customShort("f"), .customLong("fail")],
        help: "Fail with exit status 22, and write no body, if the response's status is 400 or more.")
    var failsOnHTTPError = false

    @Flag(
        name: .customLong("json"),
        help:
            "Print the events of the load as JSON, one per line. They contain the body as base64, unless -o or -O writes the body to a file."
    )
    var isJSON = false

    @Option(
        name: .customLong("trace"),
        help: ArgumentHelp(
            "Record the loads, with times and bodies, in this file. The name ends in .har (HTTP Archive 1.2), .json, or .html (a waterfall chart).",
            valueName: "file"),
        completion: .file())
    var trace: OutputPlace?

    @Flag(name: [.customShort("v"), .customLong("verbose")], help: "Print connections, requests and responses on standard error.")
    var isVerbose = false

    @Flag(name: [.customShort("s"), .customLong("silent")], help: "Show no progress, no warnings and no errors on standard error.")
    var isSilent = false

    @Flag(name: [.customShort("S"), .customLong("show-error")], help: "With -s, still show errors.")
    var showsErrors = false

    func validate() throws {
        if file != nil, usesRemoteName { throw ValidationError("-o and -O cannot be combined") }
        if resumePoint != nil, includesHead { throw ValidationError("-C and -i cannot be combined") }
        if resumePoint == .endOfFile, goesToStandardOutput { throw ValidationError("-C -: name the file to continue with -o or -O") }
        if usesSuggestedName, resumePoint != nil {
            throw ValidationError("-C and -J cannot be combined; -C needs the file's name before the request is sent")
        }
        if let trace, TraceFile(trace) == nil {
            throw ValidationError("--trace: the name of '\(trace.path)' has to end in .har, .json or .html")
        }
        if isJSON, let file, file.path == "-" || DescriptorPath(file.path) == .standardOutput {
            throw ValidationError("--json and '-o \(file.path)' cannot be combined; both write to standard output")
        }
    }

    var diagnostics: Diagnostics.Verbosity { !isSilent ? .warnings : showsErrors ? .errors : .nothing }

    private var goesToStandardOutput: Bool { (file == nil || file?.path == "-") && !usesRemoteName }

    /// Makes the output for one body.
    ///
    /// - Parameter request: if the load continues an earlier load, this function adds a range to the request, so that
    ///   the server sends only the missing bytes.
    func makeOutput(for request: inout Request) throws(Failure) -> any BodyOutput {
        if usesRemoteName, let trace = trace?.path, FileSystem.isSame(FileOutput.name(of: request.url), trace) {
            throw Failure(.writeFailed, "-O and --trace name the same file, '\(trace)'; choose another one for --trace")
        }
        guard let resumePoint else { return try makeOutput(for: request.url) }
        let isCoded = !request.decodesContent
        if let file = try resumedFile(for: request.url) {
            let resume = try resumePoint.resume(of: file, isCoded: isCoded)
            resume.requestRemainder(in: &request)
            return ResumedFile(file, resume)
        }
        guard case .byte(let offset) = resumePoint else {
            throw Failure(.writeFailed, "-C - needs a regular file; for others, give the offset with '-C OFFSET'")
        }
        let resume = Resume(offset: offset, validator: nil, isCoded: isCoded)
        resume.requestRemainder(in: &request)
        return ResumedStream(resume, next: try makeOutput(for: request.url))
    }

    /// The file of the earlier load; `nil` if the bytes go to a stream, which has no earlier bytes.
    private func resumedFile(for url: URLRecord) throws(Failure) -> ResumedFile.Place? {
        if usesRemoteName { return try .named(FileOutput.name(of: url)) }
        guard let file, file.path != "-", case .file = try file.kind.get() else { return nil }
        return .path(file.path)
    }

    private func makeOutput(for url: URLRecord) throws(Failure) -> any BodyOutput {
        if isJSON, goesToStandardOutput { return DiscardingOutput() }
        if goesToStandardOutput { return StreamOutput.standardOutput() }
        guard let file else { return FileOutput(.remoteName(of: url, usesSuggestion: usesSuggestedName)) }
        return switch try file.kind.get() {
        case .stream(let target): StreamOutput(path: file.path, target)
        case .file: FileOutput(.path(file.path))
        }
    }

    /// - Parameter checksTrust: whether server certificates are checked.
    func makeObservers(_ trace: TraceFile?, checksTrust: Bool) -> [any LoadObserver] {
        var observers: [any LoadObserver] = []
        if let trace { observers.append(trace.recorder()) }
        if isVerbose { observers.append(VerboseLines(checksTrust: checksTrust)) }
        if isJSON { observers.append(EventLines(includesBody: goesToStandardOutput)) }
        let hidesBar = isSilent || isVerbose || ((goesToStandardOutput || isJSON) && Descriptor.standardOutput.isTerminal) || goesToTerminal
        if Descriptor.standardError.isTerminal, !hidesBar { observers.append(ProgressBar(terminal: .standardError)) }
        return observers
    }

    private var goesToTerminal: Bool {
        guard case .success(.stream(.descriptor(let descriptor))) = file?.kind else { return false }
        return descriptor.isTerminal
    }
}
