// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Checks of a library before it is opened, and of its descriptor afterwards.
extension InstalledPlugin {
    /// Returns the library's path without symbolic links. Checks that the library is in the manifest's folder, and that
    /// its digest matches the pins.
    func checkedLibrary() throws(PluginProblem) -> String {
        let status: FileStatus
        do throws(SystemCallError) {
            status = try FileStatus(following: libraryPath)
        } catch {
            guard error.isMissing else {
                throw PluginProblem(libraryPath, .libraryOpens, "the library of \(identifier) can't be examined: \(error)")
            }
            throw missingSystemLibrary
                ?? PluginProblem(
                    libraryPath, .libraryOpens,
                    "the library of \(identifier) is missing, but its manifest exists; build or install it again")
        }
        guard status.kind == .regular else {
            throw PluginProblem(libraryPath, .libraryOpens, "the library of \(identifier) is not a regular file; build or install it again")
        }
        let path = try resolvedLibrary()
        try LibraryDigest.check(path, against: [manifest.sha256].compactMap { $0 } + policy.pins(of: identifier))
        return path
    }

    /// The problem for a system library that does not exist. `nil` if the manifest does not bind a system library.
    var missingSystemLibrary: PluginProblem? {
        guard manifest.bindsSystemLibrary else { return nil }
        return PluginProblem(
            manifestPath, .libraryOpens,
            "the system library '\(manifest.library)' of \(identifier) is in none of \(SystemLibrary.folders.joined(separator: ", ")); "
                + "install the package that contains it (on Debian, 'apt-file search \(manifest.library)' finds it), "
                + "or set 'library' in the manifest to the installed version")
    }

    /// A problem (MANIF-09) for each file and folder of the plugin that users other than root and the current user can
    /// change. Does not check the parent folders, which a search checks.
    package var objectionsToFiles: [PluginProblem] {
        let owner = FileOwnership.current
        return [folder, manifestPath, manifest.bindsSystemLibrary ? nil : libraryPath].compactMap { path in
            // `try?` because a missing file has no problem.
            guard let path, let status = try? FileStatus(following: path) else { return nil }
            return owner.objection(to: status, isParentFolder: path == folder).map { PluginProblem(path, .filesAreTrusted, $0) }
        }
    }

    private func resolvedLibrary() throws(PluginProblem) -> String {
        var (checkingPolicy, permissivePolicy) = (PathTrustPolicy(), PathTrustPolicy(owner: nil))
        let path = try isNamedByUser ? permissivePolicy.resolve(libraryPath) : checkingPolicy.resolve(libraryPath)
        if manifest.bindsSystemLibrary { return path }
        let folder = try permissivePolicy.resolve(folder)
        guard path.utf8.starts(with: (folder == "/" ? "/" : folder + "/").utf8) else {
            throw PluginProblem(
                libraryPath, .libraryLiesInFolder,
                "the library is a link to '\(path)', which is outside of the manifest's "
                    + "folder; put it inside")
        }
        return path
    }

    /// The library's SHA-256 in lower-case hexadecimal, or `nil` if the library cannot be read.
    public var libraryDigest: String? {
        // `try?` because opening the library reports why it cannot be read.
        try? LibraryDigest.ofFile(at: libraryPath)
    }

    /// Checks that the library has the identifier and the schemes of the manifest (MANIF-02).
    func checkAgreement(with descriptor: PluginDescriptor) throws(PluginProblem) {
        guard descriptor.identifier == identifier else {
            throw PluginProblem(
                manifestPath, .manifestAgreesWithLibrary,
                "its identifier is \(identifier), but its library \(manifest.library) has \(descriptor.identifier); make them the same")
        }
        let librarySchemes = SchemeSet(unionOf: descriptor.handlers.map(\.schemes))
        guard librarySchemes == manifest.schemes.sorted else {
            throw PluginProblem(
                manifestPath, .manifestAgreesWithLibrary,
                "its schemes are \(manifest.schemes.sorted.phrase), but its library \(manifest.library) has \(librarySchemes.phrase); make them the same"
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

    fileprivate var phrase: String {
        if case .only(let schemes) = self { schemes.joined(separator: ", ") } else { "any" }
    }
}
