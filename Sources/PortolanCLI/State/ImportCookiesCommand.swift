// SPDX-License-Identifier: Apache-2.0

import PortolanFileSystem

#if Persistence
    import ArgumentParser
    import FoundationEssentials
    import Portolan
    import PortolanCookies
    import PortolanCore

    /// `portolan cookies import`
    struct ImportCookiesCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import", abstract: "Add the cookies of a file in curl's (Netscape) format; they replace those that exist.",
            discussion: "Cookies that end with their session are not kept. Warnings say how many lines are not kept, and why.")

        @Argument(help: ArgumentHelp("The file; '-' or none is standard input.", valueName: "file"), completion: .file())
        var file = "-"

        @OptionGroup var folder: CookieFolderOptions
        @OptionGroup var hosts: CookieHostOptions

        func run() throws {
            // The folder is opened last, so that no folder is created if the file cannot be read.
            let (cookies, problems) = NetscapeCookieFile.parse(try read(), now: Date())
            InputFile(option: "import", path: file).warnAboutSkippedEntries(problems, further: "lines are no cookies")
            if cookies.isEmpty, !problems.isEmpty {
                throw Failure(.unreadable, "\(file == "-" ? "standard input" : "'\(file)'") has no cookies in curl's (Netscape) format")
            }
            let selectedCookies = cookies.filter(hosts.selects)
            let (persistent, now) = (selectedCookies.filter(\.isPersistent), Date())
            warn(selectedCookies.count - persistent.count, "without an expiry, not kept")
            warn(persistent.count { $0.isExpired(at: now) }, "already expired, not kept")
            let state = try folder.open()
            let (evicted, limits) = (state.cookies.restore(persistent), CookieStorage.Limits())
            for limit in CookieStorage.Limit.allCases {
                warn(evicted[limit] ?? 0, "of the file or the folder not kept: \(limits.text(of: limit))")
            }
            try state.close()
        }

        private func warn(_ count: Int, _ problem: String) {
            if count > 0 { Diagnostics.warn("\(String(count, of: "cookie")) \(problem)") }
        }

        private func read() throws(Failure) -> [UInt8] {
            guard file != "-" else { return try Self.readInput() }
            guard let place = LocalPath(file) else { throw Failure(.unreadable, "the name of the file contains a NUL, or is empty") }
            let bytes: [UInt8]
            do throws(LoadError) {
                bytes = try RegularFile(at: place).contents(atMost: NetscapeCookieFile.sizeLimit + 1)
            } catch {
                throw Failure(error)
            }
            return try Self.checkSize(of: bytes, "'\(file)'")
        }

        private static func readInput() throws(Failure) -> [UInt8] {
            var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
            do throws(SystemError) {
                while bytes.count <= NetscapeCookieFile.sizeLimit {
                    let count = try Descriptor.standardInput.read(into: &buffer)
                    guard count > 0 else { break }
                    bytes += buffer[..<count]
                }
            } catch {
                throw Failure(.unreadable, "reading standard input failed: \(error)")
            }
            return try checkSize(of: bytes, "standard input")
        }

        /// Returns the bytes, or throws an error if there are more than a cookie file can have.
        private static func checkSize(of bytes: [UInt8], _ name: String) throws(Failure) -> [UInt8] {
            guard bytes.count <= NetscapeCookieFile.sizeLimit else {
                throw Failure(.tooLarge, "\(name) has more than \(NetscapeCookieFile.sizeLimit) bytes")
            }
            return bytes
        }
    }

    extension CookieStorage.Limits {
        fileprivate func text(of limit: CookieStorage.Limit) -> String {
            switch limit {
            case .perDomain: "one host has at most \(perDomain)"
            case .perSite: "the hosts of one site have at most \(perSite) together"
            case .total: "a folder has at most \(total)"
            }
        }
    }
#endif
