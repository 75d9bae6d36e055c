// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The temporary folder of one run. It contains everything that the runner and its checks write. It is removed when the
/// run ends in any way, because a separate process waits for the end and removes what remains.
///
/// Only a process with one thread can create it (`fork(2)`).
package final class RunFolder: @unchecked Sendable {  // … because it is used by the one thread of the command
    package let path: String
    /// The process that removes the folder.
    let remover: pid_t
    /// The run continues while any process has this descriptor open.
    let lifeDescriptor: Int32
    /// The processes that keep the servers of the run.
    private var supervisors: [ServiceSupervisor] = []

    package struct CreationError: Error, CustomStringConvertible {
        package let description: String
    }

    /// A separate process makes the folder, with all signals blocked, and removes it even if this process ends early.
    package init() throws(CreationError) {
        let template = "\(LibraryCopy.temporaryFolder)/portolan-check-XXXXXX"
        var (ends, output): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard unsafe pipe(&ends) == 0 else { throw Self.failure("a pipe", errno) }
        guard unsafe pipe(&output) == 0 else {
            let errorNumber = errno
            for end in ends { close(end) }
            throw Self.failure("a pipe", errorNumber)
        }
        for end in ends + output { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let child = RunnerSignals.withSignalsBlocked { () -> pid_t in
            let child = fork()
            if child == 0 {
                for end in [ends[1], output[0]] { close(end) }
                Self.serve(template, writingTo: output[1], untilEndOf: ends[0])
            }
            return child
        }
        var errorNumber = errno
        for end in [ends[0], output[1]] { close(end) }
        let response = child > 0 ? Self.bytes(from: output[0]) : []
        close(output[0])
        guard child > 0, response.first == UInt8(ascii: "/") else {
            if child > 0 { errorNumber = Int32(String(decoding: response, as: UTF8.self)) ?? EIO }
            close(ends[1])
            if child > 0 { Self.wait(for: child) }
            throw Self.failure(child > 0 ? "the temporary folder" : "a process", errorNumber)
        }
        (path, remover, lifeDescriptor) = (String(decoding: response, as: UTF8.self), child, ends[1])
    }

    /// Reads all bytes until the other end is closed.
    private static func bytes(from input: Int32) -> [UInt8] {
        var (all, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
        while true {
            let count = unsafe read(input, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return all }
            all += buffer[..<count]
        }
    }

    private static func wait(for process: pid_t) {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
    }

    private static func failure(_ what: String, _ errorNumber: Int32) -> CreationError {
        CreationError(description: "can't create \(what) (errno \(errorNumber)); set TMPDIR to a folder that you can write to")
    }

    // MARK: Inheritance by another program

    /// Describes the folder for ``init(inherited:)`` in the program that replaces this one (`execv(3)`). From now on,
    /// the descriptor stays open across `execv(3)`.
    package func inheritableDescription() -> String {
        _ = fcntl(lifeDescriptor, F_SETFD, 0)
        return "\(lifeDescriptor):\(remover):\(path)"
    }

    /// Takes over the folder from the program that this one has replaced.
    package init?(inherited description: String) {
        let parts = description.split(separator: ":", maxSplits: 2)
        guard parts.count == 3, let lifeDescriptor = Int32(parts[0]), let remover = pid_t(parts[1]), remover > 1,
            fcntl(lifeDescriptor, F_SETFD, FD_CLOEXEC) == 0
        else { return nil }
        (path, self.remover, self.lifeDescriptor) = (String(parts[2]), remover, lifeDescriptor)
    }

    // MARK: Processes

    func add(_ supervisor: ServiceSupervisor) {
        supervisors.append(supervisor)
        RunnerSignals.add(processID: supervisor.processID, orderWriteEnd: supervisor.lifeDescriptor)
    }

    func remove(_ supervisor: ServiceSupervisor) {
        supervisors.removeAll { $0.processID == supervisor.processID }
        RunnerSignals.remove(processID: supervisor.processID)
    }

    /// Closes the descriptors that keep the servers running, in a process that was forked.
    func closeServiceDescriptors() {
        for supervisor in supervisors {
            close(supervisor.lifeDescriptor)
            close(supervisor.reportReadEnd)
        }
    }

    // MARK: The end

    /// Removes the folder, and ends the remover. A process of a plugin can still have the descriptor open, so the
    /// remover does not wait for its end.
    package func remove() {
        FolderRemoval.remove(path)
        close(lifeDescriptor)
        kill(remover, SIGKILL)
        Self.wait(for: remover)
    }

    /// Runs the remover: makes the folder, reports its path or the error, and removes it when the run is over.
    private static func serve(_ template: String, writingTo output: Int32, untilEndOf input: Int32) -> Never {
        setsid()
        RunnerSignals.blockAll()
        ChildProcess.redirectStreamsToNull()
        var path = Array(template.utf8CString)
        // mkdtemp(3): only this user can access the folder.
        let isMade = unsafe mkdtemp(&path) != nil
        let pathBytes = path.dropLast().map { UInt8(bitPattern: $0) }
        let response = isMade ? pathBytes : Array(String(errno).utf8)
        // If the write fails because no process reads the pipe any more, the run is over.
        while unsafe write(output, response, response.count) < 0, errno == EINTR {}
        close(output)
        guard isMade else { _exit(1) }
        _ = bytes(from: input)
        FolderRemoval.remove(String(decoding: pathBytes, as: UTF8.self))
        _exit(0)
    }
}
