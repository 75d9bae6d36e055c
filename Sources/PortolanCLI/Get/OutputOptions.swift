// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan

/// Where the body goes, and what is told.
struct OutputOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")], parsing: .unconditional,
        help: ArgumentHelp("Write the body to this file, which appears when it is whole; - is standard output.", valueName: "file"),
        completion: .file())
    var file: String?

    @Flag(
        name: [.customShort("O"), .customLong("remote-name")],
        help: "Write the body to a file of the suggested name in the current folder; an existing one is not overwritten.")
    var usesSuggestedName = false

    @Flag(name: [.customShort("i"), .customLong("include")], help: "Print the head before the body.")
    var includesHead = false

    @Flag(name: .customLong("fail"), help: "Fail with exit status 22, and without the body, where the status is 400 or more.")
    var refusesBadStatus = false

    @Flag(
        name: .customLong("json"),
        help: "Print what happens as JSON, one event a line; the body is in it as base64 unless -o or -O takes it.")
    var isJSON = false

    @Flag(name: [.customShort("v"), .customLong("verbose")], help: "Tell on standard error what happens.")
    var isVerbose = false

    /// As curl has it, but errors are told.
    @Flag(name: [.customShort("s"), .customLong("silent")], help: .hidden)
    var isSilent = false

    func validate() throws {
        if file != nil, usesSuggestedName { throw ValidationError("-o and -O exclude each other") }
        if isJSON, file == "-" { throw ValidationError("--json and '-o -' exclude each other: events go to standard output") }
    }

    private var goesToStandardOutput: Bool { (file == nil || file == "-") && !usesSuggestedName }

    /// A place for one body.
    ///
    /// - Parameter isHeadOnly: there will be a head alone, which goes to standard output also with -O.
    func makeOutput(isHeadOnly: Bool) throws(Failure) -> any BodyOutput {
        if isJSON, goesToStandardOutput { return DiscardingOutput() }
        if goesToStandardOutput || (isHeadOnly && usesSuggestedName) { return StreamOutput.standardOutput() }
        guard let file else { return FileOutput(.suggested) }
        switch FileSystem.kind(at: file) {
        case .special: return StreamOutput(path: file)
        case .directory: throw Failure(.writeFailed, "'\(file)' is a directory; name a file in it")
        case .regular, nil: return FileOutput(.path(file))
        }
    }

    func makeObservers() -> [any LoadObserver] {
        var observers: [any LoadObserver] = []
        if isVerbose { observers.append(VerboseLines()) }
        if isJSON { observers.append(EventLines(includesBody: goesToStandardOutput)) }
        let hidesBar = isSilent || isVerbose || ((goesToStandardOutput || isJSON) && Descriptor.standardOutput.isTerminal)
        if Descriptor.standardError.isTerminal, !hidesBar { observers.append(ProgressBar(terminal: .standardError)) }
        return observers
    }
}
