// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A folder for one test. It is removed with its contents when the value is released.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() throws {
        path = FileManager.default.temporaryDirectory.path + "/portolan-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        // `try?` because a folder that remains harms no test.
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of an entry, which need not exist.
    package func path(of name: String) -> String { path + "/" + name }

    /// Writes a file, and creates missing folders above it.
    ///
    /// - Returns: the path of the file.
    @discardableResult
    package func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
        let path = path(of: name)
        if let slash = path.lastIndex(of: "/") {
            try FileManager.default.createDirectory(atPath: String(path[..<slash]), withIntermediateDirectories: true)
        }
        try Data(bytes).write(to: URL(filePath: path))
        return path
    }

    /// The number of descriptors of this process that refer to entries of the folder (`proc_pid_fd(5)`).
    package var openDescriptorCount: Int {
        let links = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return links.count { link in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + link)
            return target?.hasPrefix(path) ?? false
        }
    }
}
