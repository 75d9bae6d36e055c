// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The process that keeps one server: it starts the server, and ends all of its processes.
struct ServiceKeeper {
    let processID: pid_t
    let lifeDescriptor, statusReadEnd: Int32

    private static let pollInterval: Int32 = 20  // milliseconds
    /// The time limit for ending processes with SIGKILL.
    private static let killLimit = Duration.seconds(5)

    /// Starts the keeper, which starts the server, and adds it to the run's folder.
    ///
    /// - Parameter endLimit: The time that the server has to end after SIGTERM.
    static func start(
        _ command: [String], in workingFolder: String, writingTo output: String, endLimit: Duration, _ folder: RunFolder
    ) throws(ServiceProcess.Problem) -> ServiceKeeper {
        var (life, status): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard unsafe pipe(&life) == 0 else { throw failure("no pipe") }
        guard unsafe pipe(&status) == 0 else {
            let problem = failure("no pipe")
            for end in life { close(end) }
            throw problem
        }
        for end in life + status { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var arguments = unsafe command.map { unsafe strdup($0) }
        unsafe arguments.append(nil)
        defer { for index in unsafe arguments.indices { unsafe free(arguments[index]) } }
        let child = RunnerSignals.withSignalsBlocked { () -> pid_t in
            let child = fork()
            if child == 0 {
                // If this process kept the descriptors of other keepers open, they would not notice the end of the run.
                for end in [life[1], status[0]] + folder.keepers.map(\.lifeDescriptor) { close(end) }
                unsafe serve(arguments, workingFolder, output, statusWriteEnd: status[1], lifeReadEnd: life[0], endLimit)
            }
            return child
        }
        let problem = failure("no process")
        for end in [life[0], status[1]] { close(end) }
        guard child > 0 else {
            for end in [life[1], status[0]] { close(end) }
            throw problem
        }
        folder.add(child, lifeDescriptor: life[1])
        return ServiceKeeper(processID: child, lifeDescriptor: life[1], statusReadEnd: status[0])
    }

    private static func failure(_ what: String) -> ServiceProcess.Problem {
        ServiceProcess.Problem(phrase: "\(what) could be created (errno \(errno))")
    }

    // MARK: The keeper's process

    /// Runs the server until the other end of the pipe `lifeReadEnd` is closed.
    ///
    /// The process keeps the descriptor of the run's folder open, so that the folder is removed after the server's end.
    private static func serve(
        _ arguments: [UnsafeMutablePointer<CChar>?], _ workingFolder: String, _ output: String, statusWriteEnd: Int32, lifeReadEnd: Int32,
        _ endLimit: Duration
    ) -> Never {
        // Ctrl-C reaches only the runner.
        setsid()
        RunnerSignals.blockAll()
        // If SIGCHLD were ignored, the kernel would discard the server's status.
        signal(SIGCHLD, SIG_DFL)
        ChildProcess.redirectStreamsToNull()
        // Processes whose parent ends become children of this process.
        _ = portolan_adopt_descendants(1)
        let server = unsafe startServer(arguments, workingFolder, output)
        var status = server > 0 ? nil : Int32?.some(126 << 8)
        var isReported = false
        var life = pollfd(fd: lifeReadEnd, events: Int16(POLLIN), revents: 0)
        // No process writes to the pipe, so an event is its end.
        while unsafe poll(&life, 1, pollInterval) <= 0 {
            let hasChildren = reap(server, &status)
            // A server that ends with status 0 can have put itself into the background.
            guard !isReported, var report = status, report != 0 || !hasChildren else { continue }
            isReported = true
            unsafe write(statusWriteEnd, &report, 4)
        }
        if status == nil { kill(-server, SIGTERM) }
        for child in ProcessResources.children() where child != server { kill(child, SIGTERM) }
        let termLimit = MonotonicTime.now + endLimit
        while reap(server, &status) {
            if MonotonicTime.now > termLimit {
                for child in ProcessResources.children() { kill(child, SIGKILL) }
            }
            guard MonotonicTime.now < termLimit + killLimit else { break }
            Polling.sleep(.milliseconds(5))
        }
        // Valgrind would search for leaks if this process ended in another way.
        kill(getpid(), SIGKILL)
        _exit(0)
    }

    /// Reaps the children that have ended, and notes the server's status. Returns whether there are others.
    private static func reap(_ server: pid_t, _ serverStatus: inout Int32?) -> Bool {
        while true {
            var status: Int32 = 0
            let process = unsafe waitpid(-1, &status, WNOHANG)
            if process == server, server > 0 { serverStatus = status }
            if process == 0 { return true }
            if process < 0, errno != EINTR { return false }
        }
    }

    private static func startServer(_ arguments: [UnsafeMutablePointer<CChar>?], _ workingFolder: String, _ output: String) -> pid_t {
        let keeper = getpid()
        let child = fork()
        guard child == 0 else { return child }
        setpgid(0, 0)
        // If the keeper is killed.
        _ = portolan_signal_at_end_of_parent(SIGKILL)
        guard getppid() == keeper else { _exit(1) }
        let file = unsafe open(output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        for number in [STDOUT_FILENO, STDERR_FILENO] { dup2(file, number) }
        var noSignals = sigset_t()
        unsafe sigemptyset(&noSignals)
        unsafe pthread_sigmask(SIG_SETMASK, &noSignals, nil)
        signal(SIGPIPE, SIG_DFL)
        guard unsafe chdir(workingFolder) == 0 else { _exit(126) }
        if let program = unsafe arguments[0] { unsafe execvp(program, arguments) }
        _exit(errno == ENOENT ? 127 : 126)
    }
}
