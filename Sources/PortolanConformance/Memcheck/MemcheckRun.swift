// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import FoundationEssentials

/// A runner under Valgrind's memcheck, which writes one file for each process: the runner and each check.
///
/// The runner's command starts once under Valgrind, and makes the processes of checks by `fork(2)` as usual. So a check
/// begins in a process whose code Valgrind has already translated: 126 checks of a small plugin take one minute. With a
/// start of Valgrind for each check, they would take five minutes.
public struct MemcheckRun: Hashable, Sendable {
    /// The folder of the logs.
    private let folder: String
    let scope: MemcheckScope

    /// The factor by which all time limits grow.
    static let slowness = 10
    /// The prefix of the program's own path under Valgrind. The program is a file in memory (`memfd_create(2)`),
    /// because Valgrind does not look for debug information there. Valgrind 3.19 fails on the debug information of a
    /// Swift 6 program.
    private static let programName = "portolan"
    static let programPrefix = "memfd:\(programName)"

    /// Opens an empty file in memory for the program, and returns its descriptor, which stays open across `exec`.
    /// Returns a negative number on failure, with the reason in errno.
    package static func makeMemoryFile() -> Int32 { unsafe portolan_memory_file(programName) }

    /// - Parameter folder: The folder that ``options(logs:)`` received. No plugin may have been opened in this process.
    public init(logs folder: String) {
        (self.folder, scope) = (folder, .ofThisProcess())
    }

    /// The options for Valgrind whose logs this type can read.
    public static func options(logs folder: String) -> [String] {
        [
            "--tool=memcheck", "--quiet", "--vgdb=no", "--trace-children=no", "--child-silent-after-fork=no", "--error-limit=no",
            "--num-callers=40", "--track-origins=yes", "--leak-check=full", "--show-leak-kinds=definite",
            "--errors-for-leak-kinds=definite", "--xml=yes", "--xml-file=\(folder)/%p.xml",
        ]
    }

    /// The log of a process that has ended. The log file is deleted.
    func log(of process: Int32) -> MemcheckLog? {
        let path = "\(folder)/\(process).xml"
        // `try?` because a file that remains does no harm.
        defer { try? FileManager.default.removeItem(atPath: path) }
        return MemcheckLog(at: path)
    }
}
