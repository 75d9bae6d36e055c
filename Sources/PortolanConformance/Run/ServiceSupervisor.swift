// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The process that supervises one server: it starts the server, copies its output to a file, and ends all of its
/// processes.
struct ServiceSupervisor {
    let processID: pid_t
    /// The write end of a pipe. When it is closed, because the runner closes it or ends, the server is ended.
    let lifeDescriptor: Int32
    let reportReadEnd: Int32

    /// What the supervisor reports, as two 32-bit numbers. Each report is sent at most once.
    enum Report: Int32 {
        /// The server has printed the text for which the supervisor waits. The second number is 0.
        case ready
        /// The server has ended. The second number is its status (`waitpid(2)`).
        case ended
        /// The program could not be started. The second number is the error number.
        case notStarted
        /// The pipe has ended, because the supervisor was killed. No supervisor writes this.
        case lost

        static let size = 8
    }

    /// The largest size of the file with the output. Later output is discarded.
    static let outputLimit = 16 << 20

    private static let pollInterval: Int32 = 20  // milliseconds
    /// The time limit for ending processes with SIGKILL.
    static let killLimit = Duration.seconds(5)

    /// Starts the supervisor, which starts the server, and registers the supervisor with the ``RunFolder``.
    ///
    /// - Parameters:
    ///   - readyText: The text that the supervisor reports when the server prints it.
    ///   - endLimit: The time that the server has to end after SIGTERM.
    static func start(
        _ command: [String], in workingFolder: String, writingTo output: String, readyText: String?, endLimit: Duration, _ folder: RunFolder
    ) throws(ServiceProcess.Problem) -> ServiceSupervisor {
        var pipes: [[Int32]] = []
        for _ in 0..<3 {
            var ends: [Int32] = [-1, -1]
            guard unsafe pipe(&ends) == 0 else {
                let problem = failure("no pipe")
                for end in pipes.flatMap(\.self) { close(end) }
                throw problem
            }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            pipes.append(ends)
        }
        let (life, report, outputPipe) = (pipes[0], pipes[1], pipes[2])
        var arguments = unsafe command.map { unsafe strdup($0) }
        unsafe arguments.append(nil)
        defer { for index in unsafe arguments.indices { unsafe free(arguments[index]) } }
        let runner = getpid()
        let child = RunnerSignals.withSignalsBlocked { () -> pid_t in
            let child = fork()
            if child == 0 {
                // If this process kept the descriptors of other supervisors open, they would not notice the run's end.
                folder.closeServiceDescriptors()
                for end in [life[1], report[0]] { close(end) }
                // When the runner ends, SIGCONT continues this process, which a server can have stopped.
                _ = portolan_signal_at_end_of_parent(SIGCONT)
                let supervisor = SupervisingProcess(
                    runner: runner, workingFolder: workingFolder, lifeReadEnd: life[0], reportWriteEnd: report[1], outputPipe: outputPipe)
                unsafe supervisor.serve(arguments, writingTo: output, readyText, endLimit)
            }
            return child
        }
        let problem = failure("no process")
        for end in [life[0], report[1]] + outputPipe { close(end) }
        guard child > 0 else {
            for end in [life[1], report[0]] { close(end) }
            throw problem
        }
        let supervisor = ServiceSupervisor(processID: child, lifeDescriptor: life[1], reportReadEnd: report[0])
        folder.add(supervisor)
        return supervisor
    }

    private static func failure(_ what: String) -> ServiceProcess.Problem {
        ServiceProcess.Problem(phrase: "\(what) could be created (errno \(errno))")
    }

    // MARK: The supervisor's process

    private struct SupervisingProcess {
        let runner: pid_t
        let workingFolder: String
        let lifeReadEnd, reportWriteEnd: Int32
        /// What the server writes to its standard output and standard error.
        let outputPipe: [Int32]

        /// Runs the server until the other end of the pipe `lifeReadEnd` is closed, or the runner sends SIGTERM.
        ///
        /// This process keeps ``RunFolder/lifeDescriptor`` open, so that the folder is removed only after the server's
        /// end.
        func serve(
            _ arguments: [UnsafeMutablePointer<CChar>?], writingTo output: String, _ readyText: String?, _ endLimit: Duration
        ) -> Never {
            // Ctrl-C reaches only the runner.
            setsid()
            RunnerSignals.blockAll()
            // If SIGCHLD were ignored, the kernel would discard the server's status.
            signal(SIGCHLD, SIG_DFL)
            ChildProcess.redirectStreamsToNull()
            // Processes whose parent ends become children of this process.
            _ = portolan_adopt_descendants(1)
            let server = unsafe startServer(arguments)
            close(outputPipe[1])
            var file = unsafe OutputFile(
                descriptor: open(output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600), awaitedText: readyText.map { Array($0.utf8) })
            var (status, isReported) = (Int32?.none, server <= 0)
            if server <= 0 { report(.notStarted, errno) }
            var hasOutput = true
            while !isOver {
                var descriptors = [
                    pollfd(fd: lifeReadEnd, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: hasOutput ? outputPipe[0] : -1, events: Int16(POLLIN), revents: 0),
                ]
                unsafe poll(&descriptors, 2, ServiceSupervisor.pollInterval)
                // No process writes to this pipe, so an event is its end.
                if descriptors[0].revents != 0 { break }
                if descriptors[1].revents != 0 {
                    let wasWaiting = file.awaitedText != nil
                    hasOutput = file.copy(from: outputPipe[0])
                    if wasWaiting, file.awaitedText == nil { report(.ready, 0) }
                }
                let hasChildren = reap(server, &status)
                // A server that ends with status 0 can have put itself into the background.
                guard !isReported, let status, status != 0 || !hasChildren, !hasOutput || descriptors[1].revents == 0 else { continue }
                isReported = true
                report(.ended, status)
            }
            end(server, &status, within: endLimit)
            // Valgrind would search for leaks if this process ended in another way.
            kill(getpid(), SIGKILL)
            _exit(0)
        }

        /// Whether the runner has sent SIGTERM.
        private var isOver: Bool {
            var signals = sigset_t()
            unsafe sigemptyset(&signals)
            unsafe sigaddset(&signals, SIGTERM)
            var sender: pid_t = 0
            return unsafe portolan_await_signal(&signals, 0, &sender) == SIGTERM && sender == runner
        }

        private func report(_ kind: Report, _ value: Int32) {
            var numbers = [kind.rawValue, value]
            unsafe write(reportWriteEnd, &numbers, Report.size)
        }

        /// The file with the output, up to ``outputLimit``.
        private struct OutputFile {
            let descriptor: Int32
            /// The text that the server has not printed yet.
            var awaitedText: [UInt8]?
            /// The end of the output so far, shorter than the text, because two reads can each return a part of it.
            private var remainder: [UInt8] = []
            private var size = 0

            init(descriptor: Int32, awaitedText: [UInt8]?) { (self.descriptor, self.awaitedText) = (descriptor, awaitedText) }

            /// Copies what has arrived, but not more than one buffer. Returns `false` at the end of the output.
            mutating func copy(from input: Int32) -> Bool {
                var buffer = [UInt8](repeating: 0, count: 1 << 16)
                let count = unsafe read(input, &buffer, buffer.count)
                guard count > 0 else { return count < 0 && errno == EINTR }
                var text = Array(buffer[..<count])
                if let awaitedText {
                    let bytes = remainder + text
                    if unsafe portolan_contains_bytes(bytes, bytes.count, awaitedText, awaitedText.count) != 0 { self.awaitedText = nil }
                    remainder = Array(bytes.suffix(awaitedText.count - 1))
                }
                guard size < ServiceSupervisor.outputLimit else { return true }
                size += count
                if size >= ServiceSupervisor.outputLimit { text += Array("\n(later output is not kept)\n".utf8) }
                unsafe write(descriptor, &text, text.count)
                return true
            }
        }

        /// Ends every process of the server: by SIGTERM, and after `limit` by SIGKILL.
        private func end(_ server: pid_t, _ status: inout Int32?, within limit: Duration) {
            if status == nil, server > 0 {
                kill(-server, SIGTERM)
                kill(-server, SIGCONT)
            }
            for child in ProcessResources.children() where child != server { kill(child, SIGTERM) }
            let killTime = MonotonicTime.now + limit
            while reap(server, &status) {
                if MonotonicTime.now > killTime {
                    for child in ProcessResources.children() { kill(child, SIGKILL) }
                }
                guard MonotonicTime.now < killTime + ServiceSupervisor.killLimit else { return }
                Polling.sleep(.milliseconds(5))
            }
        }

        /// Reaps the children that have ended, and notes the server's status. Returns whether there are others.
        private func reap(_ server: pid_t, _ serverStatus: inout Int32?) -> Bool {
            while true {
                var status: Int32 = 0
                let process = unsafe waitpid(-1, &status, WNOHANG)
                if process == server, server > 0 { serverStatus = status }
                if process == 0 { return true }
                if process < 0, errno != EINTR { return false }
            }
        }

        private func startServer(_ arguments: [UnsafeMutablePointer<CChar>?]) -> pid_t {
            let supervisor = getpid()
            let child = fork()
            guard child == 0 else { return child }
            setpgid(0, 0)
            // The kernel kills the server if the supervisor is killed.
            _ = portolan_signal_at_end_of_parent(SIGKILL)
            guard getppid() == supervisor else { _exit(1) }
            for number in [STDOUT_FILENO, STDERR_FILENO] { dup2(outputPipe[1], number) }
            for number in [SIGPIPE, SIGTERM, SIGCHLD] { signal(number, SIG_DFL) }
            var noSignals = sigset_t()
            unsafe sigemptyset(&noSignals)
            unsafe pthread_sigmask(SIG_SETMASK, &noSignals, nil)
            if unsafe chdir(workingFolder) == 0, let program = unsafe arguments[0] { unsafe execvp(program, arguments) }
            report(.notStarted, errno)
            _exit(127)
        }
    }
}
