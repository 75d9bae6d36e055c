// SPDX-License-Identifier: Apache-2.0

import PortolanFileSystem
import PortolanJSON

/// Writes to standard output.
enum StandardOutput {
    static func write(_ text: String) throws(Failure) {
        try write(Array(text.utf8))
    }

    static func write(_ value: JSONValue) throws(Failure) {
        try write(value.bytes + [0x0A])
    }

    static func write(_ bytes: [UInt8]) throws(Failure) {
        do throws(SystemError) {
            try Descriptor.standardOutput.write(all: bytes)
        } catch {
            throw Failure(writing: "standard output", error)
        }
    }
}

extension Failure {
    /// The failure of a write. There is no message if the reader has closed the output.
    init(writing name: String, _ error: SystemError) {
        self = error.isBrokenPipe ? .readerClosedOutput : Failure(.writeFailed, "writing to \(name) failed: \(error)")
    }
}
