// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Finds and reads the manifests in folders.
struct ManifestSearch {
    typealias SearchResult = Result<(manifest: PluginManifest, path: String), PluginProblem>

    private var trustPolicy = PathTrustPolicy()
    /// The paths of searched folders and read files, without symbolic links. A file is read once, even if two paths
    /// lead to it.
    private var visitedPaths: Set<[UInt8]> = []

    /// Returns the manifests in a folder, sorted by name. A missing folder is empty.
    mutating func search(_ folder: PluginSearchPath.Folder) -> [SearchResult] {
        guard folder.path.hasPrefix("/") else {
            return [.failure(PluginProblem(folder.path, nil, "a folder to search needs an absolute path; write one"))]
        }
        do throws(PluginProblem) {
            guard exists(folder.path) else {
                guard folder.isExpected else { return [] }
                throw PluginProblem(folder.path, nil, "the folder to search for plugins does not exist; make it, or do not name it")
            }
            let path = try trustPolicy.resolve(folder.path)
            guard visitedPaths.insert(Array(path.utf8)).inserted else { return [] }
            let entries = try Self.entries(of: path)
            trustPolicy.reserve(entries.count)
            visitedPaths.reserveCapacity(visitedPaths.count + entries.count)
            var results: [SearchResult] = []
            results.reserveCapacity(entries.count)
            for entry in entries { results += search(entry, in: path) }
            return results
        } catch {
            return [.failure(error)]
        }
    }

    private mutating func search(_ entry: Folder.Entry, in folder: String) -> [SearchResult] {
        let isManifest = entry.name.hasSuffix(PluginManifest.fileNameEnd)
        guard isManifest || !entry.isFile else { return [] }
        do throws(PluginProblem) {
            let path = "\(folder)/\(entry.name)"
            let status = try Self.status(of: path)
            if isManifest { return [try read(entry.name, in: folder, status)].compactMap { $0 } }
            guard status.kind == .folder || (status.kind == .link && Self.isFolder(path)) else { return [] }
            return try search(inside: try trustPolicy.resolve(entry.name, in: folder, status), named: entry.name)
        } catch {
            return [.failure(error)]
        }
    }

    /// Returns `NAME/NAME.plugin.json`, or all manifests in the folder if that file does not exist.
    private mutating func search(inside folder: String, named name: String) throws(PluginProblem) -> [SearchResult] {
        let expectedName = name + PluginManifest.fileNameEnd
        // This is the usual case, and needs one system call less. `try?` because the code below reports why the file
        // cannot be read.
        if let file = try? Folder.fileWithoutFollowingLinks(at: "\(folder)/\(expectedName)", atMost: PluginManifest.sizeLimit) {
            let path = try trustPolicy.resolve(expectedName, in: folder, file.status)
            guard visitedPaths.insert(Array(path.utf8)).inserted else { return [] }
            return [try Self.parse(file.contents, path)]
        }
        // `try?` because another manifest can exist if this one is missing.
        if let status = try? FileStatus(at: "\(folder)/\(expectedName)") {
            return [try read(expectedName, in: folder, status)].compactMap { $0 }
        }
        var results: [SearchResult] = []
        for entry in try Self.entries(of: folder) where entry.name.hasSuffix(PluginManifest.fileNameEnd) {
            do throws(PluginProblem) {
                if let result = try read(entry.name, in: folder, Self.status(of: "\(folder)/\(entry.name)")) { results.append(result) }
            } catch {
                results.append(.failure(error))
            }
        }
        return results
    }

    /// - Returns: `nil` if the file was read before.
    private mutating func read(_ name: String, in folder: String, _ status: FileStatus) throws(PluginProblem) -> SearchResult? {
        let path = try trustPolicy.resolve(name, in: folder, status)
        guard visitedPaths.insert(Array(path.utf8)).inserted else { return nil }
        return try Self.parse(Self.contents(of: path), path)
    }

    private static func parse(_ contents: [UInt8], _ path: String) throws(PluginProblem) -> SearchResult {
        .success((try PluginManifest(withoutConformance: contents, path: path), path))
    }

    private func exists(_ path: String) -> Bool {
        do throws(SystemCallError) {
            _ = try FileStatus(at: path)
            return true
        } catch {
            return !error.isMissing
        }
    }

    // MARK: Without checks of ownership

    /// Returns the manifest that the user named by its path, its folder or its library.
    static func manifest(named text: String) throws(PluginProblem) -> (PluginManifest, path: String) {
        let path = try absolute(text)
        guard isFolder(path) else { return isLibrary(path) ? try manifest(ofLibraryAt: path) : (try read(path), path) }
        let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
        let manifestPaths = try manifests(in: path, named: name)
        guard let manifestPath = manifestPaths.first else {
            throw PluginProblem(
                path, .manifestIsValid,
                "this folder contains no manifest NAME\(PluginManifest.fileNameEnd); write one, or "
                    + "name the library")
        }
        return (try read(manifestPath), manifestPath)
    }

    /// Returns the path `NAME/NAME.plugin.json`, or the paths of all manifests in the folder if that file does not
    /// exist.
    private static func manifests(in folder: String, named name: String) throws(PluginProblem) -> [String] {
        let expectedPath = "\(folder)/\(name)\(PluginManifest.fileNameEnd)"
        // `try?` because another manifest can exist if this one is missing.
        if (try? FileStatus(at: expectedPath)) != nil { return [expectedPath] }
        return try entries(of: folder).filter { $0.name.hasSuffix(PluginManifest.fileNameEnd) }.map { "\(folder)/\($0.name)" }
    }

    private static func isLibrary(_ path: String) -> Bool {
        let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[path.utf8.index(after: $0)...] } ?? path[...]
        if name.hasSuffix(".json") { return false }
        // `try?` because an unreadable file is not a library. Reading it as a manifest reports the reason.
        let start = try? Folder.contents(of: path, atMost: 4)
        return name.hasSuffix(".so") || name.contains(".so.") || start?.starts(with: [0x7F, 0x45, 0x4C, 0x46]) == true
    }

    /// Returns the manifest in the same folder that names the library at `path`.
    ///
    /// - Throws: As ``manifestPath(ofLibraryAt:)``, or the problem that there is no manifest.
    private static func manifest(ofLibraryAt path: String) throws(PluginProblem) -> (PluginManifest, path: String) {
        if let manifestPath = try manifestPath(ofLibraryAt: path) { return (try read(manifestPath), manifestPath) }
        let (folder, library, expectedName) = parts(ofLibraryAt: path)
        throw PluginProblem(
            path, .manifestIsValid,
            "it is a library, but no manifest in its folder names it; write '\(folder)/\(expectedName)' with \"library\": \"\(library)\""
        )
    }

    /// Returns the path of the manifest in the same folder that names the library at the absolute path `path`; `nil` if
    /// there is none. If several do, the one with the library's name is preferred, then the first one by name.
    ///
    /// - Throws: If no manifest names the library, the problem of an invalid manifest in that folder, because that
    ///   manifest can be the right one.
    static func manifestPath(ofLibraryAt path: String) throws(PluginProblem) -> String? {
        let (folder, _, expectedName) = parts(ofLibraryAt: path)
        let names = try entries(of: folder).map(\.name).filter { $0.hasSuffix(PluginManifest.fileNameEnd) }
        var firstProblem: PluginProblem?
        for name in names.filter({ $0 == expectedName }) + names.filter({ $0 != expectedName }) {
            let manifestPath = "\(folder)/\(name)"
            do throws(PluginProblem) {
                let manifest = try read(manifestPath)
                // `try?` because a missing library is not the one at `path`.
                if !manifest.bindsSystemLibrary, (try? absolute("\(folder)/\(manifest.library)")) == path { return manifestPath }
            } catch {
                firstProblem = firstProblem ?? error
            }
        }
        if let firstProblem { throw firstProblem }
        return nil
    }

    /// Returns the folder and the name of a library, and the name that its manifest usually has.
    private static func parts(ofLibraryAt path: String) -> (folder: String, name: String, manifestName: String) {
        let folder = Folder.parent(of: path) ?? "."
        let name = String(Substring(path.utf8.dropFirst(folder.utf8.count + 1)))
        let stem = name.split(separator: ".so", maxSplits: 1, omittingEmptySubsequences: false).first.map(String.init) ?? name
        return (folder, name, stem + PluginManifest.fileNameEnd)
    }

    /// Reads a complete manifest.
    static func read(_ path: String) throws(PluginProblem) -> PluginManifest {
        try PluginManifest(parsing: contents(of: path), path: path)
    }

    private static func contents(of path: String) throws(PluginProblem) -> [UInt8] {
        do throws(SystemCallError) {
            return try Folder.contents(of: path, atMost: PluginManifest.sizeLimit)
        } catch {
            let remedy = error.kindDescription == nil ? "" : "; name a plugin's folder, manifest or library"
            throw PluginProblem(path, .manifestIsValid, "the manifest can't be read: \(error)\(remedy)")
        }
    }

    private static func entries(of path: String) throws(PluginProblem) -> [Folder.Entry] {
        do throws(SystemCallError) {
            return try Folder.entries(of: path)
        } catch {
            let reason =
                error == .tooLarge ? "it has over \(Folder.entryLimit) entries; use a folder that contains only plugins" : error.description
            throw PluginProblem(path, nil, "the folder can't be searched for plugins: \(reason)")
        }
    }

    private static func status(of path: String) throws(PluginProblem) -> FileStatus {
        do throws(SystemCallError) {
            return try FileStatus(at: path)
        } catch {
            throw PluginProblem(path, nil, "it can't be examined: \(error)")
        }
    }

    private static func isFolder(_ path: String) -> Bool {
        var information = stat()
        return unsafe stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFDIR
    }

    /// Returns the absolute path without symbolic links.
    static func absolute(_ path: String) throws(PluginProblem) -> String {
        guard let resolved = unsafe realpath(path, nil) else {
            let error = SystemCallError.last
            throw PluginProblem(
                path, nil,
                error.isMissing
                    ? "there is no such plugin: \(error); check the path" : "it can't be examined: \(error); check its permissions")
        }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }
}
