// SPDX-License-Identifier: Apache-2.0

/// Follows paths as the kernel does (`path_resolution(7)`), and objects to each folder, link and file on the way that others can change.
struct TrustedPaths {
    /// `nil`: nothing is objected to.
    private let owner: Owner?
    /// Folders that were looked at: nobody else can put another in their place. With what there is to say against them as the last one.
    private var known: [String: String?] = [:]

    init(owner: Owner? = .current) {
        self.owner = owner
    }

    /// The path without links, where nobody but the user and root can change what it leads to.
    ///
    /// - Parameter path: absolute.
    /// - Throws: MANIF-09, with the folder or file that others can change.
    mutating func resolve(_ path: String) throws(PluginProblem) -> String {
        var rest = Array(Self.components(of: path).reversed())
        var (current, links) = ("", 0)
        var objection = try check("/")
        while let component = rest.popLast() {
            if component == ".." {
                current = Self.parent(of: current)
                objection = known[current.isEmpty ? "/" : current] ?? nil
                continue
            }
            let next = "\(current)/\(component)"
            if known[next] == nil, try status(of: next).kind == .link {
                links += 1
                guard links <= 40 else { throw PluginProblem(path, .filesAreTrusted, "its symbolic links go in a circle; mend them") }
                try checkLink(next)
                let target = try read(next)
                if target.hasPrefix("/") { current = "" }
                rest += Self.components(of: target).reversed()
                continue
            }
            objection = try check(next)
            current = next
        }
        let resolved = current.isEmpty ? "/" : current
        if let objection { throw PluginProblem(resolved, .filesAreTrusted, objection) }
        return resolved
    }

    /// - Returns: what there is to say against it as the last one of a path.
    private mutating func check(_ path: String) throws(PluginProblem) -> String? {
        if let known = known[path] { return known }
        let status = try status(of: path)
        if let objection = owner?.objection(to: status, isAbove: true) { throw PluginProblem(path, .filesAreTrusted, objection) }
        let last = owner?.objection(to: status, isAbove: false)
        if status.kind == .folder { known[path] = .some(last) }
        return last
    }

    private func checkLink(_ path: String) throws(PluginProblem) {
        if let objection = owner?.objection(to: try status(of: path), isAbove: true) {
            throw PluginProblem(path, .filesAreTrusted, objection)
        }
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

    private static func parent(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    }
}
