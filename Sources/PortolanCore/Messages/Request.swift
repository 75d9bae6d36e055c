// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// What to load: a URL, and all other information that a handler may need.
///
/// A value: a load keeps its own copy. Values for one protocol are ``properties``.
public struct Request: Sendable {
    /// The parts, shared between copies until one is changed: a request is passed through many functions, and few of
    /// them change it.
    private var parts: Parts

    public var url: URLRecord {
        get { parts.url }
        set { ownParts.url = newValue }
    }
    /// The scheme of the URL as a separate string, because each look-up of a handler needs it.
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
    public var priority: LoadPriority {
        get { parts.priority }
        set { ownParts.priority = newValue }
    }
    /// The top-level document on whose behalf the load is made, for cookies; `nil` for none, as for a URL that a person
    /// typed. Cookies for the same site are not sent to other sites than the document's.
    public var mainDocumentURL: URLRecord? {
        get { parts.mainDocumentURL }
        set { ownParts.mainDocumentURL = newValue }
    }
    /// Whether stored cookies are sent with the request, and those of its responses are stored, if the protocol has
    /// cookies. The request's own `Cookie` field is sent anyway.
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
    /// The handlers that must not serve this request, because they issued it themselves.
    package var visitedHandlers: [LoopGuard] {
        get { parts.visitedHandlers }
        set { ownParts.visitedHandlers = newValue }
    }
    /// The number of loads that this one is nested in; 0 for the caller's own load.
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
        var networkServiceTypeValue: Int32 = 0
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
            networkServiceTypeValue = other.networkServiceTypeValue
            properties = other.properties
            visitedHandlers = other.visitedHandlers
            nestingDepth = other.nestingDepth
        }
    }

    /// Makes a request for a URL as text, parsed according to the WHATWG URL Standard.
    ///
    /// - Throws: ``LoadError/Code/badURL`` if the text is not an absolute URL; the message states where and why.
    public init(_ text: String, method: HTTPRequest.Method = .get, fields: HTTPFields = HTTPFields(), body: Body? = nil) throws(LoadError) {
        do throws(URLSyntaxError) {
            self.init(url: try URLRecord(parsing: text), method: method, fields: fields, body: body)
        } catch {
            throw LoadError(.badURL, message: error.description)
        }
    }
}

/// Time limits of one load; `nil` for no limit.
public struct Timeouts: Hashable, Sendable {
    /// The longest time without any event while the caller is ready to receive one (a paused load does not count). The
    /// time in which a load waits in a queue of its handler, for example for a free connection, does not count either,
    /// and has a separate limit.
    public var idle: Duration?
    /// The longest time for the whole load, redirects, challenges and pauses included.
    public var total: Duration?

    /// The configuration's ``Loader/Configuration/timeouts`` replace each `nil`.
    public init(idle: Duration? = nil, total: Duration? = nil) {
        self.idle = idle
        self.total = total
    }
}

/// How a load may use stored responses, with the meanings of the Fetch Standard's cache modes.
public enum CachePolicy: Int32, Hashable, Sendable, CaseIterable {
    /// The protocol's own rules (Fetch: `default`).
    case useProtocol = 0
    /// Load from the source, and store nothing (`no-store`).
    case noStore
    /// Load from the source, and store the response (`reload`).
    case reload
    /// Ask the source whether a stored response is still valid (`no-cache`).
    case revalidate
    /// A stored response of any age, otherwise the source (`force-cache`).
    case preferCached
    /// A stored response of any age, otherwise an error (`only-if-cached`). Until there is a cache, the error is
    /// ``LoadError/Code/notOffered``, and nothing is loaded.
    case onlyCached
}

/// The order of waiting loads: higher before lower.
public struct LoadPriority: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    public static let low = Self(rawValue: -100)
    public static let normal = Self(rawValue: 0)
    public static let high = Self(rawValue: 100)

    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// Keeps a handler from serving a request that it issued itself.
///
/// A pair, not a handler alone, so that `gzip:gzip:…` works: the inner URL is different.
package struct LoopGuard: Hashable, Sendable {
    package let handler: String
    package let url: URLRecord

    package init(handler: String, url: URLRecord) {
        self.handler = handler
        self.url = url
    }
}
