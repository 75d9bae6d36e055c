// SPDX-License-Identifier: Apache-2.0

import PortolanFileSystem

#if Persistence
    import ArgumentParser
    import FoundationEssentials
    import Portolan
    import PortolanCookies
    import PortolanJSON
    import PortolanStore

    /// `portolan cookies list`
    struct ListCookiesCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Print the cookies, with their values, in curl's (Netscape) format or as JSON.")

        @Flag(name: .customLong("json"), help: "Print JSON, on one line.")
        var isJSON = false

        @OptionGroup var folder: CookieFolderOptions
        @OptionGroup var hosts: CookieHostOptions

        func run() throws {
            SignalHandler.ignoreClosedPipes()
            let cookies = try folder.cookies().filter(hosts.selects)
            guard isJSON else { return try CookieText.write(cookies, to: nil) }
            try StandardOutput.write(["cookies": .array(cookies.map(\.json))])
        }
    }

    /// `portolan cookies export`
    struct ExportCookiesCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export", abstract: "Write the cookies to a file in curl's (Netscape) format.")

        @Argument(help: ArgumentHelp("The file; '-' or none is standard output.", valueName: "file"), completion: .file())
        var file = "-"

        @OptionGroup var folder: CookieFolderOptions
        @OptionGroup var hosts: CookieHostOptions

        func run() throws {
            SignalHandler.ignoreClosedPipes()
            if file != "-" { try StateFolderOption.check(file, isOutside: folder.path ?? StateFolder.standardPath) }
            try CookieText.write(try folder.cookies().filter(hosts.selects), to: file == "-" ? nil : file)
        }
    }

    /// Cookies in the Netscape format.
    enum CookieText {
        /// - Parameter path: `nil` for standard output. Only the user may read the file.
        static func write(_ cookies: [Cookie], to path: String?) throws(Failure) {
            let omittedCount = cookies.count { !NetscapeCookieFile.canHold($0) }
            if omittedCount > 0 {
                Diagnostics.warn(
                    "\(omittedCount) cookies are left out, because the format has no partitions, empty names and tabs; 'list --json' has them"
                )
            }
            let bytes = NetscapeCookieFile.bytes(of: cookies)
            if let path { try PartialFile.writeForCommand(bytes, to: path, isPrivate: true) } else { try StandardOutput.write(bytes) }
        }
    }

    extension Cookie {
        /// Times are in seconds since 1970.
        fileprivate var json: JSONValue {
            [
                "name": .string(name), "value": .string(value), "domain": .string(domain), "hostOnly": .bool(isHostOnly),
                "path": .string(path), "secure": .bool(isSecure), "httpOnly": .bool(isHTTPOnly), "sameSite": .text(sameSite?.rawValue),
                "partition": .text(partition?.description),
                "expires": .count(expiry.map { Int64($0.timeIntervalSince1970.rounded(.up)) }),
                "created": .integer(Int64(creationTime.timeIntervalSince1970)),
            ]
        }
    }
#endif
