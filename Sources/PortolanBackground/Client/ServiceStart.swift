// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import CPortolanLinux
    import PortolanCore
    import PortolanFileSystem

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// Connects to the service, and starts it if it does not run.
    struct ServiceStart: Sendable {
        let place: ServicePlace
        /// The command line of the service.
        let command: [String]
        /// How long a program waits for the answer to a request.
        var answerTimeout = Duration.seconds(60)

        /// The first lines that the service can print.
        static let (ready, alreadyRunning) = ("ready", "running")
        private static let attempts = 5
        private static let longestStart = Duration.seconds(30)

        func connect() throws(LoadError) -> LineConnection {
            if let connection = try connectOnce() { return connection }
            try place.prepare()
            // The second of two programs waits until the first has started the service.
            guard let lock = try FileLock(place.startLock, waits: true) else {
                throw LoadError(.noResources, message: "'\(place.startLock)' can't be locked")
            }
            defer { lock.release() }
            var isRunning = false
            for _ in 0..<Self.attempts {
                if let connection = try connectOnce() { return connection }
                isRunning = try start()
            }
            guard !isRunning else {
                throw LoadError(
                    .cannotConnect,
                    message: "the transfer service runs, but its sockets are gone; end its process, whose number is in '\(place.lock)'")
            }
            throw LoadError(
                .cannotConnect, message: "the transfer service '\(command.joined(separator: " "))' ends as soon as it has started")
        }

        private func connectOnce() throws(LoadError) -> LineConnection? {
            for path in place.sockets {
                guard let socket = try LocalSocket.connect(to: path) else { continue }
                let connection = LineConnection(socket)
                // Requests can contain passwords, so they must not go to a service of another user.
                guard LocalSocket.user(of: socket) == geteuid() else {
                    throw LoadError(
                        .accessDenied, message: "the socket '\(path)' belongs to another user; remove it, or set XDG_RUNTIME_DIR")
                }
                return connection
            }
            return nil
        }

        /// Starts the service, and waits until programs can connect.
        ///
        /// - Returns: whether another service was running.
        private func start() throws(LoadError) -> Bool {
            var ends: [Int32] = [-1, -1]
            guard unsafe portolan_pipe(&ends) == 0 else {
                throw LoadError(.noResources, message: "the transfer service can't be started: \(SystemError.last)")
            }
            let (output, input) = (Descriptor(number: ends[0]), Descriptor(number: ends[1]))
            // `try?` because nothing that was written can be lost.
            defer { try? output.close() }
            place.limitLog()
            let error = spawn(writingTo: input)
            try? input.close()
            if let error {
                throw LoadError(
                    .cannotConnect,
                    message:
                        "the transfer service '\(command.first ?? "")' can't be started: \(error); put it into the PATH, or give its path as 'command'"
                )
            }
            let deadline = MonotonicTime.now + Self.longestStart
            var line: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 1024)
            while !line.contains(0x0A), line.count < 4096 {
                // `try?` because a pipe that can't be read says no more.
                guard (try? output.waitUntilReadable(within: max(deadline - MonotonicTime.now, .zero))) == true,
                    let count = try? output.read(into: &buffer), count > 0
                else { break }
                line += buffer[..<count]
            }
            let text = String(decoding: line.prefix { $0 != 0x0A }, as: UTF8.self)
            guard text == Self.ready || text == Self.alreadyRunning else {
                throw LoadError(
                    .cannotConnect, message: "the transfer service did not start: \(text.isEmpty ? "it printed nothing" : text)")
            }
            return text == Self.alreadyRunning
        }

        /// Starts the process in a session of its own, so that the end of the terminal does not end it.
        private func spawn(writingTo output: Descriptor) -> SystemError? {
            var actions = unsafe posix_spawn_file_actions_t()
            unsafe posix_spawn_file_actions_init(&actions)
            defer { unsafe posix_spawn_file_actions_destroy(&actions) }
            unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
            unsafe posix_spawn_file_actions_adddup2(&actions, output.number, STDOUT_FILENO)
            unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, place.log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600)
            var attributes = posix_spawnattr_t()
            unsafe posix_spawnattr_init(&attributes)
            defer { unsafe posix_spawnattr_destroy(&attributes) }
            // POSIX_SPAWN_SETSID, SETSIGMASK and SETSIGDEF; Glibc declares the first only with _GNU_SOURCE.
            unsafe posix_spawnattr_setflags(&attributes, 0x80 | 0x08 | 0x04)
            var signals = sigset_t()
            unsafe sigemptyset(&signals)
            unsafe posix_spawnattr_setsigmask(&attributes, &signals)
            // The service must not ignore the signals that this program ignores.
            unsafe sigfillset(&signals)
            unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
            var arguments: [UnsafeMutablePointer<CChar>?] = unsafe []
            for word in command { unsafe arguments.append(strdup(word)) }
            unsafe arguments.append(nil)
            defer { for index in unsafe arguments.indices { unsafe free(arguments[index]) } }
            guard let program = command.first else { return SystemError(code: ENOENT) }
            var child: pid_t = 0
            let status = unsafe posix_spawnp(&child, program, &actions, &attributes, arguments, environ)
            guard status == 0 else { return SystemError(code: status) }
            // The service stays a child of this process. Without waitpid(2), it would be a zombie after its end.
            let process = child
            // `try?` because a zombie is harmless.
            try? PlatformThread.start {
                var status: Int32 = 0
                while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
            }
            return nil
        }
    }
#endif
