// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import PortolanTrace

/// Options for responses from a recording.
struct ReplayOptions: ParsableArguments {
    @Option(
        name: .customLong("replay"),
        help: ArgumentHelp(
            "Take responses from a recording instead of loading: a .har or .json file of --trace, or a browser's HTTP Archive.",
            valueName: "file"),
        completion: .file())
    var path: String?

    @Option(
        name: .customLong("replay-mode"),
        help: ArgumentHelp(
            "What to do with a request that has no response in the recording: strict fails; fill loads it and adds it to the file. "
                + "With record, every request is loaded, and the file is rewritten.", valueName: "strict|fill|record"), transform: Self.mode
    )
    var mode: ReplayHandler.Mode?

    @Option(
        name: .customLong("replay-speed"),
        help: ArgumentHelp(
            "Deliver the responses at the recorded speed (1), or this many times as fast; without it, at once.", valueName: "factor"))
    var speed: Double?

    @Flag(
        name: .customLong("keep-secrets"),
        help: ArgumentHelp(
            "Keep values whose names suggest a secret in the files of --replay and --trace: fields (Authorization, Cookie, …), query parameters, "
                + "members of forms and JSON. Passwords in URLs are never written."))
    var keepsSecrets = false

    private static func mode(_ name: String) throws -> ReplayHandler.Mode {
        guard let mode = ReplayHandler.Mode(rawValue: name) else { throw ValidationError("write strict, fill or record") }
        return mode
    }

    func validate() throws {
        if path == nil, mode != nil || speed != nil { throw ValidationError("--replay-mode and --replay-speed need --replay FILE") }
        if let speed, !(0.001...1_000_000).contains(speed) { throw ValidationError("--replay-speed: write a factor from 0.001 to 1000000") }
    }

    func open() throws(Failure) -> ReplayFile? {
        guard let path else { return nil }
        return try ReplayFile(path, mode: mode ?? .strict, speed: speed, keepsSecrets: keepsSecrets)
    }
}
