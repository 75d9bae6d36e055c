// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
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

    package init() throws(NotMade) {
        var template = Array("\(LibraryCopy.temporaryFolder)/portolan-check-XXXXXX".utf8CString)
        // mkdtemp(3): nobody else can look into it.
        guard unsafe mkdtemp(&template) != nil else { throw Self.failure("the temporary folder") }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else {
            let failure = Self.failure("a pipe")
            unsafe rmdir(path)
            throw failure
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let child = JudgeSignals.holdingBack { () -> pid_t in
            let child = fork()
            if child == 0 {
                close(ends[1])
                Self.remove(path, atEndOf: ends[0])
            }
            return child
        }
        close(ends[0])
        guard child > 0 else {
            let failure = Self.failure("a process")
            close(ends[1])
            unsafe rmdir(path)
            throw failure
        }
        (self.path, remover, life) = (path, child, ends[1])
    }

    private static func failure(_ what: String) -> NotMade {
        NotMade(description: "\(what) can't be made (errno \(errno)); set TMPDIR to a folder that can be written to")
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
        Self.remove(path)
        close(life)
        var status: Int32 = 0
        while unsafe waitpid(remover, &status, 0) < 0, errno == EINTR {}
    }

    private static func remove(_ path: String, atEndOf input: Int32) -> Never {
        setsid()
        JudgeSignals.blockAll()
        ChildProcess.closeStreams()
        var byte: UInt8 = 0
        while true {
            let count = unsafe read(input, &byte, 1)
            if count == 0 || (count < 0 && errno != EINTR) { break }
        }
        remove(path)
        _exit(0)
    }

    private static func remove(_ path: String) {
        // `try?` because there is nobody to tell, and what the plugin has made unremovable stays.
        try? FileManager.default.removeItem(atPath: path)
    }
}
