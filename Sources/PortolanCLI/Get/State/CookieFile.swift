// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Portolan
import PortolanCookies
import PortolanCore
import PortolanFileSystem
import Synchronization

/// The cookies of a command, and the files that they are read from and written to.
final class CookieFile: Sendable {
    let storage: CookieStorage
    private let jar: OutputPlace?
    /// The cookies that the jar contained before the loads.
    private let originalJar = CookieStorage(limits: .none)
    private let keepsSessionCookies: Bool
    /// The `Set-Cookie` fields that the files of `-b` contain.
    private let headerFields: HTTPFields
    /// The hosts for which the cookies of these fields were stored already.
    private let headerHosts = Mutex<Set<String>>([])
    /// The cookies that responses added, replaced or removed.
    private let changedCookies = Mutex<[Cookie]>([])
    private let writtenChangeCount = Atomic(0)
    private let observation = Mutex<StorageObservation?>(nil)

    /// - Parameters:
    ///   - sources: the paths of `-b`. As with curl, a file that cannot be read has no cookies; a warning says so.
    ///   - jar: the file of `-c`. A regular file is read if it exists. ``write()`` writes the jar.
    ///   - timeLimit: how long input other than a regular file can take to arrive; `nil` for no limit.
    init(reading sources: [String], jar: OutputPlace?, keepsSessionCookies: Bool, within timeLimit: Duration? = nil) throws(Failure) {
        self.jar = jar
        self.keepsSessionCookies = keepsSessionCookies
        let inputCookies = CookieStorage(limits: .none)
        var headerFields = HTTPFields()
        for path in sources {
            let input = InputFile(option: "-b", path: path)
            do throws(Failure) {
                let bytes = try input.wholeStream(limit: NetscapeCookieFile.sizeLimit, within: timeLimit)
                let values = NetscapeCookieFile.setCookieValues(in: bytes)
                for value in values { headerFields.append(HTTPField(name: .setCookie, value: value)) }
                // If the file is the header of a response, its other lines are no malformed cookies.
                Self.add(bytes, from: input, to: inputCookies, keepsSessionCookies, warns: values.isEmpty)
            } catch {
                guard error.status == .unreadable else { throw error }
                Diagnostics.warn("\(error.message ?? "-b: '\(path)' cannot be read"); the command continues without its cookies")
            }
        }
        if let jar {
            // Throws for a folder, which cannot be written.
            _ = try jar.kind.get()
            try Self.addCookies(of: jar, to: originalJar, keepsSessionCookies, warns: true)
            for cookie in originalJar.cookies { inputCookies.restore(cookie) }
            if case .file = try jar.kind.get() { try PartialFile.probeForCommand(jar.path) }
        }
        self.headerFields = headerFields
        // The limits apply to the cookies of responses, not to those that the user's files contain.
        let cookies = inputCookies.cookies
        var limits = CookieStorage.Limits()
        limits.perDomain += cookies.count
        limits.perSite += cookies.count
        limits.total += cookies.count
        storage = CookieStorage(limits: limits)
        for cookie in cookies { storage.restore(cookie) }
        let observation = storage.observe { [weak self] changes in self?.changedCookies.withLock { $0 += changes.map(\.cookie) } }
        self.observation.withLock { $0 = observation }
    }

    /// Adds the cookies of the jar if it is a regular file. A FIFO or a device is not read, and a missing file has no
    /// cookies.
    ///
    /// - Parameter warns: whether to warn about malformed lines.
    private static func addCookies(
        of jar: OutputPlace, to storage: CookieStorage, _ keepsSessionCookies: Bool, warns: Bool
    ) throws(Failure) {
        guard !jar.isStream, FileSystem.kind(at: jar.path) != nil else { return }
        let input = InputFile(option: "-c", path: jar.path)
        add(try input.wholeContents(limit: NetscapeCookieFile.sizeLimit), from: input, to: storage, keepsSessionCookies, warns: warns)
    }

    private static func add(
        _ bytes: [UInt8], from input: InputFile, to storage: CookieStorage, _ keepsSessionCookies: Bool, warns: Bool
    ) {
        let (cookies, problems) = NetscapeCookieFile.parse(bytes, now: Date())
        if warns { input.warnAboutSkippedEntries(problems, further: "lines are no cookies") }
        for cookie in cookies where keepsSessionCookies || cookie.isPersistent { storage.restore(cookie) }
    }

    /// Stores the cookies of the `Set-Cookie` fields in the files of `-b`, as if the server of a URL had sent them over
    /// TLS. Has an effect once for each host.
    func addHeaderCookies(forServerOf url: String) {
        // `try?` because the load reports an invalid URL.
        guard !headerFields.isEmpty, let url = try? URLRecord(parsing: url), let host = url.host,
            let secureURL = url.scheme == "http" ? try? URLRecord(parsing: "https" + url.string.dropFirst(4)) : url,
            headerHosts.withLock({ $0.insert(String(host)).inserted })
        else { return }
        let headerCookies = CookieStorage(limits: .none)
        headerCookies.setCookies(from: headerFields, of: secureURL)
        for cookie in headerCookies.cookies where keepsSessionCookies || cookie.isPersistent { storage.restore(cookie) }
    }

    /// Writes the jar if it is a regular file and responses have changed cookies since the last call.
    func writeChanges() throws(Failure) {
        let changeCount = changedCookies.withLock { $0.count }
        guard let jar, !jar.isStream, changeCount > writtenChangeCount.exchange(changeCount, ordering: .relaxed) else { return }
        try write()
    }

    /// Writes the jar. Cookies that other processes have changed in the meantime stay, unless this process has changed
    /// them, too.
    func write() throws(Failure) {
        guard let jar else { return }
        guard !jar.isStream else { return try jar.write(NetscapeCookieFile.bytes(of: storage.cookies), isPrivate: true) }
        let lock = FolderLock(ofFolderWith: jar.path)
        defer { lock?.release() }
        if lock == nil { Diagnostics.warn("-c: '\(jar.path)' could not be locked; cookies that other processes write now can be lost") }
        let current = CookieStorage(limits: .none)
        try Self.addCookies(of: jar, to: current, keepsSessionCookies, warns: false)
        for cookie in changedCookies.withLock({ $0 }) {
            current.delete(cookie)
            originalJar.delete(cookie)
        }
        for cookie in storage.cookies where !originalJar.contains(cookie) { current.restore(cookie) }
        try jar.write(NetscapeCookieFile.bytes(of: current.cookies), isPrivate: true)
    }
}

extension CookieStorage.Change {
    /// The cookie that was added or removed.
    fileprivate var cookie: Cookie {
        switch self {
        case .added(let cookie), .removed(let cookie): cookie
        case .replaced(_, let cookie): cookie
        }
    }
}

extension CookieStorage.Limits {
    fileprivate static var none: Self {
        var limits = Self()
        (limits.perDomain, limits.perSite, limits.total) = (.max, .max, .max)
        return limits
    }
}
