// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import FoundationEssentials
import PortolanCore
package import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A running server that loads need, and what it prints.
///
/// The server has its own process group. It is ended with the object, and receives SIGTERM if this process ends first.
package final class ServiceProcess {
    package struct Problem: Error {
        /// As in `it ended with status 1: bind: Address already in use`.
        package let phrase: String
    }

    package let name: String
    /// The host and the port, as in `127.0.0.1:40123`.
    package let address: String
    private let processID: pid_t
    private let outputPath: String
    private var hasEnded = false

    /// The time that a server has to become ready, and to end after SIGTERM.
    private static let (startLimit, endLimit) = (Duration.seconds(10), Duration.seconds(2))
    private static let pollInterval = Duration.milliseconds(10)

    /// Starts the server, and waits until it is ready. Only a process with one thread can do this (`fork(2)`).
    ///
    /// - Parameters:
    ///   - workingFolder: The folder in which the server starts: that of the manifest.
    ///   - folder: The server gets a folder in it.
    package init(_ name: String, _ service: ConformanceService, in workingFolder: String, _ folder: RunFolder) throws(Problem) {
        let port = portolan_free_port()
        guard port > 0 else { throw Problem(phrase: "no TCP port is free") }
        (self.name, address, outputPath) = (name, "127.0.0.1:\(port)", "\(folder.path)/service-\(name).log")
        let ownFolder = "\(folder.path)/service-\(name)"
        guard unsafe mkdir(ownFolder, 0o700) == 0 else { throw Problem(phrase: "its folder can't be created (errno \(errno))") }
        let arguments = service.command.map { $0.replacing("{port}", with: "\(port)").replacing("{folder}", with: ownFolder) }
        processID = Self.start(arguments, in: workingFolder, writingTo: outputPath)
        guard processID > 0 else {
            hasEnded = true
            throw Problem(phrase: "no process could be created (errno \(errno))")
        }
        try waitUntilReady(service, port)
    }

    deinit { end() }

    private static func start(_ arguments: [String], in workingFolder: String, writingTo output: String) -> pid_t {
        var pointers = unsafe arguments.map { unsafe strdup($0) }
        unsafe pointers.append(nil)
        defer { for index in unsafe pointers.indices { unsafe free(pointers[index]) } }
        let parent = getpid()
        return RunnerSignals.withSignalsBlocked { () -> pid_t in
            let child = fork()
            guard child == 0 else { return child }
            // From here to execvp(3), only functions that are safe after fork(2).
            setpgid(0, 0)
            _ = portolan_signal_at_end_of_parent(SIGTERM)
            guard getppid() == parent else { _exit(1) }
            ChildProcess.redirectStreamsToNull()
            let file = unsafe open(output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            for number in [STDOUT_FILENO, STDERR_FILENO] { dup2(file, number) }
            var noSignals = sigset_t()
            unsafe sigemptyset(&noSignals)
            unsafe pthread_sigmask(SIG_SETMASK, &noSignals, nil)
            signal(SIGPIPE, SIG_DFL)
            guard unsafe chdir(workingFolder) == 0 else { _exit(126) }
            if let program = unsafe pointers[0] { unsafe execvp(program, pointers) }
            _exit(127)
        }
    }

    private func waitUntilReady(_ service: ConformanceService, _ port: UInt16) throws(Problem) {
        let deadline = MonotonicTime.now + Self.startLimit
        while true {
            let isReady = service.readyText.map { output.contains($0) } ?? (portolan_accepts_connections(port) == 1)
            if let status = statusIfEnded() {
                let reason = status == 127 ? "the program '\(service.command[0])' was not found" : "it ended with status \(status)"
                throw Problem(phrase: reason + outputPhrase)
            }
            if isReady { return }
            guard MonotonicTime.now < deadline else {
                end()
                let missing = service.readyText.map { "did not print '\(Text.oneLine($0, limit: 80))'" } ?? "accepted no connection"
                throw Problem(phrase: "it \(missing) within \(Self.startLimit.components.seconds) s" + outputPhrase)
            }
            Polling.sleep(Self.pollInterval)
        }
    }

    /// The exit status, or 128 plus the number of the signal that ended the server; `nil` while it runs.
    private func statusIfEnded() -> Int32? {
        var status: Int32 = 0
        guard !hasEnded, unsafe waitpid(processID, &status, WNOHANG) == processID else { return nil }
        hasEnded = true
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    }

    /// Ends the server with SIGTERM, and after two seconds with SIGKILL. The second call does nothing.
    package func end() {
        guard !hasEnded else { return }
        kill(-processID, SIGTERM)
        let deadline = MonotonicTime.now + Self.endLimit
        while statusIfEnded() == nil {
            if MonotonicTime.now > deadline { kill(-processID, SIGKILL) }
            Polling.sleep(Self.pollInterval)
        }
        // What the server itself has started.
        kill(-processID, SIGKILL)
    }

    // MARK: Output

    /// At most the last 16 KiB.
    private var output: String {
        let file = unsafe open(outputPath, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 14)
        let start = max(0, lseek(file, 0, SEEK_END) - off_t(bytes.count))
        let count = unsafe pread(file, &bytes, bytes.count, start)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    /// The last lines that the server printed, at most eight.
    package var lastLines: [String] {
        output.split(whereSeparator: \.isNewline).suffix(8).map { Text.oneLine(String($0), limit: 300) }
    }

    private var outputPhrase: String { lastLines.last.map { ": \($0)" } ?? "" }
}
