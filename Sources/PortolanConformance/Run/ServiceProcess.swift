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
/// A separate process, the server's supervisor, starts the server and ends it when this process closes a pipe or ends
/// in any way. The supervisor also ends every process that the server has started, in any process group or session.
package final class ServiceProcess {
    package struct Problem: Error {
        /// As in `it ended with status 1: bind: Address already in use`.
        package let phrase: String
    }

    package let name: String
    /// The host and the port, as in `127.0.0.1:40123`.
    package let address: String
    private let program: String
    private let outputPath: String
    private let supervisor: ServiceSupervisor
    private let folder: RunFolder
    private var (hasPrintedReadyText, endWasCalled) = (false, false)
    /// How the server has ended, or why it was not started. `nil` while it runs.
    private var endPhrase: String?

    /// The time that a server has to become ready, and to end after SIGTERM.
    private static let (startLimit, endLimit) = (Duration.seconds(10), Duration.seconds(2))
    private static let pollInterval = Duration.milliseconds(10)
    private static let chunkSize = 1 << 14

    /// Starts the server, and waits until it is ready. Only a process with one thread can do this (`fork(2)`).
    ///
    /// - Parameters:
    ///   - workingFolder: The folder in which the server starts: that of the manifest.
    ///   - folder: The server gets a folder in it.
    package init(_ name: String, _ service: ConformanceService, in workingFolder: String, _ folder: RunFolder) throws(Problem) {
        let port = portolan_free_port()
        guard port > 0 else { throw Problem(phrase: "no TCP port is free") }
        let ownFolder = "\(folder.path)/service-\(name)"
        guard unsafe mkdir(ownFolder, 0o700) == 0 else { throw Problem(phrase: "its folder can't be created (errno \(errno))") }
        let command = service.command.map { $0.replacing("{port}", with: "\(port)").replacing("{folder}", with: ownFolder) }
        let output = "\(folder.path)/service-\(name).log"
        (self.name, self.folder, address, outputPath) = (name, folder, "127.0.0.1:\(port)", output)
        program = service.command[0]
        supervisor = try ServiceSupervisor.start(
            command, in: workingFolder, writingTo: output, readyText: service.readyText, endLimit: Self.endLimit, folder)
        try waitUntilReady(service, port)
    }

    deinit { end() }

    private func waitUntilReady(_ service: ConformanceService, _ port: UInt16) throws(Problem) {
        let deadline = MonotonicTime.now + Self.startLimit
        while true {
            if let problem = problem() { throw Problem(phrase: problem + outputPhrase) }
            if service.readyText == nil ? portolan_accepts_connections(port) == 1 : hasPrintedReadyText { return }
            guard MonotonicTime.now < deadline else {
                end()
                let missing = service.readyText.map { "did not print '\(Text.oneLine($0, limit: 80))'" } ?? "accepted no connection"
                throw Problem(phrase: "it \(missing) within \(Self.startLimit.components.seconds) s" + outputPhrase)
            }
            // The server may have stopped the supervisor.
            kill(supervisor.processID, SIGCONT)
            Polling.sleep(Self.pollInterval)
        }
    }

    /// How the server has ended before ``end()``, as in `it ended with status 1`. `nil` while it runs, and while a
    /// server that ended with status 0 has left other processes.
    package func problem() -> String? {
        while endPhrase == nil, !endWasCalled, let report = nextReport() {
            switch report {
            case (.ready, _): hasPrintedReadyText = true
            case (.ended, let status):
                let signal = status & 0x7F
                endPhrase = signal == 0 ? "it ended with status \((status >> 8) & 0xFF)" : "the signal \(signal) ended it"
            case (.notStarted, let number):
                endPhrase = "the program '\(program)' \(number == ENOENT ? "was not found" : "can't be started (errno \(number))")"
            case (.lost, _): endPhrase = "the process of portolan that supervises it was killed"
            }
        }
        return endPhrase
    }

    /// Returns the next report of the supervisor; `nil` if there is none now.
    private func nextReport() -> (ServiceSupervisor.Report, Int32)? {
        var descriptor = pollfd(fd: supervisor.reportReadEnd, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&descriptor, 1, 0) == 1 else { return nil }
        var numbers: [Int32] = [0, 0]
        let count = unsafe read(supervisor.reportReadEnd, &numbers, ServiceSupervisor.Report.size)
        guard count == ServiceSupervisor.Report.size, let report = ServiceSupervisor.Report(rawValue: numbers[0]) else { return (.lost, 0) }
        return (report, numbers[1])
    }

    /// Asks the supervisor to end the server, and does not wait.
    package func requestEnd() {
        guard !endWasCalled else { return }
        // Reads the reports that have arrived, so that `problem()` still knows whether the server ended before this.
        _ = problem()
        SupervisorHandle.requestEnd(of: supervisor.processID)
    }

    /// Ends the server and all of its processes with SIGTERM, and after two seconds with SIGKILL. The second call does
    /// nothing.
    package func end() {
        guard !endWasCalled else { return }
        requestEnd()
        endWasCalled = true
        folder.remove(supervisor)
        for descriptor in [supervisor.lifeDescriptor, supervisor.reportReadEnd] { close(descriptor) }
        var status: Int32 = 0
        let deadline = MonotonicTime.now + Self.endLimit + ServiceSupervisor.killLimit + .seconds(3)
        while true {
            let process = unsafe waitpid(supervisor.processID, &status, WNOHANG)
            if process == supervisor.processID || (process < 0 && errno != EINTR) { return }
            // The server may have stopped the supervisor again.
            kill(supervisor.processID, MonotonicTime.now > deadline ? SIGKILL : SIGCONT)
            Polling.sleep(Self.pollInterval)
        }
    }

    // MARK: Output

    /// The last lines that the server printed, at most eight.
    package var lastLines: [String] {
        let file = unsafe open(outputPath, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: Self.chunkSize)
        let start = max(0, lseek(file, 0, SEEK_END) - off_t(bytes.count))
        let count = unsafe pread(file, &bytes, bytes.count, start)
        let output = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        return output.split(whereSeparator: \.isNewline).suffix(8).map { Text.oneLine(String($0), limit: 300) }
    }

    private var outputPhrase: String { lastLines.last.map { ": \($0)" } ?? "" }
}
