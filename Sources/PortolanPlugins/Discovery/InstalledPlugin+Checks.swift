// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import PortolanCore

/// What has to be right of a library before it is opened, and what it then has to say of itself.
extension InstalledPlugin {
    /// No library has more bytes, for all of a pinned one is read.
    private static let librarySizeLimit = 1 << 30

    /// The library's path without links, found in the manifest's folder, its digest as it was pinned.
    func checkedLibrary() throws(PluginProblem) -> String {
        let isThere: FileStatus.Kind
        do throws(SystemCallError) {
            isThere = try FileStatus(at: libraryPath).kind
        } catch {
            throw PluginProblem(
                libraryPath, .libraryOpens,
                error.isMissing
                    ? "the library of \(identifier) is not there, though its manifest is; build or install it again"
                    : "the library of \(identifier) can't be looked at: \(error)")
        }
        guard isThere == .regular || isThere == .link else {
            throw PluginProblem(libraryPath, .libraryOpens, "the library of \(identifier) is no regular file; build or install it again")
        }
        let path = try resolvedLibrary()
        try checkPins(of: path)
        return path
    }

    private func resolvedLibrary() throws(PluginProblem) -> String {
        var (trusted, indifferent) = (TrustedPaths(), TrustedPaths(owner: nil))
        let path = try isNamedByUser ? indifferent.resolve(libraryPath) : trusted.resolve(libraryPath)
        let folder = try indifferent.resolve(folder)
        guard path.hasPrefix(folder == "/" ? "/" : folder + "/") else {
            throw PluginProblem(
                libraryPath, .libraryLiesInFolder, "the library is a link to '\(path)', outside of the manifest's folder; put it inside")
        }
        return path
    }

    private func checkPins(of path: String) throws(PluginProblem) {
        let pins = [manifest.sha256].compactMap { $0 } + policy.pins(of: identifier)
        guard !pins.isEmpty else { return }
        let digest: String
        do throws(SystemCallError) {
            digest = try Self.digest(of: path)
        } catch {
            throw PluginProblem(path, .pinnedDigestAgrees, "the library's digest can't be compared with its pin: \(error)")
        }
        guard let other = pins.first(where: { $0 != digest }) else { return }
        throw PluginProblem(
            path, .pinnedDigestAgrees,
            "the library's SHA-256 is \(digest), and \(other) is pinned; install what was pinned, or pin this one if you trust it")
    }

    /// The library's SHA-256 in lower-case hexadecimal, or `nil` where it can't be read.
    public var libraryDigest: String? {
        // `try?` because why it can't be read is told when it is opened.
        try? Self.digest(of: libraryPath)
    }

    private static func digest(of path: String) throws(SystemCallError) -> String {
        let bytes = try Folder.contents(of: path, atMost: librarySizeLimit).bytes
        return SHA256.hash(data: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// MANIF-02
    func checkAgreement(with descriptor: PluginDescriptor) throws(PluginProblem) {
        guard descriptor.identifier == identifier else {
            throw PluginProblem(
                manifestPath, .manifestAgreesWithLibrary,
                "it is for \(identifier), and its library \(manifest.library) says it is \(descriptor.identifier); make them the same")
        }
        let served = SchemeSet(unionOf: descriptor.handlers.map(\.schemes))
        guard served == manifest.schemes.sorted else {
            throw PluginProblem(
                manifestPath, .manifestAgreesWithLibrary,
                "its schemes are \(manifest.schemes.sorted.words), and those of its library \(manifest.library) are \(served.words); make them the same"
            )
        }
    }
}

extension SchemeSet {
    fileprivate init(unionOf sets: [SchemeSet]) {
        var union: Set<String> = []
        for set in sets {
            guard case .only(let schemes) = set else {
                self = .any
                return
            }
            union.formUnion(schemes)
        }
        self = .only(union.sorted())
    }

    fileprivate var sorted: SchemeSet {
        if case .only(let schemes) = self { .only(schemes.sorted()) } else { .any }
    }

    fileprivate var words: String {
        if case .only(let schemes) = self { schemes.joined(separator: ", ") } else { "any" }
    }
}
