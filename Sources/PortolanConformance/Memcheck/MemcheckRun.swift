// SPDX-License-Identifier: Apache-2.0

import CThreadTrace
import FoundationEssentials

/// A judge that runs under Valgrind's memcheck, which writes a file for each process: the judge and each check.
///
/// The command of the judge runs once, under Valgrind, and makes its checks by `fork(2)` as ever: a check begins in a process that Valgrind
/// has translated already. So 126 checks of a small plugin take a minute, where a start of Valgrind for each would take five.
public struct MemcheckRun: Hashable, Sendable {
    /// Where the logs lie.
    private let folder: String
    let scope: MemcheckScope

    /// How many times as long everything may take.
    static let slowness = 10
    /// How the program's own path begins when it runs under Valgrind: it is a file in memory (`memfd_create(2)`), as that is one whose debug
    /// information Valgrind does not look for. Valgrind 3.19 gives up at that of a program of Swift 6.
    private static let programName = "portolan"
    static let programPrefix = "memfd:\(programName)"

    /// An empty file for the program, open also for what takes this process's place; below zero: errno says why there is none.
    package static func programFile() -> Int32 { unsafe portolan_memory_file(programName) }

    /// - Parameter folder: where ``options(logs:)`` had the logs written. No plugin has been opened in this process.
    public init(logs folder: String) {
        (self.folder, scope) = (folder, .ofThisProcess())
    }

    /// What to call Valgrind with, so that its logs are what is read here.
    public static func options(logs folder: String) -> [String] {
        [
            "--tool=memcheck", "--quiet", "--vgdb=no", "--trace-children=no", "--child-silent-after-fork=no", "--error-limit=no",
            "--num-callers=40", "--track-origins=yes", "--leak-check=full", "--show-leak-kinds=definite",
            "--errors-for-leak-kinds=definite", "--xml=yes", "--xml-file=\(folder)/%p.xml",
        ]
    }

    /// The log of a process that has ended, which goes with it.
    func log(of process: Int32) -> MemcheckLog? {
        let path = "\(folder)/\(process).xml"
        // `try?` because what stays there does no harm.
        defer { try? FileManager.default.removeItem(atPath: path) }
        return MemcheckLog(at: path)
    }
}
