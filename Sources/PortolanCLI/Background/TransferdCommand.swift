// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import ArgumentParser
    import Portolan
    import PortolanBackground
    import PortolanCore
    import PortolanFileSystem

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// `portolan transferd`
    struct TransferdCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "transferd", abstract: "Make the background transfers of this user.",
            discussion: """
                'portolan background' starts this service when it is needed. Its socket is in $XDG_RUNTIME_DIR/portolan, and another one beside its journal, in \
                'portolan/transfers' in $XDG_STATE_HOME or ~/.local/state. SIGTERM ends it; its transfers go on when it is started again.
                """)

        @Option(
            name: .customLong("parallel"), parsing: .unconditional,
            help: ArgumentHelp("The number of transfers that run at the same time.", valueName: "number"))
        var parallelTransfers = 4

        @Option(
            name: .customLong("idle"), parsing: .unconditional,
            help: ArgumentHelp(
                "End after this time if no program is connected and no transfer is left (default: 30); 0 means never.", valueName: "seconds"
            ),
            transform: Seconds.init(parsing:))
        var idleLimit: Seconds?

        @OptionGroup var loader: LoaderOptions
        @OptionGroup var replay: ReplayOptions

        func validate() throws {
            guard (1...100).contains(parallelTransfers) else { throw ValidationError("--parallel: the number is from 1 to 100") }
        }

        func run() throws {
            do {
                try serve()
            } catch let failure as Failure {
                // The program that starts the service reads its standard output.
                try StandardOutput.write("\(PlainText.line(failure.message ?? "the service can't start"))\n")
                throw failure
            }
        }

        /// Closes inherited descriptors, and sets the umask and the limit of open files, so that the service does not
        /// depend on the program that started it. That program may end long before the service.
        private static func separateFromStarter() {
            // `try?` because a descriptor that stays open only keeps its file in use.
            for number in ((try? FileSystem.names(in: "/proc/self/fd")) ?? []).compactMap({ Int32($0) }) where number > 2 {
                let descriptor = Descriptor(number: number)
                if descriptor.isInherited { try? descriptor.close() }
            }
            // For the service's own files. A new downloaded file gets the mask of the program that added the transfer.
            _ = umask(0o077)
            var limit = rlimit()
            if unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
                limit.rlim_cur = min(limit.rlim_max, 65_536)
                _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            }
        }

        private func serve() throws {
            SignalHandler.ignoreClosedPipes()
            Self.separateFromStarter()
            // The service must not keep a file system in use, and relative paths have no meaning in it.
            _ = unsafe chdir("/")
            let setup = try loader.setUp(replay: replay, showsLog: true)
            var limits = TransferService.Limits()
            limits.parallelTransfers = parallelTransfers
            if let idleLimit { limits.idle = idleLimit.duration }
            let place: ServicePlace
            let service: TransferService?
            do throws(LoadError) {
                place = try .standard()
                service = try TransferService(at: place, loader: setup.loader, limits: limits)
            } catch {
                throw Failure(error)
            }
            guard let service else { return try StandardOutput.write("\(TransferService.alreadyRunningLine)\n") }
            try SignalHandler.observe { _ in service.stop() }
            try StandardOutput.write("\(TransferService.readyLine)\n")
            // The program that started the service reads nothing after this line.
            if let nullDevice = try? FileSystem.openForWriting("/dev/null", appends: false) { try? nullDevice.replace(.standardOutput) }
            do throws(LoadError) { try service.run() } catch { throw Failure(error) }
        }
    }
#endif
