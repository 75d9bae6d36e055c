// SPDX-License-Identifier: Apache-2.0

import CPortolanZlib
import Foundation

/// Writes a gzip file, at zlib's default level.
@safe
final class GzipFileWriter {
    private let path: String
    private var file: gzFile?

    init(creating path: String) throws {
        self.path = path
        unsafe file = gzopen(path, "wb6")
        if unsafe file == nil { throw MeasurementError("\(path) can't be written; name another folder with --scratch") }
    }

    deinit {
        if let file = unsafe file { unsafe gzclose(file) }
    }

    func write(_ bytes: Data) throws {
        let written = unsafe bytes.withUnsafeBytes { unsafe gzwrite(file, $0.baseAddress, UInt32($0.count)) }
        guard Int(written) == bytes.count else { throw MeasurementError("\(path) can't be written; is the disk full?") }
    }

    func close() throws {
        let code = unsafe gzclose(file)
        unsafe file = nil
        guard code == Z_OK else { throw MeasurementError("\(path) can't be written; is the disk full?") }
    }
}
