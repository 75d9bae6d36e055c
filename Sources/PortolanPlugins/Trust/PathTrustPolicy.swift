// SPDX-License-Identifier: Apache-2.0

/// Resolves paths as the kernel does (`path_resolution(7)`), and rejects a path if other users can change a folder,
/// link or file on it.
struct PathTrustPolicy {
    /// Decides which files are trusted. `nil` accepts all files.
    private let owner: FileOwnership?
    /// For each checked folder, the objection to the folder as the last component of a path. Keys are the bytes of the
    /// path, because the kernel compares bytes, but `String` compares é in one code point and é in two as equal.
    private var checkedFolders: [[UInt8]: String?] = [:]

    init(owner: FileOwnership? = .current) {
        self.owner = owner
    }

    /// Reserves space for `count` more checked folders.
    mutating func reserve(_ count: Int) { checkedFolders.reserveCapacity(checkedFolders.count + count) }

    /// Returns the path without symbolic links. Checks that only the user and root can change it.
    ///
    /// - Parameter path: an absolute path.
    /// - Throws: MANIF-09, with the folder or file that other users can change.
    mutating func resolve(_ path: String) throws(PluginProblem) -> String {
        // The remaining components, the next one at the end.
        var remainingComponents = Array(Self.components(of: path).reversed())
        var (current, linkCount) = ("", 0)
        var objection = try checkRoot()
        while let component = remainingComponents.popLast() {
            if component == ".." {
                guard current.isEmpty || checkedFolders[Array(current.utf8)] != nil else {
                    throw PluginProblem(current, nil, "it can't be examined: \(SystemCallError.notFolder)")
                }
                current = Folder.parent(of: current) ?? ""
                objection = checkedFolders[Array((current.isEmpty ? "/" : current).utf8)] ?? nil
                continue
            }
            let nextPath = "\(current)/\(component)"
            let key = Array(nextPath.utf8)
            if let folderObjection = checkedFolders[key] {
                (current, objection) = (nextPath, folderObjection)
                continue
            }
            let status = try status(of: nextPath)
            if status.kind == .link {
                linkCount += 1
                guard linkCount <= 40 else { throw PluginProblem(path, .filesAreTrusted, "its symbolic links form a loop; fix them") }
                if let objection = owner?.objection(to: status, isParentFolder: false) {
                    throw PluginProblem(nextPath, .filesAreTrusted, objection)
                }
                let target = try linkTarget(of: nextPath)
                if target.utf8.first == UInt8(ascii: "/") {
                    current = ""
                    objection = try checkRoot()
                }
                remainingComponents += Self.components(of: target).reversed()
                continue
            }
            objection = try check(nextPath, key, status)
            current = nextPath
        }
        let resolved = current.isEmpty ? "/" : current
        if let objection { throw PluginProblem(resolved, .filesAreTrusted, objection) }
        return resolved
    }

    /// Same as ``resolve(_:)`` for an entry of a resolved folder. Does not check the folder again.
    ///
    /// - Parameter status: the status of the entry, without following a link.
    mutating func resolve(_ name: String, in folder: String, _ status: FileStatus) throws(PluginProblem) -> String {
        let path = "\(folder == "/" ? "" : folder)/\(name)"
        guard status.kind != .link else { return try resolve(path) }
        if let objection = try check(path, Array(path.utf8), status) { throw PluginProblem(path, .filesAreTrusted, objection) }
        return path
    }

    /// - Returns: the objection to this file or folder as the last component of a path.
    private mutating func check(_ path: String, _ key: [UInt8], _ status: FileStatus) throws(PluginProblem) -> String? {
        guard let owner else {
            if status.kind == .folder { checkedFolders[key] = .some(nil) }
            return nil
        }
        if let objection = owner.objection(to: status, isParentFolder: true) { throw PluginProblem(path, .filesAreTrusted, objection) }
        let objection = owner.objection(to: status, isParentFolder: false)
        if status.kind == .folder { checkedFolders[key] = .some(objection) }
        return objection
    }

    private mutating func checkRoot() throws(PluginProblem) -> String? {
        let key = [UInt8(ascii: "/")]
        if let objection = checkedFolders[key] { return objection }
        return try check("/", key, try status(of: "/"))
    }

    private func status(of path: String) throws(PluginProblem) -> FileStatus {
        do throws(SystemCallError) {
            return try FileStatus(at: path)
        } catch {
            throw PluginProblem(path, nil, "it can't be examined: \(error)")
        }
    }

    private func linkTarget(of link: String) throws(PluginProblem) -> String {
        do throws(SystemCallError) {
            return try Folder.linkTarget(of: link)
        } catch {
            throw PluginProblem(link, nil, "the symbolic link can't be read: \(error)")
        }
    }

    private static func components(of path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }.filter { $0 != "." }
    }
}
