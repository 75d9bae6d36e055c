// SPDX-License-Identifier: Apache-2.0

extension RegularFile {
    /// Reads at most `limit` bytes from the start of the file. For files that are known to be small.
    package func contents(atMost limit: Int) throws(LoadError) -> [UInt8] {
        let capacity = size.map { min(Int(clamping: $0), limit) } ?? limit
        return try [UInt8](capacity: capacity) { output throws(LoadError) in _ = try read(into: &output, from: 0) }
    }
}
