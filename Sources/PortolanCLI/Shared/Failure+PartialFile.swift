// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanFileSystem

extension Failure {
    /// Runs an operation on a partial file. Converts its error to ``ExitStatus/writeFailed``.
    static func whileWriting<Result>(_ operation: () throws(LoadError) -> Result) throws(Failure) -> Result {
        do throws(LoadError) {
            return try operation()
        } catch {
            throw Failure(.writeFailed, error.phrase)
        }
    }
}

extension PartialFile {
    /// Writes a complete file, and replaces an existing one. Warns about properties that the new file has lost.
    static func writeForCommand(_ bytes: [UInt8], to path: String, isPrivate: Bool = false) throws(Failure) {
        let warnings = try Failure.whileWriting { () throws(LoadError) in try write(bytes, to: path, isPrivate: isPrivate) }
        for warning in warnings { Diagnostics.warn(warning) }
    }

    /// Checks before a load whether the program can write a file with this path.
    static func probeForCommand(_ path: String) throws(Failure) { try Failure.whileWriting { () throws(LoadError) in try probe(path) } }
}
