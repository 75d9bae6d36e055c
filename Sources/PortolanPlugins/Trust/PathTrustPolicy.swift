// SPDX-License-Identifier: Apache-2.0

/// Follows paths as the kernel does (`path_resolution(7)`), and objects to each folder, link and file on the way that others can change.
struct PathTrustPolicy {
    /// `nil`: nothing is objected to.
    private let owner: FileOwnership?
    /// Folders that were looked at: nobody else can put another in their place. With what there is to say against them as the last one.
    /// By their bytes, as the kernel compares names: to `String`, é in one code point is é in two.
    private var known: [[UInt8]: String?] = [:]

    init(owner: FileOwnership? = .current) {
        self.owner = owner
    }

    /// Makes room for `count` folders more.
    mutating func reserve(_ count: Int) { known.reserveCapacity(known.count + count) }

    /// The path without links, where nobody but the user and root can change what it leads to.
    ///
    /// - Parameter path: absolute.
    /// - Throws: MANIF-09, with the folder or file that others can change.
    mutating func resolve(_ path: String) throws(PluginProblem) -> String {
        var rest = Array(Self.components(of: path).reversed())
        var (current, links) = ("", 0)
        var objection = try checkRoot()
        while let component = rest.popLast() {
            if component == ".." {
                guard current.isEmpty || known[Array(current.utf8)] != nil else {
                    throw PluginProblem(current, nil, "it can't be looked at: \(SystemCallError.notFolder)")
                }
                current = Folder.parent(of: current) ?? ""
                objection = known[Array((current.isEmpty ? "/" : current).utf8)] ?? nil
                continue
            }
            let next = "\(current)/\(component)"
            let key = Array(next.utf8)
            if let folder = known[key] {
                (current, objection) = (next, folder)
                continue
            }
            let status = try status(of: next)
            if status.kind == .link {
                links += 1
                guard links <= 40 else { throw PluginProblem(path, .filesAreTrusted, "its symbolic links go in a circle; mend them") }
                if let objection = owner?.objection(to: status, isAbove: true) { throw PluginProblem(next, .filesAreTrusted, objection) }
                let target = try read(next)
                if target.utf8.first == UInt8(ascii: "/") {
                    current = ""
                    objection = try checkRoot()
                }
                rest += Self.components(of: target).reversed()
                continue
            }
            objection = try check(next, key, status)
            current = next
        }
        let resolved = current.isEmpty ? "/" : current
        if let objection { throw PluginProblem(resolved, .filesAreTrusted, objection) }
        return resolved
    }

    /// An entry of a folder that was resolved. As ``resolve(_:)``, without going all the way again.
    ///
    /// - Parameter status: of the entry itself.
    mutating func resolve(_ name: String, in folder: String, _ status: FileStatus) throws(PluginProblem) -> String {
        let path = "\(folder == "/" ? "" : folder)/\(name)"
        guard status.kind != .link else { return try resolve(path) }
        if let objection = try check(path, Array(path.utf8), status) { throw PluginProblem(path, .filesAreTrusted, objection) }
        return path
    }

    /// - Returns: what there is to say against it as the last one of a path.
    private mutating func check(_ path: String, _ key: [UInt8], _ status: FileStatus) throws(PluginProblem) -> String? {
        guard let owner else {
            if status.kind == .folder { known[key] = .some(nil) }
            return nil
        }
        if let objection = owner.objection(to: status, isAbove: true) { throw PluginProblem(path, .filesAreTrusted, objection) }
        let last = owner.objection(to: status, isAbove: false)
        if status.kind == .folder { known[key] = .some(last) }
        return last
    }

    private mutating func checkRoot() throws(PluginProblem) -> String? {
        let key = [UInt8(ascii: "/")]
        if let known = known[key] { return known }
        return try check("/", key, try status(of: "/"))
    }

    private func status(of path: String) throws(PluginProblem) -> FileStatus {
        do throws(SystemCallError) {
            return try FileStatus(at: path)
        } catch {
            throw PluginProblem(path, nil, "it can't be looked at: \(error)")
        }
    }

    private func read(_ link: String) throws(PluginProblem) -> String {
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
