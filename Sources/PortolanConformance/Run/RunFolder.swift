// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The temporary folder of one run of the judge. Everything that the judge and its checks write lies in it, and it goes with the run, however that ends: a
/// process that does nothing else waits for that, and removes what is left.
///
/// It is made by a process with one thread (`fork(2)`).
package final class RunFolder: @unchecked Sendable {  // … because it is used by the one thread of the command
    package let path: String
    /// The process that removes it.
    let remover: pid_t
    /// While a process has this descriptor open, the run goes on.
    let life: Int32

    package struct NotMade: Error, CustomStringConvertible {
        package let description: String
    }

    /// Its process makes it, with all signals blocked: however early this one ends, the folder is gone soon after.
    package init() throws(NotMade) {
        let template = "\(LibraryCopy.temporaryFolder)/portolan-check-XXXXXX"
        var (ends, answers): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard unsafe pipe(&ends) == 0 else { throw Self.failure("a pipe", errno) }
        guard unsafe pipe(&answers) == 0 else {
            let number = errno
            for end in ends { close(end) }
            throw Self.failure("a pipe", number)
        }
        for end in ends + answers { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let child = RunnerSignals.holdingBack { () -> pid_t in
            let child = fork()
            if child == 0 {
                for end in [ends[1], answers[0]] { close(end) }
                Self.serve(template, answeringTo: answers[1], untilEndOf: ends[0])
            }
            return child
        }
        var number = errno
        for end in [ends[0], answers[1]] { close(end) }
        let answer = child > 0 ? Self.bytes(from: answers[0]) : []
        close(answers[0])
        guard child > 0, answer.first == UInt8(ascii: "/") else {
            if child > 0 { number = Int32(String(decoding: answer, as: UTF8.self)) ?? EIO }
            close(ends[1])
            if child > 0 { Self.wait(for: child) }
            throw Self.failure(child > 0 ? "the temporary folder" : "a process", number)
        }
        (path, remover, life) = (String(decoding: answer, as: UTF8.self), child, ends[1])
    }

    /// All that is written there until the other end is closed.
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

    private static func failure(_ what: String, _ number: Int32) -> NotMade {
        NotMade(description: "\(what) can't be made (errno \(number)); set TMPDIR to a folder that can be written to")
    }

    // MARK: The next program of this process

    /// What names the folder to the program that takes this one's place (`execv(3)`); the descriptor stays open for it.
    package func handOver() -> String {
        _ = fcntl(life, F_SETFD, 0)
        return "\(life):\(remover):\(path)"
    }

    /// Takes over the folder of the program in whose place this one runs.
    package init?(handedOver words: String) {
        let parts = words.split(separator: ":", maxSplits: 2)
        guard parts.count == 3, let life = Int32(parts[0]), let remover = pid_t(parts[1]), remover > 1,
            fcntl(life, F_SETFD, FD_CLOEXEC) == 0
        else { return nil }
        (path, self.remover, self.life) = (String(parts[2]), remover, life)
    }

    // MARK: The end

    /// Removes the folder, and waits until its process is gone.
    package func remove() {
        FolderRemoval.remove(path)
        close(life)
        Self.wait(for: remover)
    }

    /// The remover's part: makes the folder, says where it is or why not, and removes it when the run is over.
    private static func serve(_ template: String, answeringTo answers: Int32, untilEndOf input: Int32) -> Never {
        setsid()
        RunnerSignals.blockAll()
        ChildProcess.closeStreams()
        var path = Array(template.utf8CString)
        // mkdtemp(3): nobody else can look into it.
        let isMade = unsafe mkdtemp(&path) != nil
        let place = path.dropLast().map { UInt8(bitPattern: $0) }
        let answer = isMade ? place : Array(String(errno).utf8)
        // Where nobody reads it any more, the run is over.
        while unsafe write(answers, answer, answer.count) < 0, errno == EINTR {}
        close(answers)
        guard isMade else { _exit(1) }
        _ = bytes(from: input)
        FolderRemoval.remove(String(decoding: place, as: UTF8.self))
        _exit(0)
    }
}
