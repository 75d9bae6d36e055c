// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// What to load: a URL, and all other information that a handler can use.
///
/// A value type: a load has its own copy. Values for one protocol are in ``properties``.
public struct Request: Sendable {
    /// The values, which copies share until one copy is changed (copy-on-write). Few of the functions that receive a
    /// request change it.
    private var parts: Parts

    public var url: URLRecord {
        get { parts.url }
        set { ownParts.url = newValue }
    }
    /// The scheme of the URL. Stored as a string, because each look-up of a handler uses it.
    var scheme: String { parts.scheme }
    public var method: HTTPRequest.Method {
        get { parts.method }
        set { ownParts.method = newValue }
    }
    public var fields: HTTPFields {
        get { parts.fields }
        set { ownParts.fields = newValue }
    }
    /// The bytes to send, if the protocol sends any.
    public var body: Body? {
        get { parts.body }
        set { ownParts.body = newValue }
    }
    public var cachePolicy: CachePolicy {
        get { parts.cachePolicy }
        set { ownParts.cachePolicy = newValue }
    }
    public var timeouts: Timeouts {
        get { parts.timeouts }
        set { ownParts.timeouts = newValue }
    }
    /// The maximum number of bytes of the response's body, after decoding; `nil` for no limit. A body that is larger
    /// fails the load with ``LoadError/Code/limitExceeded``, before its first byte if the length is known.
    public var maximumBodySize: Int64? {
        get { parts.maximumBodySize }
        set { ownParts.maximumBodySize = newValue }
    }
    public var priority: LoadPriority {
        get { parts.priority }
        set { ownParts.priority = newValue }
    }
    /// The top-level document for which the resource is loaded; `nil` for none, as for a URL that a person typed.
    /// SameSite cookies are sent only if the request goes to the site of this document.
    public var mainDocumentURL: URLRecord? {
        get { parts.mainDocumentURL }
        set { ownParts.mainDocumentURL = newValue }
    }
    /// Whether stored cookies are sent with the request, and cookies of its responses are stored. A `Cookie` field of
    /// the request itself is always sent.
    public var handlesCookies: Bool {
        get { parts.handlesCookies }
        set { ownParts.handlesCookies = newValue }
    }
    /// The raw value of PortolanPlugins' `NetworkServiceType`, which only plugins read.
    package var networkServiceTypeValue: Int32 {
        get { parts.networkServiceTypeValue }
        set { ownParts.networkServiceTypeValue = newValue }
    }
    public var properties: RequestProperties {
        get { parts.properties }
        set { ownParts.properties = newValue }
    }
    /// The handlers that must not serve this request, because they made it.
    package var visitedHandlers: [LoopGuard] {
        get { parts.visitedHandlers }
        set { ownParts.visitedHandlers = newValue }
    }
    /// The number of parent loads, at all levels, of the load of this request; 0 for a request of the caller.
    package var nestingDepth: Int {
        get { parts.nestingDepth }
        set { ownParts.nestingDepth = newValue }
    }

    /// The caller's `Referer` after the redirects of the load; `nil` before the first redirect.
    var redirectReferrer: RedirectReferrer? {
        get { parts.redirectReferrer }
        set { ownParts.redirectReferrer = newValue }
    }

    /// The protection space that contains the URL. Its credential is sent without a challenge. Set by the loader for
    /// one handler load; `nil` if no credential is known.
    package var authenticatedSpace: AuthenticatedSpaces.Match? {
        get { parts.authenticatedSpace }
        set { ownParts.authenticatedSpace = newValue }
    }

    /// Whether the loader may send a credential without a challenge, because the server accepted it in an earlier load.
    package var usesAuthenticatedSpaces: Bool {
        get { parts.usesAuthenticatedSpaces }
        set { ownParts.usesAuthenticatedSpaces = newValue }
    }

    /// Where the credential in the `Authorization` field comes from, for the log: for example an option of a command.
    /// `nil` if that is unknown.
    package var credentialSource: String? {
        get { parts.credentialSource }
        set { ownParts.credentialSource = newValue }
    }

    /// Whether HSTS has replaced the scheme `http:` of the request's URL (``UpgradeHandler``).
    package var isUpgradedToHTTPS: Bool {
        get { parts.isUpgradedToHTTPS }
        set { if newValue != parts.isUpgradedToHTTPS { ownParts.isUpgradedToHTTPS = newValue } }
    }

    /// What the interceptors of the loader have captured when the task was made, by their identifiers. All requests of
    /// a task have the same values.
    package var capturedContexts: [String: any Sendable] {
        get { parts.capturedContexts }
        set { ownParts.capturedContexts = newValue }
    }

    /// Whether the caller itself tries the load again after a failure, so that the loader must not.
    package var isRetriedByCaller: Bool {
        get { parts.isRetriedByCaller }
        set { ownParts.isRetriedByCaller = newValue }
    }

    public init(url: URLRecord, method: HTTPRequest.Method = .get, fields: HTTPFields = HTTPFields(), body: Body? = nil) {
        parts = Parts(url: url, method: method, fields: fields, body: body)
    }

    private var ownParts: Parts {
        mutating get {
            if !isKnownUniquelyReferenced(&parts) { parts = Parts(copying: parts) }
            return parts
        }
    }

    private final class Parts: @unchecked Sendable {  // … because a change is made only to parts that one request owns
        var url: URLRecord {
            didSet { scheme = String(url.scheme) }
        }
        private(set) var scheme: String
        var method: HTTPRequest.Method
        var fields: HTTPFields
        var body: Body?
        var cachePolicy = CachePolicy.useProtocol
        var timeouts = Timeouts()
        var maximumBodySize: Int64?
        var priority = LoadPriority.normal
        var mainDocumentURL: URLRecord?
        var handlesCookies = true
        var networkServiceTypeValue: Int32 = 0
        var properties = RequestProperties()
        var visitedHandlers: [LoopGuard] = []
        var nestingDepth = 0
        var redirectReferrer: RedirectReferrer?
        var authenticatedSpace: AuthenticatedSpaces.Match?
        var usesAuthenticatedSpaces = true
        var credentialSource: String?
        var isUpgradedToHTTPS = false
        var isRetriedByCaller = false
        var capturedContexts: [String: any Sendable] = [:]

        init(url: URLRecord, method: HTTPRequest.Method, fields: HTTPFields, body: Body?) {
            self.url = url
            scheme = String(url.scheme)
            self.method = method
            self.fields = fields
            self.body = body
        }

        convenience init(copying other: Parts) {
            self.init(url: other.url, method: other.method, fields: other.fields, body: other.body)
            cachePolicy = other.cachePolicy
            timeouts = other.timeouts
            maximumBodySize = other.maximumBodySize
            priority = other.priority
            mainDocumentURL = other.mainDocumentURL
            handlesCookies = other.handlesCookies
            networkServiceTypeValue = other.networkServiceTypeValue
            properties = other.properties
            visitedHandlers = other.visitedHandlers
            nestingDepth = other.nestingDepth
            redirectReferrer = other.redirectReferrer
            authenticatedSpace = other.authenticatedSpace
            usesAuthenticatedSpaces = other.usesAuthenticatedSpaces
            credentialSource = other.credentialSource
            isUpgradedToHTTPS = other.isUpgradedToHTTPS
            isRetriedByCaller = other.isRetriedByCaller
            capturedContexts = other.capturedContexts
        }
    }

    /// Makes a request for a URL as text, parsed according to the WHATWG URL Standard.
    ///
    /// - Throws: ``LoadError/Code/badURL`` if the text is not an absolute URL. The message states where and why.
    public init(_ text: String, method: HTTPRequest.Method = .get, fields: HTTPFields = HTTPFields(), body: Body? = nil) throws(LoadError) {
        do throws(URLSyntaxError) {
            self.init(url: try URLRecord(parsing: text), method: method, fields: fields, body: body)
        } catch {
            throw LoadError(.badURL, message: error.description)
        }
    }
}

extension Request: CustomStringConvertible, CustomReflectable {
    /// The method and the URL without its user information. Fields can contain secrets and are left out.
    public var description: String { "\(method.rawValue) \(url)" }

    /// Shows the names of the fields, and none of their values.
    public var customMirror: Mirror {
        Mirror(self, children: ["method": method.rawValue, "url": url.description, "fields": fields.map(\.name.rawName)])
    }
}

/// Time limits of one load; `nil` for no limit.
public struct Timeouts: Hashable, Sendable {
    /// The maximum time without an event. It does not include pauses and the time in a queue of the handler, for
    /// example for a free connection. Such a queue has a separate limit.
    public var idle: Duration?
    /// The maximum time for the whole load, with redirects, challenges and pauses.
    public var total: Duration?

    /// For a request, each `nil` is replaced by the limit in ``Loader/Configuration/timeouts``.
    public init(idle: Duration? = nil, total: Duration? = nil) {
        self.idle = idle
        self.total = total
    }
}

/// How a load uses stored responses. Each case corresponds to a cache mode of the Fetch Standard.
public enum CachePolicy: Int32, Hashable, Sendable, CaseIterable {
    /// Follow the protocol's rules (Fetch: `default`).
    case useProtocol = 0
    /// Load from the source, and store nothing (`no-store`).
    case noStore
    /// Load from the source, and store the response (`reload`).
    case reload
    /// Ask the source whether a stored response is still valid (`no-cache`).
    case revalidate
    /// Use a stored response of any age. Without one, load from the source (`force-cache`).
    case preferCached
    /// Use a stored response of any age. Without one, fail with ``LoadError/Code/notOffered`` (`only-if-cached`).
    case onlyCached
}

/// The priority of a load that waits in a queue. Loads with higher priority go first.
public struct LoadPriority: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    public static let low = Self(rawValue: -100)
    public static let normal = Self(rawValue: 0)
    public static let high = Self(rawValue: 100)

    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// Prevents a handler from serving a request that it made itself, which would cause an endless loop.
///
/// It names a handler and a URL. So the `gzip:` handler can serve the nested request of `gzip:gzip:…`, which has
/// another URL.
package struct LoopGuard: Hashable, Sendable {
    package let handler: String
    package let url: URLRecord

    package init(handler: String, url: URLRecord) {
        self.handler = handler
        self.url = url
    }
}
