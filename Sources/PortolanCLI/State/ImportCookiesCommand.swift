// SPDX-License-Identifier: Apache-2.0

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
            discussion: "Cookies that end with their session are not kept.")

        @Argument(help: ArgumentHelp("The file; '-' or none is standard input.", valueName: "file"), completion: .file())
        var file = "-"

        @OptionGroup var folder: CookieFolderOptions
        @OptionGroup var hosts: CookieHostOptions

        func run() throws {
            // The folder is opened last: a file that can't be read leaves no folder behind.
            let (cookies, problems) = NetscapeCookieFile.parse(try read(), now: Date())
            for problem in problems.prefix(3) { Diagnostics.warn("\(problem); it is skipped") }
            if problems.count > 3 { Diagnostics.warn("\(problems.count - 3) more lines are no cookies") }
            let chosen = cookies.filter(hosts.chooses)
            let ending = chosen.count { !$0.isPersistent }
            if ending > 0 { Diagnostics.warn("\(ending) cookies end with their session, and are not kept") }
            let state = try folder.open()
            for cookie in chosen where cookie.isPersistent { state.cookies.restore(cookie) }
            try state.close()
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
            return try Self.limit(bytes, "'\(file)'")
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
            return try limit(bytes, "standard input")
        }

        private static func limit(_ bytes: [UInt8], _ name: String) throws(Failure) -> [UInt8] {
            guard bytes.count <= NetscapeCookieFile.sizeLimit else {
                throw Failure(.tooLarge, "\(name) has more than \(NetscapeCookieFile.sizeLimit) bytes")
            }
            return bytes
        }
    }
#endif
