// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Captures standard output and standard error in files while code runs.
enum OutputCapture {
    /// Runs `action`, and returns the bytes that the process wrote to each output meanwhile.
    ///
    /// - Parameter folder: The folder for the temporary files.
    static func bytes(in folder: String, _ action: () throws(CheckSkipped) -> Void) throws(CheckSkipped) -> [(name: String, bytes: [UInt8])]
    {
        let outputs: [(name: String, number: Int32)] = [("output", STDOUT_FILENO), ("error", STDERR_FILENO)]
        fflush(nil)
        var savedDescriptors: [Int32] = []
        var files: [String] = []
        // Also if the second file can't be created.
        defer {
            for (saved, output) in zip(savedDescriptors, outputs) {
                dup2(saved, output.number)
                close(saved)
            }
            for file in files { unsafe unlink(file) }
        }
        for (_, number) in outputs {
            var template = Array("\(folder)/portolan-judge-XXXXXX".utf8CString)
            let file = unsafe mkstemp(&template)
            guard file >= 0 else { throw CheckSkipped.resourceShortage("no temporary file could be created (errno \(errno))") }
            files.append(String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
            savedDescriptors.append(dup(number))
            dup2(file, number)
            close(file)
        }
        try action()
        fflush(nil)
        return zip(outputs, files).map { ($0.name, FileManager.default.contents(atPath: $1).map { Array($0) } ?? []) }
    }
}
