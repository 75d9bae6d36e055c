// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanCore
import PortolanFileSystem
import PortolanPlugins

extension GetCommand {
    /// Runs the operations that `--next` separates, one after another.
    ///
    /// - Parameter warnings: about the command line.
    static func run(_ operations: [GetCommand], warnings: [String] = []) throws {
        guard let first = operations.first, let last = operations.last else { return }
        VisibleArguments.hideSecrets()
        if let errorFile = first.reports.errorFile { try Diagnostics.redirect(to: errorFile) }
        Diagnostics.setVerbosity(first.reports.diagnostics)
        for warning in warnings { Diagnostics.warn(warning) }
        PluginCrash.reportCrashes(showsStack: first.reports.isVerbose, isSilent: first.reports.diagnostics == .nothing)
        // Fails before any load if the trace is not writable. Each load checks its own output.
        if let trace = first.reports.trace, case .file = try trace.kind.get() { try PartialFile.probeForCommand(trace.path) }
        let session = GetSession()
        try SignalHandler.observe { session.interrupt($0) }
        let trace = first.reports.trace.flatMap { [keepsSecrets = first.replay.keepsSecrets] in
            TraceFile($0, keepsSecrets: keepsSecrets)
        }
        var outcome = GetOutcome()
        for (index, operation) in operations.enumerated() {
            try operation.run(in: session, trace, &outcome)
            if index + 1 < operations.count { outcome.closingTimer?.cancel() }
            // An interrupted trace is a fragment, and must not replace a complete file. The cookies that have arrived
            // are written.
            if let status = session.interruptionStatus {
                session.saveAfterSignal()
                throw Failure(outcome.firstFailure?.status ?? status, nil)
            }
            if outcome.endsSession || outcome.firstFailure != nil && operation.sequence.endsAfterFailure { break }
        }
        try trace?.write(within: last.request.timeLimit?.duration)
        if let failure = outcome.savingFailure { throw failure }
        // The failure was reported when it occurred.
        if let firstFailure = outcome.firstFailure { throw Failure(firstFailure.status, nil) }
    }

    private func warnAboutOptionsWithoutEffect() {
        for field in request.omissionsWithoutEffect(with: data) {
            Diagnostics.warn("-H '\(field):' has no effect: this request needs the field")
        }
        if request.hasTextWithoutField { Diagnostics.warn("-H: a text that is not a field is ignored; write 'Name: value'") }
        for name in request.unsentFields(for: urls) {
            Diagnostics.warn("-H '\(name):' is not sent as given: the program manages the connection itself ('portolan help curl')")
        }
        let hasOtherCredentials = netrc.isUsed || stateFolder.isGiven
        if let option = request.optionWithoutUser(for: urls, hasOtherCredentials: hasOtherCredentials) {
            Diagnostics.warn("\(option) has no effect without a user name; give one with -u, with --netrc or in the URL")
        }
        if output.hasTooManyTargets(forURLCount: urls.count) {
            Diagnostics.warn("there are more options -o and -O than URLs; the last ones have no effect")
        }
        for option in http.optionsWithoutUser { Diagnostics.warn("\(option) has no effect without --proxy-user") }
    }

    /// Runs one operation, and adds what has happened to the outcome.
    private func run(in session: GetSession, _ trace: TraceFile?, _ outcome: inout GetOutcome) throws {
        warnAboutOptionsWithoutEffect()
        var configuration = try http.configuration()
        request.apply(to: &configuration)
        // All URLs and attempts share the body, because standard input can be read only once.
        let body = Result { () throws(Failure) in
            try data.body(formDisposition: request.formDisposition, within: request.timeLimit?.duration)
        }
        // As in curl, the length of the data decides whether Expect is sent, even if -H requests chunks.
        if request.sendsChunked, case .success(let data?) = body, let length = data.body.length,
            length <= configuration.expectContinue.bodySizeThreshold ?? 0
        {
            configuration.expectContinue.bodySizeThreshold = nil
        }
        let openingTimer = ExitTimer(after: request.timeLimit?.duration, "a plugin blocks while it is opened")
        var setup = try loaderOptions.setUp(replay: replay, http: HTTPHandler(configuration: configuration), showsLog: reports.isVerbose)
        openingTimer.cancel()
        redirects.apply(to: &setup.configuration.redirects, leavingLimitToDelegate: !events.readsEvents)
        if let rate = request.rateLimit?.count {
            (setup.configuration.maximumReceiveRate, setup.configuration.maximumSendRate) = (Int(clamping: rate), Int(clamping: rate))
        }
        // A reader can pause the output for any time, so only --max-time limits a load.
        setup.configuration.timeouts.idle = nil
        let openFolder = try stateFolder.open()
        let openCache = try cacheFolder.open()
        setup.configuration.cache = openCache?.cache
        let cookies = try state.cookieFile(within: request.timeLimit?.duration)
        setup.configuration.cookies = cookies?.storage ?? openFolder?.cookies
        let cookieObservation = reports.isVerbose ? setup.configuration.cookies?.observe(VerboseLines.report) : nil
        defer { _ = cookieObservation }
        setup.configuration.credentials = openFolder?.credentials
        let hstsFile = try state.hstsFile.map { place throws(Failure) in try HSTSFileOption(place) }
        setup.configuration.strictTransportSecurity = hstsFile?.storage ?? openFolder?.strictHosts
        let keptKinds = [
            cookies != nil || openFolder != nil ? "cookies" : nil, hstsFile != nil || openFolder != nil ? "HSTS hosts" : nil,
            openCache != nil ? "responses for the cache" : nil,
        ].compactMap { $0 }
        if !keptKinds.isEmpty {
            session.setSaving(GetSession.KeptData(keptKinds)) { () throws(Failure) in
                defer { openCache?.close() }
                try cookies?.write()
                try hstsFile?.write()
                try openFolder?.close()
            }
        }
        // A plugin can crash in a later load, and must not lose the cookies of the earlier ones. A state folder writes
        // its changes by itself.
        let saveSoFar = { () throws(Failure) in
            try cookies?.writeChanges()
            try hstsFile?.writeChanges()
        }
        let netrcCredentials = try netrc.credentials(for: request)
        setup.configuration.netrc = netrcCredentials?.file
        let loader = setup.loader
        let loadReports = try makeReports(trace)
        let transfers = try self.transfers(from: outcome.transferCount, knownSchemes: loader.schemes)
        outcome.transferCount += transfers.count
        let context = Context(command: self)
        let load = { @Sendable [unusablePlugins = setup.unusablePlugins] (transfer: GetTransfer) -> Failure? in
            cookies?.addHeaderCookies(forServerOf: transfer.url)
            let uploadedBody = transfer.uploadedFile.map { file in
                Result { () throws(Failure) -> RequestBody? in
                    try UploadBody.file(file, continuingAt: context.command.output.resumePoint)
                }
            }
            if context.command.events.readsEvents {
                return session.readEvents(
                    of: transfer, sending: uploadedBody ?? body, with: context.command, netrc: netrcCredentials, on: loader)
            }
            return session.runAttempts(
                of: transfer, sending: uploadedBody ?? body, with: context.command, netrc: netrcCredentials, on: loader,
                unusablePlugins: unusablePlugins, reports: loadReports)
        }
        let failures =
            sequence.isParallel && transfers.count > 1
            ? try ParallelTransfers.run(
                transfers, atMost: sequence.parallelLimit, endsAfterFailure: sequence.endsAfterFailure, cancel: session.cancelLoads(after:),
                load)
            : run(transfers, load, saveSoFar)
        outcome.add(failures)
        guard session.interruptionStatus == nil else { return }
        outcome.save { () throws(Failure) in try session.save() }
        outcome.save { () throws(Failure) in try setup.replay?.write() }
        // The timer starts before the plugins are released. It runs for five seconds or more, because a busy machine
        // needs time for the release even if no plugin blocks.
        outcome.closingTimer = ExitTimer(
            after: (request.timeLimit?.duration).map { max($0, .seconds(5)) }, "a plugin blocks while it is closed; all loads have ended",
            status: outcome.firstFailure?.status ?? .timedOut)
    }

    /// Loads one URL after another. Returns the failures.
    private func run(
        _ transfers: [GetTransfer], _ load: (GetTransfer) -> Failure?, _ saveSoFar: () throws(Failure) -> Void
    ) -> [Failure] {
        var failures: [Failure] = []
        for (index, transfer) in transfers.enumerated() {
            // `try?` because the last write reports the failure.
            if index > 0 { try? saveSoFar() }
            guard let failure = load(transfer) else { continue }
            failures.append(failure)
            if failure.endsSession || sequence.endsAfterFailure { break }
        }
        return failures
    }

    /// The command, in a form that several threads can use.
    private struct Context: @unchecked Sendable {  // … because the command does not change after it was parsed
        let command: GetCommand
    }

    private func makeReports(_ trace: TraceFile?) throws(Failure) -> GetReports {
        let headDump = reports.headerFile.map { HeadDump($0) }
        try headDump?.open()
        let format = try reports.writeOutFormat(within: request.timeLimit?.duration)
        for name in format?.unknownVariables ?? [] {
            Diagnostics.warn("-w: there is no variable '\(name)'; 'portolan help curl' lists them")
        }
        return GetReports(trace: trace, headDump: headDump, writeOut: format)
    }

    /// The URLs with their outputs.
    ///
    /// - Parameter start: the number of the first URL.
    private func transfers(from start: Int, knownSchemes schemes: [String]) throws -> [GetTransfer] {
        var transfers: [GetTransfer] = []
        for (index, (argument, target)) in zip(urls, output.targets(forURLCount: urls.count)).enumerated() {
            let url = URLArgument.addingScheme(to: argument, knownSchemes: schemes)
            let expansions = sequence.readsNoPatterns ? [URLPattern.Expansion(url: url)] : try URLPattern(parsing: url).expansions
            // As in curl, the value of -T can be a pattern for several files. Each file is sent to all URLs of its URL
            // pattern.
            let files: [String?] =
                if let file = request.uploadedFile(at: index), !sequence.readsNoPatterns {
                    try URLPattern(parsing: file).expansions.map(\.url)
                } else {
                    [request.uploadedFile(at: index)]
                }
            for file in files {
                for expansion in expansions {
                    transfers.append(
                        GetTransfer(
                            url: expansion.url, target: target.filling(partsOf: expansion), uploadedFile: file,
                            number: start + transfers.count))
                }
            }
        }
        return transfers
    }

    /// The rules for the responses.
    var responseRules: ResponseRules {
        ResponseRules(
            failsWithBody: output.failsWithBody, endsAfterHead: request.endsAfterHead,
            redirectSchemes: redirects.schemes.map(SchemeFilter.init), redirectLimit: redirects.limit < 0 ? nil : redirects.limit,
            timeCondition: conditions.timeCondition,
            hasTagCondition: conditions.comparedTagFile != nil,
            sendsAutomaticReferrer: request.sendsAutomaticReferrer,
            codesThatRepeatPost: redirects.codesThatRepeatPost, savedTagFile: conditions.savedTagFile)
    }

    /// Throws if `--proto` forbids the scheme of a URL.
    func checkScheme(of url: URLRecord) throws(Failure) {
        guard let schemes = request.schemes, !SchemeFilter(parsing: schemes).contains(url.scheme) else { return }
        throw Failure(.unsupportedScheme, "\(url.shortDescription) is not loaded: --proto forbids its scheme")
    }

    /// Throws if `-O` and `--trace` name the same file.
    func checkTrace(differsFromOutputOf url: URLRecord, _ target: OutputTarget) throws(Failure) {
        guard case .remoteName = target, let trace = reports.trace?.path, FileSystem.isSame(output.remotePath(for: url), trace) else {
            return
        }
        throw Failure(.writeFailed, "-O and --trace name the same file, '\(trace)'; choose another one for --trace")
    }
}

/// What the operations of `get` have done so far.
private struct GetOutcome {
    /// The number of URLs, including those that URL patterns stand for.
    var transferCount = 0
    private(set) var firstFailure: Failure?
    /// The first failure to write cookies, HSTS hosts, responses or a recording.
    private(set) var savingFailure: Failure?
    /// Whether no further URL can be loaded.
    private(set) var endsSession = false
    /// Ends the program if a plugin blocks while it is closed.
    var closingTimer: ExitTimer?

    mutating func add(_ failures: [Failure]) {
        firstFailure = firstFailure ?? failures.first
        endsSession = endsSession || failures.contains(where: \.endsSession)
    }

    mutating func save(_ write: () throws(Failure) -> Void) {
        do throws(Failure) { try write() } catch { savingFailure = savingFailure ?? error }
    }
}

extension Failure {
    /// Whether no further URL can be loaded after this failure.
    fileprivate var endsSession: Bool {
        self == .readerClosedOutput || [.interrupted, .terminated, .hangup].contains(status)
    }
}

extension OutputTarget {
    /// Fills the parts of the URL into the name of the file.
    fileprivate func filling(partsOf expansion: URLPattern.Expansion) -> OutputTarget {
        guard let place, !expansion.parts.isEmpty, place.path.contains("#") else { return self }
        return .place(OutputPlace(argument: expansion.filling(place.path)))
    }
}
