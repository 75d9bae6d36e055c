// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The user names and passwords of a netrc file (`ftp(1)`), by host.
///
/// The file is read once, when the value is made. A load proposes its credentials when a server sends a challenge; see
/// ``Loader/Configuration/netrc``. The first entry for the host that has a password is used, or the default entry, if
/// the default entry comes first. The file is parsed as curl parses it, but a malformed file is an error.
///
/// An entry names no scheme, and rarely a port. In one load it serves the first origin of its host: after a redirect,
/// another port or scheme of the host gets no password, except `https:` with the same port or both default ports. An
/// entry that names a port (`port 8080`) serves this port, also after a redirect.
public struct NetrcFile: Sendable {
    /// The largest file that is read, in bytes.
    package static let sizeLimit = 1 << 20

    private let entries: [NetrcParser.Entry]

    package init(parsing bytes: [UInt8]) throws(NetrcSyntaxError) {
        entries = try NetrcParser.parse(bytes)
    }

    /// Reads a file. Its permissions are not checked.
    ///
    /// - Throws: `LoadError.Code.notFound` and other errors of files; `.limitExceeded` for more than 1 MiB;
    ///   `.badRequest` for a quoted word without an end, an unknown word, a keyword without a value, a NUL, or bytes
    ///   that are not UTF-8. The message has the number of the line, and no text of the file.
    public init(contentsOf path: String) throws(LoadError) {
        try self.init(contentsOf: path, requiringPrivacy: false)
    }

    /// Reads the user's file: the one that the environment variable `NETRC` names, otherwise `~/.netrc`.
    ///
    /// - Returns: `nil` if `~/.netrc` does not exist, or if `HOME` is not set.
    /// - Throws: ``init(contentsOf:)``'s errors; `LoadError.Code.accessDenied` if `~/.netrc` has a password, and
    ///   another user owns the file, or may read or change it, as in ftp(1) and Python's netrc module.
    public static func ofUser() throws(LoadError) -> NetrcFile? {
        if let path = environment("NETRC") { return try NetrcFile(contentsOf: path) }
        guard let home = environment("HOME") else { return nil }
        do throws(LoadError) {
            return try NetrcFile(contentsOf: home + "/.netrc", requiringPrivacy: true)
        } catch  where error.code == .notFound {
            return nil
        }
    }

    private static func environment(_ name: String) -> String? {
        guard let value = unsafe getenv(name), unsafe value.pointee != 0 else { return nil }
        return unsafe String(cString: value)
    }

    package init(contentsOf path: String, requiringPrivacy requiresPrivacy: Bool) throws(LoadError) {
        guard let localPath = LocalPath(path) else {
            throw LoadError(.notFound, message: "the name of the netrc file is empty, or has a NUL; name a file")
        }
        let file = try RegularFile(at: localPath)
        var bytes = try file.contents(atMost: Self.sizeLimit + 1)
        defer { unsafe bytes.withUnsafeMutableBytes { if let start = $0.baseAddress { unsafe explicit_bzero(start, $0.count) } } }
        guard bytes.count <= Self.sizeLimit else {
            throw LoadError(.limitExceeded, message: "the netrc file \(QuotedText(path)) has more than \(Self.sizeLimit) bytes")
        }
        do throws(NetrcSyntaxError) { try self.init(parsing: bytes) } catch {
            throw LoadError(.badRequest, message: "the netrc file \(QuotedText(path)) can't be read: \(error)")
        }
        guard requiresPrivacy, hasSecret else { return }
        guard file.owner == getuid(), file.permissions & 0o077 == 0 else {
            let mode = String(file.permissions, radix: 8)
            throw LoadError(
                .accessDenied,
                message: "\(QuotedText(path)) has passwords, but another user can read or owns it (mode \(mode)); run chmod 600 on it")
        }
    }

    /// Whether there is a password that is not for anonymous access.
    private var hasSecret: Bool { entries.contains { $0.password != nil && $0.user != "anonymous" } }

    /// Returns the credential for a host of a URL.
    ///
    /// - Parameters:
    ///   - port: the port of the URL, or the default port of its scheme; `nil` if the scheme has none.
    ///   - user: the user whose password is needed; `nil` for the user that the entry names.
    ///   - mustNamePort: whether to use only entries that name the port.
    package func credential(
        forHost host: some StringProtocol, port: Int?, user: String? = nil, mustNamePort: Bool = false
    ) -> Credential? {
        // The brackets of an IPv6 address are part of a URL's host, and usually not of a name in the file.
        let name = host.lowercased()
        let host = name.hasPrefix("[") ? String(name.dropFirst().dropLast()) : name
        let matches = entries.filter { entry in
            (entry.machine == nil || entry.machine == host || entry.machine == name)
                && (entry.port == nil ? !mustNamePort : entry.port == port)
                && (user == nil || entry.user == nil || entry.user.map(OctetText.init) == user.map(OctetText.init))
        }
        guard let entry = matches.first(where: { $0.password != nil }) ?? matches.first(where: { $0.user != nil }) else { return nil }
        return .password(user: user ?? entry.user ?? "", password: entry.password?.reveal() ?? "")
    }
}

extension NetrcFile: CustomStringConvertible, CustomReflectable {
    /// Shows no user and no password.
    public var description: String { "netrc file with \(entries.count) entries" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
