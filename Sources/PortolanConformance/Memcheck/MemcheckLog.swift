// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The memcheck log of one process.
struct MemcheckLog: Hashable, Sendable {
    let errors: [MemcheckError]
    /// Whether the log was read to its end. If not, the process was killed before its leaks were counted, or the log
    /// has too many errors.
    let isWhole: Bool

    private static let (maximumFileSize, maximumErrorCount) = (16 << 20, 2000)

    init(_ errors: [MemcheckError], isWhole: Bool) {
        (self.errors, self.isWhole) = (errors, isWhole)
    }

    /// Reads the errors that are complete. The log of a killed process can be cut off anywhere.
    init(parsing bytes: [UInt8]) {
        var reader = XMLReader(bytes)
        var errors: [MemcheckError] = []
        while errors.count < Self.maximumErrorCount, let element = reader.next() {
            if let error = MemcheckError(element) { errors.append(error) }
        }
        self.init(errors, isWhole: reader.isWhole)
    }

    /// Reads a log file; `nil` if there is none, or if it is larger than ``maximumFileSize`` bytes.
    init?(at path: String) {
        // `try?` because a log that cannot be read counts as missing.
        guard let file = try? FileManager.default.attributesOfItem(atPath: path), let size = file[.size] as? Int,
            size <= Self.maximumFileSize,
            let data = FileManager.default.contents(atPath: path)
        else { return nil }
        self.init(parsing: Array(data))
    }
}
