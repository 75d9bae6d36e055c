// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import ArgumentParser
    import Portolan
    import PortolanCookies

    /// `portolan cookies`
    struct CookiesCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "cookies", abstract: "List, remove, import and export the cookies of a state folder.",
            discussion:
                "The subcommands use the standard folder unless --state names another one. 'portolan get' keeps nothing without --state FOLDER.",
            subcommands: [ListCookiesCommand.self, ClearCookiesCommand.self, ImportCookiesCommand.self, ExportCookiesCommand.self],
            defaultSubcommand: ListCookiesCommand.self)
    }

    /// The folder of the cookies.
    struct CookieFolderOptions: ParsableArguments {
        @Option(
            name: .customLong("state"), parsing: .unconditional,
            help: ArgumentHelp(
                "The folder (default: 'portolan' in $XDG_STATE_HOME or ~/.local/state).", valueName: "folder"),
            completion: .directory)
        var path: String?

        func validate() throws {
            if path?.isEmpty == true { throw ValidationError("--state: the name of the folder is empty") }
        }

        /// Opens the folder, and creates it if it is missing.
        func open() throws(Failure) -> KeptState { try KeptState(path) }

        /// Opens a folder that has cookies. Fails without creating a folder if the path was mistyped.
        func openExisting() throws(Failure) -> KeptState { try KeptState(path, createsMissing: false) }

        /// Reads the cookies, and closes the folder.
        func cookies() throws(Failure) -> [Cookie] {
            let state = try openExisting()
            let cookies = state.cookies.cookies
            try state.close()
            return cookies
        }
    }

    /// The option that selects cookies by their hosts.
    struct CookieHostOptions: ParsableArguments {
        @Option(
            name: .customLong("host"), parsing: .singleValue,
            help: ArgumentHelp("Only the cookies of this host and of the hosts below it. May be repeated.", valueName: "host"))
        var hosts: [String] = []

        func validate() throws {
            for host in hosts where Self.canonical(host) == nil { throw ValidationError("--host: '\(host)' is not a host") }
        }

        func selects(_ cookie: Cookie) -> Bool {
            hosts.isEmpty
                || hosts.contains { host in
                    guard let host = Self.canonical(host) else { return false }
                    return cookie.domain == host || cookie.domain.hasSuffix(".\(host)")
                }
        }

        /// Returns the host in the form of a cookie's domain: in lower case and in ASCII (IDNA); `nil` if it is no
        /// host.
        private static func canonical(_ host: String) -> String? {
            // `try?` because `validate()` reports an invalid host.
            let url = try? URLRecord(parsing: "https://\(host.hasPrefix(".") ? String(host.dropFirst()) : host)/")
            guard let url, url.path == "/", url.username.isEmpty, url.port == nil else { return nil }
            return url.host.map { String($0) }
        }
    }

    /// `portolan cookies clear`
    struct ClearCookiesCommand: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "clear", abstract: "Remove all cookies, or those of some hosts.")

        @OptionGroup var folder: CookieFolderOptions
        @OptionGroup var hosts: CookieHostOptions

        func run() throws {
            let state = try folder.openExisting()
            state.cookies.remove(where: hosts.selects)
            try state.close()
        }
    }
#endif
