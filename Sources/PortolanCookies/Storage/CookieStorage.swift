// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes
public import PortolanCore
public import PortolanURL
import Synchronization

/// The cookies of one or several loaders, in memory. A `StateFolder` has a storage that also keeps them on disk.
///
/// Cookies are stored and sent as RFC 6265bis says. Can be used on any thread.
///
///     let storage = CookieStorage()
///     try storage.set(Cookie(name: "theme", value: "dark", domain: "example.org"))
///     for cookie in storage.cookies { print(cookie) }
public final class CookieStorage: Sendable {
    /// Which cookies of responses are stored.
    public enum AcceptPolicy: Hashable, Sendable {
        case always, never
        /// Only the cookies of the main document's site (`Request.mainDocumentURL`). A request without a main document
        /// counts as a request to that site.
        case onlyFromMainDocumentSite
    }

    /// The maximum numbers of cookies. Cookies over a limit are evicted in this order: expired cookies, cookies that
    /// are not secure (except for the limit in total), other cookies. In each group, the least recently sent cookie is
    /// evicted first.
    ///
    /// RFC 6265bis §5.7, "remove excess cookies"
    package struct Limits: Hashable, Sendable {
        /// The largest number of cookies with the same domain.
        package var perDomain = 180
        /// The largest number of cookies of all hosts of one site. The owner of a domain can make any number of hosts
        /// below it.
        package var perSite = 1000
        package var total = 20_000

        package init() {}
    }

    /// One of the ``Limits``.
    package enum Limit: CaseIterable, Sendable { case perDomain, perSite, total }

    /// A change of the stored cookies.
    public enum Change: Hashable, Sendable {
        case added(Cookie)
        /// The second cookie replaces the first one.
        case replaced(Cookie, by: Cookie)
        case removed(Cookie)
    }

    private struct State {
        var jar: CookieJar
        var acceptPolicy = AcceptPolicy.always
        var observers: [Int: @Sendable ([Change]) -> Void] = [:]
        var lastObserverNumber = 0
        var log: Log?

        /// Records changes for the store on disk. Returns the notification to deliver after the lock is released; `nil`
        /// without changes.
        ///
        /// - Parameter count: the number of changes at the start that come from the store itself, and are not recorded.
        func record(_ changes: [Change], skipping count: Int = 0) -> Notification? {
            guard !changes.isEmpty else { return nil }
            if let log { for change in changes.dropFirst(count) { change.record(in: log) } }
            return Notification(changes: changes, observers: Array(observers.values), log: log)
        }
    }

    /// The changes of cookies that outlive their session, for a store on disk.
    package typealias Log = ChangeLog<Cookie.Identity, Cookie>

    private struct Notification {
        let changes: [Change]
        let observers: [@Sendable ([Change]) -> Void]
        let log: Log?

        func deliver() {
            log?.notify()
            for observer in observers { observer(changes) }
        }
    }

    private let state: Mutex<State>
    private let store: (any AnyObject & Sendable)?

    public convenience init() { self.init(limits: Limits()) }

    package init(limits: Limits) {
        state = Mutex(State(jar: CookieJar(limits: limits)))
        store = nil
    }

    /// Makes a storage whose cookies are on disk.
    ///
    /// - Parameters:
    ///   - cookies: the cookies on disk, the oldest first.
    ///   - log: receives the changes.
    ///   - store: writes the changes, and stays open as long as the storage exists.
    package init(limits: Limits = Limits(), stored cookies: [Cookie], log: Log, in store: any AnyObject & Sendable) {
        var jar = CookieJar(limits: limits)
        let now = Date()
        for cookie in cookies {
            for case .removed(let excess) in jar.insert(cookie, at: now) { log.record(.removed, for: excess.identity) }
        }
        state = Mutex(State(jar: jar, log: log))
        self.store = store
    }

    public var acceptPolicy: AcceptPolicy {
        get { state.withLock { $0.acceptPolicy } }
        set { state.withLock { $0.acceptPolicy = newValue } }
    }

    // MARK: Cookies

    /// All cookies that have not expired, in the order in which they were created.
    public var cookies: [Cookie] { state.withLock { $0.jar.all(at: Date()) } }

    /// Whether there are no cookies, not even ones that have expired.
    package var isEmpty: Bool { state.withLock { $0.jar.isEmpty } }

    /// The cookies that a load of the URL would send, in the order in which it would send them.
    ///
    /// - Parameter document: the document on whose behalf the load is made, as in `Request.mainDocumentURL`.
    public func cookies(for url: URLRecord, document: URLRecord? = nil) -> [Cookie] {
        guard let context = CookieContext(url, document: document, now: Date()) else { return [] }
        return state.withLock { $0.jar.cookies(for: context) }
    }

    /// Stores a cookie. It replaces the cookie with the same name, domain, path, partition and ``Cookie/isHostOnly``.
    ///
    /// - Throws: ``CookieError`` if its name, value, domain or path is not valid for a cookie.
    public func set(_ cookie: Cookie) throws(CookieError) {
        try cookie.check()
        change { $0.insert(cookie, at: Date()) }
    }

    /// Stores a cookie that was stored before, for example in a file, with its times. An expired cookie is not stored,
    /// but removes the cookie that it would replace.
    package func restore(_ cookie: Cookie) { change { $0.insert(cookie, at: Date()) } }

    /// Stores cookies that were stored before, the oldest first.
    ///
    /// - Returns: how many cookies were evicted because of each limit.
    package func restore(_ cookies: [Cookie]) -> [Limit: Int] {
        let before = state.withLock { $0.jar.evictionCounts }
        for cookie in cookies { restore(cookie) }
        return state.withLock { $0.jar.evictionCounts }.merging(before) { $0 - $1 }
    }

    /// Whether a cookie with the same name, domain, path, partition and ``Cookie/isHostOnly`` is stored.
    package func contains(_ cookie: Cookie) -> Bool {
        state.withLock { $0.jar.contains(cookie.identity) }
    }

    /// Stores the cookies that the `Set-Cookie` fields of a response set. A load does this by itself.
    ///
    /// - Parameters:
    ///   - url: the URL of the response.
    ///   - document: the document on whose behalf it was loaded, as in `Request.mainDocumentURL`.
    /// - Returns: the number of accepted cookies. An accepted cookie that has expired only removes the cookie that it
    ///   would replace. The other fields are malformed, or their cookies are not allowed.
    @discardableResult
    public func setCookies(from fields: HTTPFields, of url: URLRecord, document: URLRecord? = nil) -> Int {
        setCookies(from: fields, of: url, document: document) { _, _ in }
    }

    /// Does what ``setCookies(from:of:document:)`` does, and calls `didReject` for each cookie that is not stored.
    @discardableResult
    package func setCookies(
        from fields: HTTPFields, of url: URLRecord, document: URLRecord?, didReject: (_ name: String, CookieRejection) -> Void
    ) -> Int {
        // Not `contains(.setCookie)`: the first look-up by a name makes an index of all fields.
        guard fields.contains(where: { $0.name == .setCookie }), let context = CookieContext(url, document: document, now: Date())
        else { return 0 }
        var count = 0
        for field in fields where field.name == .setCookie {
            let value = unsafe field.withUnsafeBytesOfValue { unsafe Array($0) }
            do throws(CookieRejection) {
                try receive(value.span, in: context)
                count += 1
            } catch {
                let pair = value.prefix { $0 != UInt8(ascii: ";") }
                let name = pair.contains(UInt8(ascii: "=")) ? pair.prefix { $0 != UInt8(ascii: "=") } : []
                didReject(String(decoding: name, as: UTF8.self), error)
            }
        }
        return count
    }

    /// Removes the cookie with the same name, domain, path, partition and ``Cookie/isHostOnly``.
    public func delete(_ cookie: Cookie) {
        change { $0.remove(cookie.identity) }
    }

    package func remove(where isChosen: (Cookie) -> Bool) { change { $0.remove(where: isChosen) } }

    public func removeAll() { change { $0.remove { _ in true } } }

    /// Removes the cookies that were created at or after a time.
    public func removeCookies(since time: Date) { change { $0.remove { $0.creationTime >= time } } }

    /// Removes the cookies that end with the session (RFC 6265bis §5.7).
    public func endSession() { change { $0.remove { !$0.isPersistent } } }

    // MARK: Changes

    /// Calls `observer` after each change, on the thread that made the change, without a lock held.
    ///
    /// - Returns: an observation. The calls end when the observation is released.
    public func observe(_ observer: @escaping @Sendable ([Change]) -> Void) -> StorageObservation {
        let number = state.withLock { state in
            state.lastObserverNumber += 1
            state.observers[state.lastObserverNumber] = observer
            return state.lastObserverNumber
        }
        return StorageObservation { [weak self] in self?.state.withLock { _ = $0.observers.removeValue(forKey: number) } }
    }

    private func change(_ body: (inout CookieJar) -> [Change]) {
        let notification = state.withLock { state in
            // Not as an argument of `record`: the state would be retained first, and each change would copy the jar.
            let changes = body(&state.jar)
            return state.record(changes)
        }
        notification?.deliver()
    }

    /// Applies changes that other processes made in the store, except for a cookie with a newer change that is not
    /// written yet.
    package func apply(set cookies: [Cookie], removed: Set<Cookie.Identity>) {
        let notifications = state.withLock { state -> [Notification?] in
            let log = state.log
            let changes = state.jar.remove { cookie in
                cookie.isPersistent && removed.contains(cookie.identity) && log?.hasChange(for: cookie.identity) != true
            }
            let removal = state.record(changes, skipping: changes.count)
            let now = Date()
            return [removal]
                + cookies.map { cookie in
                    guard log?.hasChange(for: cookie.identity) != true else { return nil }
                    let changes = state.jar.insert(cookie, at: now)
                    // Evicted cookies come after the new one. They are changes of this process.
                    let storeChangeCount =
                        changes.firstIndex { if case .removed = $0 { false } else { true } }.map { $0 + 1 } ?? changes.count
                    return state.record(changes, skipping: storeChangeCount)
                }
        }
        for notification in notifications { notification?.deliver() }
    }

    /// The cookies that outlive their session, with the times when they were last sent.
    package var persistentCookies: [Cookie] {
        state.withLock { $0.jar.all(at: Date(), withLastAccessTimes: true) }.filter(\.isPersistent)
    }
}

extension CookieStorage.Change {
    /// Session cookies are not recorded: they are not stored on disk.
    fileprivate func record(in log: CookieStorage.Log) {
        switch self {
        case .added(let cookie): if cookie.isPersistent { log.record(.set(cookie), for: cookie.identity) }
        case .replaced(let old, let cookie):
            if cookie.isPersistent {
                log.record(.set(cookie), for: cookie.identity)
            } else if old.isPersistent {
                log.record(.removed, for: old.identity)
            }
        case .removed(let cookie): if cookie.isPersistent { log.record(.removed, for: cookie.identity) }
        }
    }
}

// MARK: Loads

extension CookieStorage {
    /// Stores a received cookie.
    ///
    /// - Throws: the reason why the cookie is not stored.
    package func receive(_ field: Span<UInt8>, in context: CookieContext) throws(CookieRejection) {
        let received = try SetCookie(parsing: field)
        let notification = try state.withLock { (state) throws(CookieRejection) in
            switch state.acceptPolicy {
            case .always: break
            case .never: throw .policy
            case .onlyFromMainDocumentSite: if !context.isSameSite { throw .policy }
            }
            let changes = try state.jar.receive(received, in: context)
            return state.record(changes)
        }
        notification?.deliver()
    }

    /// The value of the `Cookie` field for a request; `nil` for no field.
    ///
    /// - Parameter names: the names of cookies that the request already has.
    package func header(for context: CookieContext, excluding names: [[UInt8]] = []) -> [UInt8]? {
        state.withLock { $0.jar.header(for: context, excluding: names) }
    }
}

/// Why a cookie that a program made can't be stored.
public struct CookieError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
}

extension Cookie {
    /// Whether ``CookieStorage/set(_:)`` accepts the cookie. A public suffix may have host-only cookies.
    package var canBeStored: Bool {
        do throws(CookieError) { try check() } catch { return false }
        return true
    }

    /// Checks a cookie from a program or a file: its name and its value must fit into a `Cookie` field (RFC 6265bis
    /// §5.7).
    func check() throws(CookieError) {
        func fail(_ problem: String) throws(CookieError) -> Never {
            throw CookieError(description: "the cookie '\(name)' can't be stored: \(problem)")
        }
        if nameBytes.isEmpty && valueBytes.isEmpty { try fail("its name and its value are empty") }
        if nameBytes.contains(UInt8(ascii: "=")) { try fail("a name can't have '='") }
        let bytes = nameBytes + valueBytes
        if bytes.contains(UInt8(ascii: ";")) || bytes.contains(where: SetCookie.isControl) {
            try fail("its name or its value has a semicolon or a control character")
        }
        if bytes.count > SetCookie.contentLimit {
            try fail("its name and its value have more than \(SetCookie.contentLimit) bytes together")
        }
        if path.first != "/" { try fail("the path '\(path)' does not begin with '/'") }
        guard !domain.isEmpty, domain.utf8.first != UInt8(ascii: "."), let url = try? URLRecord(parsing: "http://\(domain)/"),
            url.host == domain[...]
        else {
            try fail("'\(domain)' is not a host as URLs have them, in lower case")
        }
        if !isHostOnly, PublicSuffixList.isPublicSuffix(domain) { try fail("'\(domain)' is a public suffix") }
        if partition != nil, !isSecure { try fail(CookieRejection.partitionedNotSecure.rawValue) }
        do throws(CookieRejection) { try CookieRules.checkPrefix(of: self, hasPath: true) } catch { try fail(error.rawValue) }
    }
}
