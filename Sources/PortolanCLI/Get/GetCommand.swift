// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanFileSystem
import PortolanPlugins

/// `portolan get`
struct GetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Load URLs and write their bodies to standard output.",
        discussion:
            "Several URLs are loaded one after another. The exit status is that of the first URL that failed ('portolan exit-codes' lists them)."
    )

    @Argument(help: ArgumentHelp("The URLs to load. Without a scheme, 'http://' is added.", valueName: "url"))
    var urls: [String]

    // None of these groups contains another group. In debug builds, the argument parser checks a nested group again at
    // each check of the outer one, which makes each start slow.
    @OptionGroup var request: RequestOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var redirects: RedirectOptions
    @OptionGroup var conditions: ConditionOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var events: EventOptions
    @OptionGroup var reports: ReportOptions
    @OptionGroup var sequence: SequenceOptions
    @OptionGroup var retries: RetryOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var stateFolder: StateFolderOption
    @OptionGroup var cacheFolder: CacheFolderOption
    @OptionGroup var cache: CacheOptions
    @OptionGroup var netrc: NetrcOptions
    @OptionGroup var http: HTTPOptions
    @OptionGroup var loaderOptions: LoaderOptions
    @OptionGroup var replay: ReplayOptions

    func validate() throws {
        try request.check(data)
        if request.uploadedFiles.isEmpty { try output.checkResumePoint() }
        try cache.check(cacheFolder)
        if events.readsEvents { try checkOptionsOfEvents() }
        if output.usesSuggestedName, output.includesHead || request.sendsHEAD {
            throw ValidationError("-J cannot be combined with -i or -I: these write the head to the file, whose name comes from the head")
        }
        if reports.printsEvents, let place = output.places.first(where: { DescriptorPath($0.path) == .standardOutput }) {
            throw ValidationError("--events and '-o \(place.path)' cannot be combined; both write to standard output")
        }
        if reports.printsEvents, output.files.contains(where: { $0.path == "-" }) {
            throw ValidationError("--events and '-o -' cannot be combined; both write to standard output")
        }
        if conditions.usesTags, urls.count > 1 { throw ValidationError("--etag-save and --etag-compare are for one URL") }
        if conditions.range != nil, output.resumePoint != nil { throw ValidationError("-r and -C cannot be combined") }
        for place in output.places {
            if let trace = reports.trace?.path, FileSystem.isSame(trace, place.path) {
                throw ValidationError("-o and --trace name the same file, '\(place.path)'; choose another one for --trace")
            }
        }
        if stateFolder.isGiven, let option = state.fileOption {
            throw ValidationError(
                "--state and \(option) cannot be combined\(option == "--hsts" ? "" : "; 'portolan cookies import' and 'export' copy cookies")"
            )
        }
        try checkStateFiles()
        for (name, path) in [("--trace", reports.trace?.path)] + output.places.map({ ("-o", $0.path) }) {
            if let path, let recording = replay.path, FileSystem.isSame(path, recording) {
                throw ValidationError("--replay and \(name) name the same file, '\(recording)'; choose another one for \(name)")
            }
        }
    }

    /// Throws if an option is given that cannot be combined with `--sse`.
    private func checkOptionsOfEvents() throws {
        let options: [(String, Bool)] = [
            ("-o", !output.places.isEmpty), ("-O", output.usesRemoteName), ("-C", output.resumePoint != nil), ("-i", output.includesHead),
            ("--trace", reports.trace != nil), ("-w", reports.writeOut != nil), ("-D", reports.headerFile != nil),
            ("-Z", sequence.isParallel),
        ]
        for (name, isGiven) in options where isGiven { throw ValidationError("--sse and \(name) cannot be combined") }
    }

    /// Throws if two options would write the same file, or if one would overwrite the file of `-b`, `--netrc-file`,
    /// `--state` or `--cache`. Only `-c` may name the same file as `-b`.
    private func checkStateFiles() throws {
        let places =
            output.places.map { ("-o", Optional($0)) } + [
                ("-D", reports.headerFile), ("--trace", reports.trace), ("-c", state.jar), ("--hsts", state.hstsFile),
            ]
        let written = places.compactMap { option, place in place.flatMap { $0.isStream ? nil : (option, $0.path) } }
        let read = state.cookieFiles.map { ("-b", $0) } + (netrc.path.map { [("--netrc-file", $0)] } ?? [])
        for (index, (option, path)) in written.enumerated() where !path.isEmpty && path != "-" {
            #if Persistence
                try StateFolderOption.check(path, isOutside: stateFolder.path)
                try StateFolderOption.check(path, isOutside: cacheFolder.folder, "the cache")
            #endif
            let others = written.dropFirst(index + 1).filter { $0.0 != option } + (option == "-c" ? read.filter { $0.0 != "-b" } : read)
            for (other, otherPath) in others where !otherPath.isEmpty && FileSystem.isSame(path, otherPath) {
                throw ValidationError("\(option) and \(other) name the same file, '\(path)'; choose another one for \(option)")
            }
        }
    }

    func run() throws { try Self.run([self]) }
}

/// Options for the order of the loads.
struct SequenceOptions: ParsableArguments {
    @Flag(name: [.customShort("Z"), .customLong("parallel")], help: "Load the URLs at the same time.")
    var isParallel = false

    @Option(
        name: .customLong("parallel-max"), parsing: .unconditional,
        help: ArgumentHelp("With -Z, load at most this many URLs at the same time.", valueName: "n"))
    var parallelLimit = 50

    /// Accepted for compatibility with curl. It has no effect, because no load waits for another one's connection.
    @Flag(name: .customLong("parallel-immediate"), help: .hidden)
    var startsImmediately = false

    @Flag(name: .customLong("fail-early"), help: "After the first failure, load no further URL, and end the loads of -Z.")
    var endsAfterFailure = false

    @Flag(
        name: [.customShort("g"), .customLong("globoff")],
        help: "Do not read {a,b} and [1-9] in URLs as patterns that stand for several URLs.")
    var readsNoPatterns = false

    /// `--next` separates operations before the argument parser reads the command line. This is its entry in the help.
    @Flag(name: .customLong("next"), help: "The following options and URLs are a separate operation (-:).")
    var separatesOperations = false

    /// `-K`, `--url` and `-q` are also replaced before the argument parser reads the command line.
    @Option(
        name: [.customShort("K", allowingJoined: true), .customLong("config")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Read options from this file, one per line, as in curl's config files. No file is read without -K.", valueName: "file"),
        completion: .file())
    var configFiles: [String] = []

    @Option(name: .customLong("url"), parsing: .unconditionalSingleValue, help: ArgumentHelp("Load this URL.", valueName: "url"))
    var urls: [String] = []

    @Flag(name: [.customShort("q"), .customLong("disable")], help: .hidden)
    var readsNoConfigFile = false

    func validate() throws {
        if parallelLimit < 1 { throw ValidationError("--parallel-max: write a number, 1 or more") }
    }
}
