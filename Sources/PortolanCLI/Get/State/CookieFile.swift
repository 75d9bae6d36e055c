// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Portolan
import PortolanCookies
import PortolanCore
import Synchronization

/// The cookies of a command, and the files they come from and go to.
final class CookieFile: Sendable {
    let storage: CookieStorage
    private let jar: String?
    /// The cookies that were in the jar.
    private let original = CookieStorage(limits: .none)
    private let keepsSessionCookies: Bool
    /// What the responses changed.
    private let changed = Mutex<[Cookie]>([])
    private let observation = Mutex<StorageObservation?>(nil)

    /// - Parameter jar: read if it exists, and written by ``write()``.
    init(reading sources: [String], jar: String?, keepsSessionCookies: Bool) throws(Failure) {
        (self.jar, self.keepsSessionCookies) = (jar, keepsSessionCookies)
        let read = CookieStorage(limits: .none)
        for path in sources { try Self.read(path, into: read, keepsSessionCookies) }
        if let jar {
            if FileSystem.kind(at: jar) != nil { try Self.read(jar, into: original, keepsSessionCookies) }
            for cookie in original.cookies { read.restore(cookie) }
            try PartialFile.probe(jar)
        }
        // The user's cookies have no limit; those of responses do.
        let cookies = read.cookies
        var limits = CookieStorage.Limits()
        limits.perDomain += cookies.count
        limits.perSite += cookies.count
        limits.total += cookies.count
        storage = CookieStorage(limits: limits)
        for cookie in cookies { storage.restore(cookie) }
        let observation = storage.observe { [weak self] changes in self?.changed.withLock { $0 += changes.map(\.cookie) } }
        self.observation.withLock { $0 = observation }
    }

    private static func read(_ path: String, into storage: CookieStorage, _ keepsSessionCookies: Bool) throws(Failure) {
        guard let place = LocalPath(path) else { throw Failure(.unreadable, "the name of the cookie file contains a NUL, or is empty") }
        let bytes: [UInt8]
        do throws(LoadError) {
            bytes = try RegularFile(at: place).contents(atMost: NetscapeCookieFile.sizeLimit + 1)
        } catch {
            throw Failure(error, message: "the cookie file: \(error.phrase)")
        }
        guard bytes.count <= NetscapeCookieFile.sizeLimit else {
            throw Failure(.tooLarge, "the cookie file '\(path)' has more than \(NetscapeCookieFile.sizeLimit) bytes")
        }
        let (cookies, problems) = NetscapeCookieFile.parse(bytes, now: Date())
        for problem in problems.prefix(3) { Diagnostics.warn("the cookie file '\(path)': \(problem); it is skipped") }
        if problems.count > 3 { Diagnostics.warn("the cookie file '\(path)': \(problems.count - 3) more lines are no cookies") }
        for cookie in cookies where keepsSessionCookies || cookie.isPersistent { storage.restore(cookie) }
    }

    /// Writes the jar. What other processes have changed in the meantime stays, except for the cookies that this
    /// process has changed, too.
    func write() throws(Failure) {
        guard let jar else { return }
        let lock = FolderLock(ofFolderWith: jar)
        defer { lock?.release() }
        if lock == nil { Diagnostics.warn("'\(jar)' could not be locked; cookies that other processes write now may be lost") }
        let current = CookieStorage(limits: .none)
        if FileSystem.kind(at: jar) != nil { try Self.read(jar, into: current, keepsSessionCookies) }
        for cookie in changed.withLock({ $0 }) {
            current.delete(cookie)
            original.delete(cookie)
        }
        for cookie in storage.cookies where !original.contains(cookie) { current.restore(cookie) }
        try PartialFile.write(NetscapeCookieFile.bytes(of: current.cookies), to: jar, isPrivate: true)
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
