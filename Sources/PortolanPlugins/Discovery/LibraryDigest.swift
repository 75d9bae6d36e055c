// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// The SHA-256 of a library, which identifies it.
enum LibraryDigest {
    /// The whole library is read for its digest, so its size is limited.
    private static let sizeLimit = 1 << 30

    /// In lower-case hexadecimal.
    static func ofFile(at path: String) throws(SystemCallError) -> String {
        let bytes = try Folder.contents(of: path, atMost: sizeLimit)
        guard bytes.count <= sizeLimit else { throw .tooLarge }
        return SHA256.hexadecimal(of: bytes)
    }

    /// Checks the library's digest. Reads the library only if a digest is pinned.
    ///
    /// - Parameter pins: in lower-case hexadecimal; all have to match.
    /// - Throws: MANIF-04
    static func check(_ path: String, against pins: [String]) throws(PluginProblem) {
        guard !pins.isEmpty else { return }
        let digest: String
        do throws(SystemCallError) {
            digest = try ofFile(at: path)
        } catch {
            throw PluginProblem(path, .pinnedDigestAgrees, "the library's digest can't be compared with its pin: \(error)")
        }
        guard let other = pins.first(where: { $0 != digest }) else { return }
        throw PluginProblem(
            path, .pinnedDigestAgrees,
            "the library's SHA-256 is \(digest), but \(other) is pinned; install the pinned library, or pin this one if you trust it")
    }
}
