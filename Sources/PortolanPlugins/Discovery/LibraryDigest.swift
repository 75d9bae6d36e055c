// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// The SHA-256 of a library, which identifies it.
enum LibraryDigest {
    /// The maximum size in bytes of a library, which is read into memory for its digest.
    private static let sizeLimit = 1 << 30

    /// Returns the digest in lower-case hexadecimal.
    static func ofFile(at path: String) throws(SystemCallError) -> String {
        let bytes = try Folder.contents(of: path, atMost: sizeLimit)
        guard bytes.count <= sizeLimit else { throw .tooLarge }
        return SHA256.hexadecimal(of: bytes)
    }

    /// Checks the library's digest. Reads the library only if a digest is pinned.
    ///
    /// - Parameter pins: in lower-case hexadecimal. The digest must equal each of them.
    /// - Throws: MANIF-04.
    static func check(_ path: String, against pins: [String]) throws(PluginProblem) {
        guard !pins.isEmpty else { return }
        let digest: String
        do throws(SystemCallError) {
            digest = try ofFile(at: path)
        } catch {
            throw PluginProblem(path, .pinnedDigestAgrees, "the library can't be read to compare its digest with its pin: \(error)")
        }
        guard let otherPin = pins.first(where: { $0 != digest }) else { return }
        throw PluginProblem(
            path, .pinnedDigestAgrees,
            "the library's SHA-256 is \(digest), but \(otherPin) is pinned; install the pinned library, or pin this one if you trust it")
    }
}
