// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import PortolanTrace

/// Options for responses from a recording.
struct ReplayOptions: ParsableArguments {
    @Option(
        name: .customLong("replay"),
        help: ArgumentHelp(
            "Answer from a recording instead of loading: one of --trace, .har or .json, or a browser's HTTP Archive.", valueName: "file"),
        completion: .file())
    var path: String?

    @Option(
        name: .customLong("replay-mode"),
        help: ArgumentHelp(
            "What happens to requests that the recording has no answer for: with strict they fail; with fill they are loaded, and added to the file. "
                + "With record everything is loaded, and the file is written anew.", valueName: "strict|fill|record"), transform: Self.mode)
    var mode: ReplayHandler.Mode?

    @Option(
        name: .customLong("replay-speed"),
        help: ArgumentHelp("Answer in the recorded time, or so many times as fast; without it at once.", valueName: "factor"))
    var speed: Double?

    @Flag(
        name: .customLong("keep-secrets"),
        help: ArgumentHelp(
            "Keep in the files of --replay and --trace what looks like a secret by its name: fields (Authorization, Cookie, …), query parameters, "
                + "members of forms and JSON. Passwords in URLs are left out all the same."))
    var keepsSecrets = false

    private static func mode(_ name: String) throws -> ReplayHandler.Mode {
        guard let mode = ReplayHandler.Mode(rawValue: name) else { throw ValidationError("write strict, fill or record") }
        return mode
    }

    func validate() throws {
        if path == nil, mode != nil || speed != nil { throw ValidationError("--replay-mode and --replay-speed need --replay FILE") }
        if let speed, !(0.001...1_000_000).contains(speed) { throw ValidationError("--replay-speed: a factor from 0.001 to 1000000") }
    }

    func open() throws(Failure) -> ReplayFile? {
        guard let path else { return nil }
        return try ReplayFile(path, mode: mode ?? .strict, speed: speed, keepsSecrets: keepsSecrets)
    }
}
