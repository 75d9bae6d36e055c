// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// What memcheck wrote of one process.
struct MemcheckLog: Hashable, Sendable {
    let errors: [MemcheckError]
    /// Whether it was written to its end. Where not, the process was ended before its leaks were counted.
    let isWhole: Bool

    private static let (largestFile, largestCount) = (16 << 20, 2000)

    init(_ errors: [MemcheckError], isWhole: Bool) {
        (self.errors, self.isWhole) = (errors, isWhole)
    }

    /// Reads the errors that are whole: the log of a process that was ended breaks off anywhere.
    init(parsing bytes: [UInt8]) {
        var reader = XMLReader(bytes)
        var errors: [MemcheckError] = []
        while errors.count < Self.largestCount, let element = reader.next() {
            if let error = MemcheckError(element) { errors.append(error) }
        }
        self.init(errors, isWhole: reader.isWhole)
    }

    /// `nil` where there is none: then the process did not run under Valgrind.
    init?(at path: String) {
        // `try?` because a log that can't be read is none.
        guard let file = try? FileManager.default.attributesOfItem(atPath: path), let size = file[.size] as? Int, size <= Self.largestFile,
            let data = FileManager.default.contents(atPath: path)
        else { return nil }
        self.init(parsing: Array(data))
    }
}
