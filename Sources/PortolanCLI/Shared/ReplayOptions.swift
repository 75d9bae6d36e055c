// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import PortolanTrace

/// Options for responses from a recording.
struct ReplayOptions: ParsableArguments {
    @Option(
        name: .customLong("replay"),
        help: ArgumentHelp(
            "Take the responses from this recording instead of loading the URLs: a .har or .json file of --trace, or an HTTP Archive of a browser.",
            valueName: "file"),
        completion: .file())
    var path: String?

    @Option(
        name: .customLong("replay-mode"),
        help: ArgumentHelp(
            "What to do with a request that has no recorded response: 'strict' fails; 'fill' loads it and adds its response to the file. "
                + "With 'record', every request is loaded, and the file is replaced.", valueName: "strict|fill|record"),
        transform: Self.parseMode
    )
    var mode: ReplayHandler.Mode?

    @Option(
        name: .customLong("replay-speed"),
        help: ArgumentHelp(
            "Deliver the responses at this multiple of the recorded speed; 1 is the recorded speed. Without it, deliver them immediately.",
            valueName: "factor"))
    var speed: Double?

    @Flag(
        name: .customLong("keep-secrets"),
        help: ArgumentHelp(
            "Do not redact secrets (Authorization, Cookie, …) in the files of --trace, and in recordings that --replay-mode fill or record changes. "
                + "Passwords in URLs are always redacted."
        ))
    var keepsSecrets = false

    private static func parseMode(_ name: String) throws -> ReplayHandler.Mode {
        guard let mode = ReplayHandler.Mode(rawValue: name) else {
            throw ValidationError("--replay-mode: the mode must be strict, fill or record")
        }
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
