// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import ArgumentParser
    import Portolan
    import PortolanBackground
    import PortolanCore
    import PortolanFileSystem
    import PortolanJSON

    /// `portolan background`
    struct BackgroundCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "background", abstract: "Transfer files while no program runs: add, list, show, cancel, resume and wait.",
            discussion: """
                A service makes the transfers ('portolan transferd'), which is started when it is needed. It goes on when this program ends, tries again \
                after temporary failures, and continues downloads after a crash.
                """,
            subcommands: [
                AddTransferCommand.self, ListTransfersCommand.self, ShowTransferCommand.self, CancelTransferCommand.self,
                ResumeTransferCommand.self, WaitForTransfersCommand.self,
            ],
            defaultSubcommand: ListTransfersCommand.self)
    }

    /// The options of every command about transfers.
    struct BackgroundOptions: ParsableArguments {
        @Option(
            name: .customLong("session"), parsing: .unconditional,
            help: ArgumentHelp("The session of the transfers.", valueName: "identifier"))
        var identifier = "org.portolan.command"

        @Flag(name: .customLong("json"), help: "Print JSON: one line for each transfer.")
        var isJSON = false

        func run<Result>(_ body: (BackgroundSession) throws(LoadError) -> Result) throws(Failure) -> Result {
            SignalHandler.ignoreClosedPipes()
            do throws(LoadError) {
                // The service runs the executable of this process, which need not be in the PATH.
                // `try?` because the name in the PATH is the best guess if /proc cannot be read.
                let program = (try? FileSystem.linkText(at: "/proc/self/exe")).flatMap { $0 } ?? "portolan"
                return try body(BackgroundSession(identifier: identifier, command: [program, "transferd"]))
            } catch {
                throw Failure(error)
            }
        }

        func write(_ transfers: [BackgroundTransfer]) throws(Failure) {
            let lines = transfers.map { isJSON ? String(decoding: $0.json.bytes, as: UTF8.self) : PlainText.line($0.line) }
            try StandardOutput.write(lines.map { "\($0)\n" }.joined())
        }
    }

    /// `portolan background add`
    struct AddTransferCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Add a download or, with -T, an upload.",
            discussion: "Prints the transfer. Its first column is the number for the other commands.")

        @Argument(help: ArgumentHelp("The URL.", valueName: "url"))
        var url: String

        @Option(
            name: [.customShort("o", allowingJoined: true), .customLong("output")], parsing: .unconditional,
            help: ArgumentHelp("Write the body to this file. Necessary for downloads.", valueName: "file"), completion: .file())
        var output: String?

        @Option(
            name: [.customShort("T", allowingJoined: true), .customLong("upload-file")], parsing: .unconditional,
            help: ArgumentHelp("Send this file, by default in a PUT request.", valueName: "file"), completion: .file())
        var uploadedFile: String?

        @Option(
            name: [.customShort("X", allowingJoined: true), .customLong("request")], parsing: .unconditional,
            help: ArgumentHelp("Use this method for an upload.", valueName: "method"))
        var method: String?

        @Option(
            name: [.customShort("H", allowingJoined: true), .customLong("header")], parsing: .unconditionalSingleValue,
            help: ArgumentHelp("Send this header field, 'Name: value'. Can be repeated.", valueName: "field"))
        var headers: [String] = []

        @Option(
            name: [.customShort("u", allowingJoined: true), .customLong("user")], parsing: .unconditional,
            help: ArgumentHelp(
                "The user name and password for the server. They are in the journal of the service until the transfer has ended.",
                valueName: "user:password"))
        var user: String?

        @Flag(name: .customLong("no-clobber"), help: "If the file exists, add a number to the name of the new one.")
        var keepsBoth = false

        @Flag(name: .customLong("discretionary"), help: "Wait until the machine is not on battery.")
        var isDiscretionary = false

        @OptionGroup var background: BackgroundOptions

        /// Throws if the options are invalid. `validate()` does not do this, because its error would hide the error
        /// about an unknown option.
        private func check() throws {
            if output == nil, uploadedFile == nil { throw ValidationError("-o: a download needs the name of a file") }
            if output == "" { throw ValidationError("-o: the name of the file is empty") }
            if output == "-" { throw ValidationError("-o -: a background transfer has no standard output; write ./- for a file") }
            if method != nil, uploadedFile == nil { throw ValidationError("-X: a download has the method GET; upload a file with -T") }
            for header in headers where FieldArgument(header) == nil {
                throw ValidationError(FieldArgument.problem(with: header))
            }
            for case .omission(let name)? in headers.map(FieldArgument.init) {
                throw ValidationError("-H: a background transfer can't leave out '\(name)'; only 'portolan get' can")
            }
        }

        func run() throws {
            try check()
            var request = try Request(argument: url, knownSchemes: Loader.shared.schemes)
            if uploadedFile != nil { request.method = try HTTPRequest.Method.named(method ?? "PUT") }
            for case .field(let field)? in headers.map(FieldArgument.init) { request.fields.append(field) }
            var options = BackgroundSession.Options()
            options.existingFile = keepsBoth ? .keepBoth : .replace
            options.isDiscretionary = isDiscretionary
            if let user { (options.user, options.password) = ChallengeResponder.parts(of: user) }
            let output = try output.map(Self.absolute)
            let transfer = try background.run { (session) throws(LoadError) in
                if let uploadedFile {
                    return try session.waitForAdd(.upload, request, Self.absolute(uploadedFile), responseTo: output, options)
                }
                return try session.waitForAdd(.download, request, output ?? "", responseTo: nil, options)
            }
            try background.write([transfer])
        }

        /// Returns the absolute path, because the service has another working directory.
        private static func absolute(_ path: String) throws(LoadError) -> String {
            if path.hasPrefix("/") { return path }
            guard let folder = FileSystem.resolved(".") else {
                throw LoadError(.ioFailed, message: "the working directory of '\(path)' can't be found; give an absolute path")
            }
            return "\(folder == "/" ? "" : folder)/\(path)"
        }
    }

    extension HTTPRequest.Method {
        fileprivate static func named(_ name: String) throws(Failure) -> Self {
            guard let method = Self(name) else { throw Failure(.usage, "-X: \(QuotedText(name)) is not a method") }
            return method
        }
    }

    /// `portolan background list`
    struct ListTransfersCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Print one line for each transfer: its number, state, bytes, file and URL.")

        @Flag(name: .customLong("all"), help: "List the transfers of all sessions.")
        var includesAllSessions = false

        @OptionGroup var background: BackgroundOptions

        func run() throws {
            try background.write(
                try background.run { (session) throws(LoadError) in try session.waitForTransfers(includesAllSessions: includesAllSessions) }
            )
        }
    }

    /// `portolan background show`
    struct ShowTransferCommand: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "show", abstract: "Print what is known of a transfer.")

        @Argument(help: ArgumentHelp("The number of the transfer.", valueName: "number"))
        var number: Int64

        @OptionGroup var background: BackgroundOptions

        func run() throws {
            let transfer = try background.run { (session) throws(LoadError) in try session.waitForShow(number) }
            if background.isJSON { return try background.write([transfer]) }
            try StandardOutput.write(transfer.details.map { "\($0): \(PlainText.line($1))\n" }.joined())
        }
    }

    /// `portolan background cancel`
    struct CancelTransferCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "cancel", abstract: "Cancel transfers, and remove their partial files.")

        @Argument(help: ArgumentHelp("The numbers of the transfers.", valueName: "number"))
        var numbers: [Int64]

        @OptionGroup var background: BackgroundOptions

        func run() throws {
            var failure: Failure?
            for number in numbers {
                do throws(Failure) {
                    let transfer = try background.run { (session) throws(LoadError) in try session.waitForCancel(number) }
                    if background.isJSON { try background.write([transfer]) }
                } catch {
                    failure = failure ?? error
                }
            }
            if let failure { throw failure }
        }
    }

    /// `portolan background resume`
    struct ResumeTransferCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "resume", abstract: "Start a transfer now that waits, needs a password, or has failed.")

        @Argument(help: ArgumentHelp("The number of the transfer.", valueName: "number"))
        var number: Int64

        @Option(
            name: [.customShort("u", allowingJoined: true), .customLong("user")], parsing: .unconditional,
            help: ArgumentHelp("The user name and password for the server.", valueName: "user:password"))
        var user: String?

        @OptionGroup var background: BackgroundOptions

        func run() throws {
            let credential = user.map(ChallengeResponder.parts)
            let transfer = try background.run { (session) throws(LoadError) in
                try session.waitForResume(number, user: credential?.user, password: credential?.password)
            }
            try background.write([transfer])
        }
    }

    /// `portolan background wait`
    struct WaitForTransfersCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "wait", abstract: "Wait until all transfers of the session have ended, and print each.",
            discussion: """
                The service forgets the transfers that were printed. The exit status is that of the first transfer that has failed, as for 'portolan get'; \
                67 if a transfer needs a password ('portolan background resume -u').
                """)

        @OptionGroup var background: BackgroundOptions

        func run() throws {
            var failure: Failure?
            try background.run { (session) throws(LoadError) in
                try session.waitForEnds(
                    { transfer in
                        do throws(Failure) {
                            try background.write([transfer])
                        } catch {
                            // An end that was not printed is not acknowledged.
                            failure = error
                            return .lost
                        }
                        if transfer.state == .failed, failure == nil { failure = Failure(of: transfer) }
                        return .acknowledged
                    },
                    { transfersNeedingCredential in
                        if let transfer = transfersNeedingCredential.first, failure == nil { failure = Failure(of: transfer) }
                        return false
                    })
            }
            if let failure { throw failure }
        }
    }

    extension Failure {
        fileprivate init(of transfer: BackgroundTransfer) {
            let error = LoadError(.init(rawValue: transfer.errorCode ?? LoadError.Code.unknown.rawValue), message: "")
            var reason = transfer.message ?? transfer.state.rawValue
            if transfer.state == .needsCredential {
                reason += "; give it with 'portolan background resume \(transfer.id) -u USER:PASSWORD'"
            }
            self.init(ExitStatus(error), "transfer \(transfer.id) (\(transfer.url)): \(reason)", code: nil)
        }
    }

    extension BackgroundTransfer {
        fileprivate var size: String {
            let done = ProgressBar.size(Double(bytes))
            return expectedBytes.map { "\(done) of \(ProgressBar.size(Double($0)))" } ?? done
        }

        fileprivate var line: String {
            "\(id)  \(state.rawValue)  \(size)  \(path)  \(url)" + (message.map { "  (\($0))" } ?? "")
        }

        fileprivate var details: [(String, String)] {
            var lines = [
                ("number", "\(id)"), ("session", session), ("kind", kind.rawValue), ("method", method), ("url", url), ("file", path),
                ("state", state.rawValue), ("bytes", size), ("failures", "\(failures)"),
            ]
            if let status { lines.append(("status", "\(status)")) }
            if let errorCode { lines.append(("error", LoadError(.init(rawValue: errorCode), message: "").name)) }
            if let nextAttempt { lines.append(("next attempt", "in \(max(0, Int64(nextAttempt) - SystemTime.secondsSince1970)) s")) }
            if let message { lines.append(("message", message)) }
            return lines
        }

        fileprivate var json: JSONValue {
            var members: [JSONValue.Member] = []
            func add(_ name: String, _ value: JSONValue?) { if let value { members.append(.init(name: name, value: value)) } }
            add("id", .number("\(id)"))
            add("session", .string(session))
            add("kind", .string(kind.rawValue))
            add("method", .string(method))
            add("url", .string(url))
            add("path", .string(path))
            add("state", .string(state.rawValue))
            add("bytes", .number("\(bytes)"))
            add("expectedBytes", expectedBytes.map { .number("\($0)") })
            add("failures", .number("\(failures)"))
            add("nextAttempt", nextAttempt.map { .number("\($0)") })
            add("status", status.map { .number("\($0)") })
            add("error", errorCode.map { .string(LoadError(.init(rawValue: $0), message: "").name) })
            add("message", message.map { .string($0) })
            return .object(members)
        }
    }
#endif
