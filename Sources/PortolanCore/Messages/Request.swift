// SPDX-License-Identifier: Apache-2.0
public import HTTPTypes

/// What is to be loaded: a URL, and everything a handler may want to know about how.
///
/// A value: a load keeps its own copy. Protocol-specific values ride along under typed keys (``RequestPropertyKey``).
public struct Request: Sendable {
    public var url: URLRecord
    public var method: HTTPRequest.Method
    public var fields: HTTPFields
    /// The bytes to send, where the protocol sends any.
    public var body: Body?
    public var cachePolicy: CachePolicy
    public var timeouts: Timeouts
    public var priority: LoadPriority
    /// The document on whose behalf the load is made, for cookie policies; `nil`: the request's own URL.
    public var mainDocumentURL: URLRecord?
    /// Whether cookies are sent with the request and kept from the response, where the protocol has them.
    public var handlesCookies: Bool
    public var networkServiceType: NetworkServiceType
    public var properties: RequestProperties
    /// Which handlers must not be asked for this request, because they issued it themselves.
    package var marks: [RequestMark] = []
    /// How many loads this one lies inside of; 0 for the caller's own.
    package var nestingDepth = 0

    public init(url: URLRecord, method: HTTPRequest.Method = .get, fields: HTTPFields = [:], body: Body? = nil) {
        self.url = url
        self.method = method
        self.fields = fields
        self.body = body
        cachePolicy = .useProtocol
        timeouts = Timeouts()
        priority = .normal
        mainDocumentURL = nil
        handlesCookies = true
        networkServiceType = .standard
        properties = RequestProperties()
    }

    /// A request for a URL as text, parsed as the WHATWG URL Standard says.
    ///
    /// - Throws: ``LoadError/Code/badURL`` if the text is no absolute URL; the message says where and why.
    public init(_ text: String, method: HTTPRequest.Method = .get, fields: HTTPFields = [:], body: Body? = nil) throws(LoadError) {
        do throws(URLSyntaxError) {
            self.init(url: try URLRecord(parsing: text), method: method, fields: fields, body: body)
        } catch {
            throw LoadError(.badURL, message: error.description)
        }
    }
}

/// Time limits of one load, from its start; `nil` is no limit.
public struct Timeouts: Hashable, Sendable {
    /// The longest time without any event while the caller is ready to take one (a paused load does not count).
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
    /// A stored response of any age, else an error (`only-if-cached`).
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
package struct RequestMark: Hashable, Sendable {
    package let handler: String
    package let url: URLRecord

    package init(handler: String, url: URLRecord) {
        self.handler = handler
        self.url = url
    }
}
