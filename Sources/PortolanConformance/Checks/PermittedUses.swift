// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The files and addresses that a plugin with certain permissions may use.
struct PermittedUses {
    private let permissions: Set<PluginPermission>
    /// The plugin's own folders, which it may read.
    private let folders: [String]

    /// - Parameter folders: The folders of the manifest and of the library.
    init(_ permissions: Set<PluginPermission>, folders: [String]) {
        self.permissions = permissions
        self.folders = folders.map { Self.resolved($0.isEmpty ? "." : $0) }
    }

    /// Why the use is not permitted; `nil` if it is.
    ///
    /// - Parameter libraries: The names of the loaded libraries, which the dynamic linker reads from any folder.
    func objection(to use: ResourceUse, libraries: Set<String>) -> String? {
        switch use {
        case .hidden: return nil
        case .network(let address, let action):
            guard !permissions.contains(.network) else { return nil }
            return "it \(action.rawValue) \(address), but the manifest's permissions do not contain \"network\""
        case .file(let path, let action):
            guard !permissions.contains(.files), !isPermitted(path, action, libraries) else { return nil }
            return "the file '\(path)' was \(action.rawValue), but the manifest's permissions do not contain \"files\""
        }
    }

    private func isPermitted(_ path: String, _ action: ResourceUse.FileAction, _ libraries: Set<String>) -> Bool {
        let plain = Self.normalised(path)
        let resolved = Self.resolved(plain)
        let isInOwnFolder = folders.contains { resolved.isInside($0) }
        // What an executed program uses is observed, too.
        if action == .executed { return isInOwnFolder }
        // A permitted path can be a symbolic link, or lead through one.
        let paths = [plain, resolved]
        func isAny(inside permitted: [String]) -> Bool { permitted.contains { folder in paths.contains { $0.isInside(folder) } } }
        if paths.contains(where: Self.devices.contains) || isAny(inside: Self.services) { return action != .changed }
        guard action == .read else { return false }
        if paths.contains(where: Self.files.contains) || isInOwnFolder { return true }
        if permissions.contains(.network), isAny(inside: Self.filesOfNetwork) { return true }
        if Self.systemFolders.contains(where: { resolved.isInside($0) }) || Self.isPermittedInProcess(resolved) { return true }
        return libraries.contains(LibraryPath.name(of: plain))
    }

    /// Whether the path without symbolic links is one of ``filesOfProcess`` of this process or of one of its threads.
    private static func isPermittedInProcess(_ resolved: String) -> Bool {
        let process = "/proc/\(getpid())"
        guard resolved.isInside(process) else { return false }
        var parts = resolved.dropFirst(process.count).split(separator: "/")
        if parts.count > 1, parts[0] == "task" { parts.removeFirst(2) }
        // A descriptor of something without a path, such as a pipe, resolves to this path. A file's descriptor resolves
        // to the path of the file.
        if parts.count == 2, parts[0] == "fd" { return true }
        return parts.isEmpty || parts.count == 1 && filesOfProcess.contains(String(parts[0]))
    }

    // The page `plugins` lists everything that is permitted.

    static let devices: Set<String> = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"]
    /// Services through which the C library looks up users and hosts (`nss(5)`).
    static let services = ["/var/run/nscd", "/run/nscd", "/run/systemd/userdb", "/run/systemd/resolve"]
    /// What the C library, the dynamic linker and OpenSSL read without a request of the plugin.
    static let files: Set<String> = [
        "/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime", "/etc/timezone", "/etc/locale.alias", "/etc/nsswitch.conf",
        "/etc/passwd", "/etc/group", "/etc/ssl/openssl.cnf", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems",
    ]
    static let systemFolders = [
        "/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/local/lib", "/usr/share/locale",
        "/usr/share/locale-langpack", "/usr/share/i18n", "/usr/share/zoneinfo", "/usr/share/zoneinfo-icu", "/proc/sys",
        "/sys/devices/system",
        "/sys/fs/cgroup", "/sys/kernel/mm",
    ]
    /// What the C library and runtimes read about the own process (`proc(5)`): its stack, threads, limits and control
    /// groups, and the mounted file systems. The runner reads `schedstat` on the threads of loads.
    ///
    /// `environ`, `cmdline` and `mem` are not among them: they contain secrets of the host.
    static let filesOfProcess: Set<String> = [
        "auxv", "cgroup", "comm", "fd", "limits", "loginuid", "maps", "mountinfo", "mounts", "schedstat", "stat", "statm", "status", "task",
    ]
    /// What a connection needs: names, addresses and certificates.
    static let filesOfNetwork = [
        "/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf", "/etc/hostname", "/etc/services", "/etc/protocols",
        "/etc/networks",
        "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
        "/etc/crypto-policies",
        "/proc/net", "/proc/self/net", "/etc/krb5.conf",
    ]

    /// The absolute path without `.`, `..` and empty parts, by the text alone.
    private static func normalised(_ path: String) -> String {
        var parts: [Substring] = []
        for part in path.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return "/" + parts.joined(separator: "/")
    }

    /// The path without symbolic links, as far as its folders exist (`realpath(3)`).
    private static func resolved(_ path: String) -> String {
        var (folder, rest) = (path, "")
        while true {
            if let real = unsafe realpath(folder, nil) {
                defer { unsafe free(real) }
                return rest.isEmpty ? unsafe String(cString: real) : normalised(unsafe String(cString: real) + "/" + rest)
            }
            guard folder != "/", folder != ".", let slash = folder.lastIndex(of: "/") else { return normalised(path) }
            rest = folder[folder.index(after: slash)...] + (rest.isEmpty ? "" : "/" + rest)
            folder = slash == folder.startIndex ? "/" : String(folder[..<slash])
        }
    }
}

/// The libraries that are loaded now.
enum LoadedLibraries {
    /// The names of their files, without folders.
    static func names() -> Set<String> {
        var map: UnsafeMutablePointer<link_map>?
        guard let program = unsafe dlopen(nil, RTLD_LAZY), unsafe dlinfo(program, Int32(PORTOLAN_LINK_MAP), &map) == 0 else { return [] }
        var names: Set<String> = []
        while let library = unsafe map {
            if let name = unsafe library.pointee.l_name { names.insert(LibraryPath.name(of: unsafe String(cString: name))) }
            unsafe map = unsafe library.pointee.l_next
        }
        return names
    }
}

extension String {
    /// Whether the path is `folder` or inside it.
    fileprivate func isInside(_ folder: String) -> Bool { self == folder || hasPrefix(folder == "/" ? folder : folder + "/") }
}
