// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanPlugins

/// `portolan get`
struct GetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Load URLs and write their bodies to standard output.",
        discussion:
            "Several URLs are loaded one after another. The exit status is that of the first URL that failed ('portolan exit-codes' lists them)."
    )

    @Argument(help: ArgumentHelp("The URLs to load.", valueName: "url"))
    var urls: [String]

    @OptionGroup var request: RequestOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var events: EventOptions
    @OptionGroup var retries: RetryOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var stateFolder: StateFolderOption
    @OptionGroup var cache: CacheOptions
    @OptionGroup var netrc: NetrcOptions
    @OptionGroup var http: HTTPOptions
    @OptionGroup var loaderOptions: LoaderOptions

    func validate() throws {
        if events.readsEvents { try checkOptionsOfEvents() }
        if urls.count > 1, let file = output.file, file.path != "-" {
            throw ValidationError("-o takes the body of one URL; for several, use -O or standard output")
        }
        if output.usesSuggestedName, output.includesHead || request.sendsHEAD {
            throw ValidationError("-J cannot be combined with -i or -I: these write the head to the file, whose name comes from the head")
        }
        if let trace = output.trace?.path, let file = output.file?.path, FileSystem.isSame(trace, file) {
            throw ValidationError("-o and --trace name the same file, '\(file)'; choose another one for --trace")
        }
        if stateFolder.isGiven, let option = state.fileOption {
            throw ValidationError(
                "--state and \(option) cannot be combined\(option == "--hsts" ? "" : "; 'portolan cookies import' and 'export' copy cookies")"
            )
        }
        try checkStateFiles()
        for (name, path) in [("--trace", output.trace?.path), ("-o", output.file?.path)] {
            if let path, let recording = loaderOptions.replay.path, FileSystem.isSame(path, recording) {
                throw ValidationError("--replay and \(name) name the same file, '\(recording)'; choose another one for \(name)")
            }
        }
    }

    /// Throws if an option is given that applies only to bodies.
    private func checkOptionsOfEvents() throws {
        let options: [(String, Bool)] = [
            ("-o", output.file != nil), ("-O", output.usesRemoteName), ("-C", output.resumePoint != nil), ("-i", output.includesHead),
            ("--trace", output.trace != nil),
        ]
        for (name, isGiven) in options where isGiven { throw ValidationError("--sse and \(name) cannot be combined") }
    }

    /// Throws if a file of cookies, HSTS hosts or passwords would be overwritten. Only `-c` may name the same file as
    /// `-b`.
    private func checkStateFiles() throws {
        let places = [("-o", output.file), ("--trace", output.trace), ("-c", state.jar), ("--hsts", state.hstsFile)]
        let written = places.compactMap { option, place in place.flatMap { $0.isStream ? nil : (option, $0.path) } }
        let read = state.cookieFiles.map { ("-b", $0) } + (netrc.path.map { [("--netrc-file", $0)] } ?? [])
        for (index, (option, path)) in written.enumerated() where !path.isEmpty && path != "-" {
            #if Persistence
                try StateFolderOption.check(path, isOutside: stateFolder.path)
                try StateFolderOption.check(path, isOutside: cache.storage.folder, "the cache")
            #endif
            let others = written.dropFirst(index + 1) + (option == "-c" ? read.filter { $0.0 != "-b" } : read)
            for (other, otherPath) in others where !otherPath.isEmpty && FileSystem.isSame(path, otherPath) {
                throw ValidationError("\(option) and \(other) name the same file, '\(path)'; choose another one for \(option)")
            }
        }
    }

    func run() throws {
        VisibleArguments.hideSecrets()
        Diagnostics.setVerbosity(output.diagnostics)
        PluginCrash.reportCrashes(showsStack: output.isVerbose, isSilent: output.diagnostics == .nothing)
        // Fails before any load if the trace is not writable. Each load checks its own output.
        if let trace = output.trace, case .file = try trace.kind.get() { try PartialFile.probe(trace.path) }
        for field in request.omissionsWithoutEffect { Diagnostics.warn("-H '\(field):' has no effect: this request needs the field") }
        let hasOtherCredentials = netrc.isUsed || stateFolder.isGiven
        if let option = request.optionWithoutUser(for: urls, hasOtherCredentials: hasOtherCredentials) {
            Diagnostics.warn("\(option) has no effect without a user name; give one with -u, with --netrc or in the URL")
        }
        for option in http.optionsWithoutUser { Diagnostics.warn("\(option) has no effect without --proxy-user") }
        let session = GetSession()
        try SignalHandler.observe { session.interrupt($0) }
        var configuration = try http.configuration()
        request.apply(to: &configuration)
        let openingTimer = ExitTimer(after: request.timeLimit?.duration, "a plugin blocks while it is opened")
        var setup = try loaderOptions.setUp(http: HTTPHandler(configuration: configuration), showsLog: output.isVerbose)
        openingTimer.cancel()
        setup.configuration.redirects.limit = request.redirectLimit
        // A reader can pause the output for any time, so only --max-time limits a load.
        setup.configuration.timeouts.idle = nil
        let openFolder = try stateFolder.open()
        let openCache = try cache.storage.open()
        setup.configuration.cache = openCache?.cache
        let cookies = try state.cookieFile(within: request.timeLimit?.duration)
        setup.configuration.cookies = cookies?.storage ?? openFolder?.cookies
        let cookieObservation = output.isVerbose ? setup.configuration.cookies?.observe(VerboseLines.report) : nil
        defer { _ = cookieObservation }
        setup.configuration.credentials = openFolder?.credentials
        let hstsFile = try state.hstsFile.map { place throws(Failure) in try HSTSFileOption(place) }
        setup.configuration.strictTransportSecurity = hstsFile?.storage ?? openFolder?.strictHosts
        let kept = [
            cookies != nil || openFolder != nil ? "cookies" : nil, hstsFile != nil || openFolder != nil ? "HSTS hosts" : nil,
            openCache != nil ? "responses for the cache" : nil,
        ].compactMap { $0 }
        if !kept.isEmpty {
            session.setSaving(GetSession.Kept(kept)) { () throws(Failure) in
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

        let trace = output.trace.flatMap { [keepsSecrets = loaderOptions.replay.keepsSecrets] in TraceFile($0, keepsSecrets: keepsSecrets) }
        let body = Result { () throws(Failure) in try request.body() }
        var firstFailure: Failure?
        for (index, url) in urls.enumerated() {
            // `try?` because the last write reports the failure.
            if index > 0 { try? saveSoFar() }
            cookies?.addHeaderCookies(forServerOf: url)
            let result =
                events.readsEvents
                ? session.readEvents(of: url, sending: body, with: self, netrc: netrcCredentials, on: loader)
                : session.runAttempts(
                    of: url, sending: body, with: self, netrc: netrcCredentials, on: loader, unusablePlugins: setup.unusablePlugins,
                    trace: trace)
            guard let failure = result else { continue }
            firstFailure = firstFailure ?? failure
            if failure.endsSession { break }
        }
        // An interrupted trace is a fragment, and must not replace a complete file. The cookies that have arrived are
        // written.
        if let status = session.interruptionStatus {
            session.saveAfterSignal()
            throw Failure(firstFailure?.status ?? status, nil)
        }
        let traceResult = Result { () throws(Failure) in try trace?.write(within: request.timeLimit?.duration) }
        let stateResult = Result { () throws(Failure) in try session.save() }
        try setup.replay?.write()
        try traceResult.get()
        try stateResult.get()
        _ = ExitTimer(
            after: request.timeLimit?.duration, "a plugin blocks while it is closed; all loads have ended",
            status: firstFailure?.status ?? .timedOut)
        // The failure was reported when it occurred.
        if let firstFailure { throw Failure(firstFailure.status, nil) }
    }
}

extension Failure {
    /// Whether no further URL can be loaded after this failure.
    fileprivate var endsSession: Bool {
        self == .readerClosedOutput || [.interrupted, .terminated, .hangup].contains(status)
    }
}
