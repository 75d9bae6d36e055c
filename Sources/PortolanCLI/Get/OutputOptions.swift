// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanFileSystem

/// Options for the output of the body.
struct OutputOptions: ParsableArguments {
    @Option(
        name: [.customShort("o", allowingJoined: true), .customLong("output")], parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Write the body to this file. The file is created only after the whole body has arrived. - is standard output. A FIFO, a device or a "
                + "descriptor, such as /dev/fd/3, gets each part of the body when it arrives. For several URLs, give several files.",
            valueName: "file"),
        completion: .file())
    var files: [OutputPlace] = []

    @Flag(
        name: [.customShort("O"), .customLong("remote-name"), .customLong("remote-name-all")],
        help:
            "Write the bodies to files in the current folder. Their names are the last parts of the URLs. An existing file is not overwritten."
    )
    var remoteNameCount: Int

    /// The values of `-o` and `-O` in their order. See ``GetArguments``.
    @Option(name: .customLong("ordered-output"), parsing: .unconditionalSingleValue, help: .hidden)
    var orderedOutputs: [TaggedArgument] = []

    @Flag(
        name: [.customShort("J"), .customLong("remote-header-name")],
        help: "With -O, use the file name of the response (Content-Disposition), if it has one.")
    var usesSuggestedName = false

    @Option(
        name: .customLong("output-dir"), parsing: .unconditional,
        help: ArgumentHelp("Write the files of -o and -O to this folder.", valueName: "folder"), completion: .directory)
    var folder: String?

    @Flag(name: .customLong("create-dirs"), help: "Create the missing folders of the files of -o and --output-dir.")
    var createsFolders = false

    @Flag(
        name: .customLong("no-clobber"),
        help: "If the file of -o or -O exists, add a number to the name: file.1, file.2 and so on, up to file.9999.")
    var addsNumbers = false

    @Flag(name: .customLong("clobber"), help: "With -O, overwrite an existing file.")
    var overwrites = false

    @Flag(name: [.customShort("R"), .customLong("remote-time")], help: "Give the file of -o or -O the time of Last-Modified.")
    var keepsRemoteTime = false

    @Option(
        name: [.customShort("C", allowingJoined: true), .customLong("continue-at")], parsing: .unconditional,
        help: ArgumentHelp(
            "Continue an earlier load at this byte offset; - means the size of the file. If the load fails, the received bytes stay in the file. With -T, "
                + "send the file from this offset on.",
            valueName: "-|offset"))
    var resumePoint: ResumePoint?

    @Flag(name: [.customShort("i"), .customLong("include")], help: "Print the response's header before the body.")
    var includesHead = false

    @Flag(
        name: [.customShort("f"), .customLong("fail")],
        help: "Fail with exit status 22, and write no body, if the response's status is 400 or more.")
    var failsOnHTTPError = false

    @Flag(name: .customLong("fail-with-body"), help: "Like --fail, but write the body.")
    var failsWithBody = false

    /// Accepted for compatibility with curl. It has no effect, because the responses of proxies to CONNECT are not
    /// printed.
    @Flag(name: .customLong("suppress-connect-headers"), help: .hidden)
    var hidesConnectHeads = false

    /// Accepted for compatibility with curl. It has no effect, because a failed load leaves no file without `-C`.
    @Flag(name: .customLong("remove-on-error"), help: .hidden)
    var removesOnError = false

    func validate() throws {
        if usesSuggestedName, resumePoint != nil {
            throw ValidationError("-C and -J cannot be combined; -C needs the file's name before the request is sent")
        }
        if resumePoint != nil, addsNumbers { throw ValidationError("-C and --no-clobber cannot be combined") }
        if failsOnHTTPError, failsWithBody { throw ValidationError("--fail and --fail-with-body cannot be combined") }
        if folder?.isEmpty == true { throw ValidationError("--output-dir: the name of the folder is empty") }
        if files.contains(where: { $0.path.isEmpty }) { throw ValidationError("-o: the name of the file is empty") }
    }

    /// Throws if the options cannot continue a download.
    func checkResumePoint() throws {
        if resumePoint != nil, includesHead, !targets.isEmpty {
            throw ValidationError("-C and -i cannot be combined with -o or -O, because the head is no part of the file")
        }
        if resumePoint == .endOfFile, targets.isEmpty || targets.contains(where: \.isStandardOutput) {
            throw ValidationError("-C -: name the file to continue with -o or -O")
        }
    }

    /// The targets of the options, in their order.
    private var targets: [OutputTarget] {
        let ordered = orderedOutputs.map { $0.kind == "remote" ? OutputTarget.remoteName : OutputTarget(place($0.value)) }
        return ordered + files.map { OutputTarget(place($0)) } + (0..<remoteNameCount).map { _ in .remoteName }
    }

    /// Puts the folder of `--output-dir` before a path.
    private func place(_ place: OutputPlace) -> OutputPlace {
        folder == nil || place.path == "-" ? place : self.place(place.path)
    }

    private func place(_ path: String) -> OutputPlace {
        OutputPlace(argument: path == "-" ? path : folder.map { "\($0)/\(path)" } ?? path)
    }

    /// The places of all options `-o`.
    var places: [OutputPlace] { targets.compactMap(\.place) }

    var usesRemoteName: Bool { targets.contains { if case .remoteName = $0 { true } else { false } } }

    /// The targets of this number of URLs. If there are fewer options than URLs, the bodies of the other URLs go to
    /// standard output. A single `-O` is for all URLs.
    func targets(forURLCount count: Int) -> [OutputTarget] {
        let targets = self.targets
        if remoteNameCount == 1, targets.count == 1 { return Array(repeating: .remoteName, count: count) }
        return targets.prefix(count) + Array(repeating: .standardOutput, count: count - min(count, targets.count))
    }

    /// Whether there are more options `-o` and `-O` than URLs.
    func hasTooManyTargets(forURLCount count: Int) -> Bool { targets.count > count }

    private var policy: FileOutput.Policy {
        FileOutput.Policy(
            collision: addsNumbers ? .renames : .replaces, createsFolders: createsFolders, keepsRemoteTime: keepsRemoteTime)
    }

    /// Makes the output for one body.
    ///
    /// - Parameters:
    ///   - request: if the load continues an earlier one, this function adds a range to the request, so that the server
    ///     sends only the missing bytes.
    ///   - isUpload: whether `-C` is for the file that is sent.
    func makeOutput(for request: inout Request, to target: OutputTarget, isUpload: Bool, discardsBody: Bool) throws(Failure)
        -> any BodyOutput
    {
        guard let resumePoint, !isUpload else { return try makeOutput(for: request.url, to: target, discardsBody) }
        let isCoded = !request.decodesContent
        if let file = try resumedFile(for: request.url, target) {
            if resumePoint == .byte(0), FileSystem.kind(at: file.path) != nil {
                // As in curl, the file is loaded from its start.
                let resume = Resume(offset: 0, validator: nil, isCoded: isCoded)
                resume.requestRemainder(in: &request)
                return ResumedStream(resume, next: try makeOutput(for: request.url, to: target, discardsBody))
            }
            let resume = try resumePoint.resume(of: file, isCoded: isCoded)
            resume.requestRemainder(in: &request)
            return ResumedFile(file, resume)
        }
        guard case .byte(let offset) = resumePoint else {
            throw Failure(.writeFailed, "-C - needs a regular file; for others, give the offset with '-C OFFSET'")
        }
        let resume = Resume(offset: offset, validator: nil, isCoded: isCoded)
        resume.requestRemainder(in: &request)
        return ResumedStream(resume, next: try makeOutput(for: request.url, to: target, discardsBody))
    }

    /// The path of the file that `-O` names after the URL.
    func remotePath(for url: URLRecord) -> String {
        let name = FileOutput.name(of: url)
        return folder.map { "\($0)/\(name)" } ?? name
    }

    /// The file of the earlier load; `nil` if the bytes go to a stream, which has no earlier bytes.
    private func resumedFile(for url: URLRecord, _ target: OutputTarget) throws(Failure) -> ResumedFile.Place? {
        switch target {
        case .standardOutput: return nil
        case .remoteName: return try .named(remotePath(for: url))
        case .place(let place):
            guard case .file = try place.kind.get() else { return nil }
            return .path(place.path)
        }
    }

    private func makeOutput(for url: URLRecord, to target: OutputTarget, _ discardsBody: Bool) throws(Failure) -> any BodyOutput {
        switch target {
        case .standardOutput: return discardsBody ? DiscardingOutput() : StreamOutput.standardOutput()
        case .remoteName:
            var policy = self.policy
            policy.folder = folder ?? ""
            if !addsNumbers { policy.collision = overwrites ? .replaces : .fails }
            return FileOutput(.remoteName(of: url, usesSuggestion: usesSuggestedName), policy)
        case .place(let place):
            if addsNumbers, FileSystem.kind(at: place.path) == .directory { return FileOutput(.path(place.path), policy) }
            return switch try place.kind.get() {
            case .stream(let target): StreamOutput(path: place.path, target)
            case .file: FileOutput(.path(place.path), policy)
            }
        }
    }
}
