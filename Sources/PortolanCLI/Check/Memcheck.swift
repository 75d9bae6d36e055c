// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Portolan
import PortolanConformance
import PortolanFileSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Runs the command under Valgrind.
enum Memcheck {
    /// Replaces the program of this process by Valgrind, which runs the same command (execv(3)).
    ///
    /// Valgrind 3.19 aborts when it reads the debug information of a Swift 6 program ("Possibly corrupted debuginfo
    /// file. I can't recover."). So Valgrind runs a copy of this program in memory, for which it finds no debug
    /// information. Valgrind still reads the plugin's debug information.
    ///
    /// - Parameters:
    ///   - plugin: the plugin as the command line names it.
    ///   - arguments: the arguments of this process.
    ///   - folder: the folder of the run. The new program uses it, too, and Valgrind writes its logs there.
    static func replaceProcess(
        checking target: ConformanceTarget, _ plugin: String, _ arguments: [String], in folder: RunFolder
    ) throws(Failure) -> Never {
        guard target.library != nil else {
            throw Failure(
                .usage,
                "--sanitizer is for plugins with their own code, and '\(plugin)' has none; leave out --sanitizer"
            )
        }
        guard let valgrind = executable(named: "valgrind") else {
            throw Failure(
                .notOffered,
                "--sanitizer needs Valgrind, and there is no 'valgrind' in the PATH; install it, for example with 'apt-get install valgrind'"
            )
        }
        // Valgrind expands a percent sign in file names.
        guard !folder.path.contains("%") else {
            throw Failure(.writeFailed, "the folder for logs '\(folder.path)' has a '%' in its path; set TMPDIR to another folder")
        }
        let copy = try copyOfThisProgram()
        // The command names the path of the manifest, not the plugin's identifier. An identifier can be that of a
        // plugin beside the executable, and the copy in memory has no folder.
        let path = target.manifest?.manifestPath ?? plugin
        let folderOptions = ["--memcheck-folder", folder.inheritableDescription()]
        let command = ["/proc/self/fd/\(copy.number)", "check"] + folderOptions + ["--memcheck-subject", path]
        let error = execute(valgrind, [valgrind] + MemcheckRun.options(logs: folder.path) + command + arguments.dropFirst(2))
        throw Failure(.noResources, "'\(valgrind)' can't be run: \(error)")
    }

    /// Returns the first executable file with this name in the PATH.
    private static func executable(named name: String) -> String? {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        return folders.lazy.map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 && FileSystem.kind(at: $0) != .directory }
    }

    /// Copies this program into a file in memory. The file's descriptor stays open across execv(3).
    private static func copyOfThisProgram() throws(Failure) -> Descriptor {
        do throws(SystemError) {
            let source = try FileSystem.openForReading("/proc/self/exe")
            let number = MemcheckRun.makeMemoryFile()
            guard number >= 0 else { throw SystemError.last }
            let copy = Descriptor(number: number)
            var buffer = [UInt8](repeating: 0, count: 1 << 20)
            while true {
                let count = try source.read(into: &buffer)
                guard count > 0 else { return copy }
                try copy.write(all: Array(buffer[..<count]))
            }
        } catch {
            throw Failure(.noResources, "this program can't be copied into memory, where Valgrind would run it: \(error)")
        }
    }

    /// - Returns: The error, if execv(3) fails.
    private static func execute(_ path: String, _ arguments: [String]) -> SystemError {
        var pointers = unsafe arguments.map { unsafe strdup($0) }
        unsafe pointers.append(nil)
        unsafe execv(path, pointers)
        return .last
    }
}
