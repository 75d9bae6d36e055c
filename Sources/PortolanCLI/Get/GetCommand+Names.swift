// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import PortolanJSON

extension GetCommand {
    /// The names of the options of `get` that have a value, with their hyphens. They are listed here, because the
    /// argument parser takes a while to describe a command. A test compares the list with that description.
    static let optionsWithValue: Set<String> = [
        "--cacert", "--cache", "--cache-mode", "--capath", "--cert", "--config", "--connect-timeout", "--connect-to", "--continue-at",
        "--cookie",
        "--cookie-jar", "--data", "--data-ascii", "--data-binary", "--data-raw", "--data-urlencode", "--dump-header", "--etag-compare",
        "--etag-save", "--form", "--form-string", "--header", "--hsts", "--json", "--key", "--limit-rate", "--max-filesize",
        "--max-redirects", "--max-redirs", "--max-time",
        "--netrc-file", "--noproxy", "--oauth2-bearer", "--ordered-data", "--ordered-form", "--ordered-output", "--output", "--output-dir",
        "--parallel-max", "--pass", "--plugin", "--proto", "--proto-redir", "--proxy", "--proxy-user", "--range", "--referer",
        "--replay", "--replay-mode", "--replay-speed", "--request", "--request-target", "--resolve", "--retry", "--retry-delay",
        "--retry-max-time", "--setting", "--socks5", "--socks5-hostname", "--state", "--stderr", "--time-cond", "--tls-max", "--trace",
        "--upload-file", "--url", "--url-query",
        "--user", "--user-agent", "--write-out", "-A", "-C", "-D", "-E", "-F", "-H", "-K", "-T", "-U", "-X", "-b", "-c", "-d", "-e", "-m",
        "-o", "-r", "-u", "-w", "-x", "-z",
    ]

    /// The names of each flag of `get`, with their hyphens. The argument parser describes them.
    static var flagNames: [Set<String>] { names(ofKind: "flag") }

    /// - Parameter kind: `option` or `flag`.
    static func names(ofKind kind: String) -> [Set<String>] {
        // `try?` because the parser writes valid JSON.
        guard let help = try? JSONParser.parse(Array(_dumpHelp().utf8)), case .array(let arguments)? = help["command"]?["arguments"] else {
            return []
        }
        return arguments.filter { $0["kind"] == .string(kind) }.map { argument in
            guard case .array(let names)? = argument["names"] else { return [] }
            return Set(
                names.compactMap { name in
                    guard case .string(let text)? = name["name"] else { return nil }
                    return name["kind"] == .string("short") ? "-\(text)" : "--\(text)"
                })
        }
    }
}
