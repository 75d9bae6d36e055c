// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// What is to be loaded: a URL, and everything a handler may want to know about how.
///
/// A value: a load keeps its own copy. Protocol-specific values ride along under typed keys (``RequestPropertyKey``).
public struct Request: Sendable {
    /// The parts, shared between copies until one is changed: a request passes many hands on its way, and few of them change it.
    private var parts: Parts

    public var url: URLRecord {
        get { parts.url }
        set { ownParts.url = newValue }
    }
    /// The scheme of the URL, as text of its own: each look-up of a handler asks for it.
    var scheme: String { parts.scheme }
    public var method: HTTPRequest.Method {
        get { parts.method }
        set { ownParts.method = newValue }
    }
    public var fields: HTTPFields {
        get { parts.fields }
        set { ownParts.fields = newValue }
    }
    /// The bytes to send, where the protocol sends any.
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
    public var priority: LoadPriority {
        get { parts.priority }
        set { ownParts.priority = newValue }
    }
    /// The document on whose behalf the load is made, for cookie policies; `nil`: the request's own URL.
    public var mainDocumentURL: URLRecord? {
        get { parts.mainDocumentURL }
        set { ownParts.mainDocumentURL = newValue }
    }
    /// Whether cookies are sent with the request and kept from the response, where the protocol has them.
    public var handlesCookies: Bool {
        get { parts.handlesCookies }
        set { ownParts.handlesCookies = newValue }
    }
    public var networkServiceType: NetworkServiceType {
        get { parts.networkServiceType }
        set { ownParts.networkServiceType = newValue }
    }
    public var properties: RequestProperties {
        get { parts.properties }
        set { ownParts.properties = newValue }
    }
    /// Which handlers must not be asked for this request, because they issued it themselves.
    package var visitedHandlers: [LoopGuard] {
        get { parts.visitedHandlers }
        set { ownParts.visitedHandlers = newValue }
    }
    /// How many loads this one lies inside of; 0 for the caller's own.
    package var nestingDepth: Int {
        get { parts.nestingDepth }
        set { ownParts.nestingDepth = newValue }
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
        var priority = LoadPriority.normal
        var mainDocumentURL: URLRecord?
        var handlesCookies = true
        var networkServiceType = NetworkServiceType.standard
        var properties = RequestProperties()
        var visitedHandlers: [LoopGuard] = []
        var nestingDepth = 0

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
            priority = other.priority
            mainDocumentURL = other.mainDocumentURL
            handlesCookies = other.handlesCookies
            networkServiceType = other.networkServiceType
            properties = other.properties
            visitedHandlers = other.visitedHandlers
            nestingDepth = other.nestingDepth
        }
    }

    /// A request for a URL as text, parsed as the WHATWG URL Standard says.
    ///
    /// - Throws: ``LoadError/Code/badURL`` if the text is no absolute URL; the message says where and why.
    public init(_ text: String, method: HTTPRequest.Method = .get, fields: HTTPFields = HTTPFields(), body: Body? = nil) throws(LoadError) {
        do throws(URLSyntaxError) {
            self.init(url: try URLRecord(parsing: text), method: method, fields: fields, body: body)
        } catch {
            throw LoadError(.badURL, message: error.description)
        }
    }
}

/// Time limits of one load, from its start; `nil` is no limit.
public struct Timeouts: Hashable, Sendable {
    /// The longest time without any event while the caller is ready to take one (a paused load does not count). Nor does the time in which a load waits in
    /// a queue of its handler's, as for a connection to become free: that has a limit of its own.
    public var idle: Duration?
    /// The longest time for the whole load, redirects, challenges and pauses included.
    public var total: Duration?

    /// The configuration's ``Loader/Configuration/timeouts`` fill in what is `nil` here.
    public init(idle: Duration? = nil, total: Duration? = nil) {
        self.idle = idle
        self.total = total
    }
}

/// How a load may use stored responses; the meanings are those of the Fetch Standard's cache modes.
public enum CachePolicy: Int32, Hashable, Sendable, CaseIterable {
    /// What the protocol's own rules say (Fetch: `default`).
    case useProtocol = 0
    /// Load from the source, and store nothing (`no-store`).
    case noStore
    /// Load from the source, and store the answer (`reload`).
    case reload
    /// Ask the source whether a stored response is still right (`no-cache`).
    case revalidate
    /// A stored response of any age, else the source (`force-cache`).
    case preferCached
    /// A stored response of any age, else an error (`only-if-cached`). Until there is a cache: ``LoadError/Code/notOffered``, and no load.
    case onlyCached
}

/// Which of several waiting loads goes first: higher before lower.
public struct LoadPriority: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    public static let low = Self(rawValue: -100)
    public static let normal = Self(rawValue: 0)
    public static let high = Self(rawValue: 100)

    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// What kind of traffic a load is, for handlers that can mark their packets.
public enum NetworkServiceType: Int32, Hashable, Sendable, CaseIterable {
    case standard = 0
    /// A person waits.
    case responsiveData
    /// Nobody waits.
    case background
    case video, voice
}

/// Keeps a handler from being asked for a request that it issued itself.
///
/// A pair, not a handler alone, so that `gzip:gzip:…` works: the inner URL is another one.
package struct LoopGuard: Hashable, Sendable {
    package let handler: String
    package let url: URLRecord

    package init(handler: String, url: URLRecord) {
        self.handler = handler
        self.url = url
    }
}
