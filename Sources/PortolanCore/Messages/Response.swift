// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// Metadata of a response. It is delivered before the body.
///
/// A value type: a change to one copy does not affect other copies.
public struct Response: Sendable {
    /// The values, which copies share until one copy is changed (copy-on-write), as in a ``Request``.
    private var parts: Parts

    /// The URL from which the body comes, after redirects.
    public var url: URLRecord {
        get { parts.url }
        set { ownParts.url = newValue }
    }
    public var mimeType: MIMEType? {
        get { parts.mimeType }
        set { ownParts.mimeType = newValue }
    }
    /// The label of the text encoding: the `charset` of the MIME type, or a label from another part of the protocol.
    public var textEncodingName: String? {
        get { parts.textEncodingName }
        set { ownParts.textEncodingName = newValue }
    }
    /// The length of the body in bytes; `nil` if it is unknown. If the body has another length, the load fails
    /// (BODY-02).
    public var expectedLength: Int64? {
        get { parts.expectedLength }
        set { ownParts.expectedLength = newValue }
    }
    /// The HTTP status; `nil` if the protocol has none.
    public var status: HTTPResponse.Status? {
        get { parts.status }
        set { ownParts.status = newValue }
    }
    public var fields: HTTPFields {
        get { parts.fields }
        set { ownParts.fields = newValue }
    }
    /// The content codings that were not decoded, in the order in which they were applied, in lower case. Empty if the
    /// body was decoded, although the field Content-Encoding still names the codings. If one coding is unknown, or if
    /// decoding is disabled, the list contains all codings.
    public var remainingContentCodings: [String] {
        get { parts.remainingContentCodings }
        set { ownParts.remainingContentCodings = newValue }
    }

    /// Whether the response came over TLS and the default handling trusted the server's certificate.
    package var isVerified: Bool {
        get { parts.isVerified }
        set { ownParts.isVerified = newValue }
    }

    /// The protection space of the response's challenge, if the load answers this challenge without its client, with a
    /// credential that it has sent before, for example by Basic; otherwise `nil`.
    package var answeredSpace: ProtectionSpace? {
        get { parts.answeredSpace }
        set { ownParts.answeredSpace = newValue }
    }

    /// Whether the response is one part of a body, such as of `multipart/x-mixed-replace`.
    package var isBodyPart: Bool {
        get { parts.isBodyPart }
        set { ownParts.isBodyPart = newValue }
    }

    /// Where the response comes from.
    public package(set) var source: ResponseSource {
        get { parts.source }
        set { ownParts.source = newValue }
    }

    /// The version in the status line, such as `1.1` or `2`; `nil` for another protocol than HTTP, and for a response
    /// of a cache.
    package var httpVersion: String? {
        get { parts.httpVersion }
        set { ownParts.httpVersion = newValue }
    }

    /// The value of `Response.cacheStatus` in PortolanCache.
    package var anyCacheStatus: (any Sendable)? {
        get { parts.anyCacheStatus }
        set { ownParts.anyCacheStatus = newValue }
    }

    /// The texts that the delegate has stored with the response (``CacheableResponse/userInfo``). Empty if the response
    /// does not come from the cache.
    public package(set) var cacheUserInfo: [String: String] {
        get { parts.cacheUserInfo }
        set { ownParts.cacheUserInfo = newValue }
    }

    public init(
        url: URLRecord, mimeType: MIMEType? = nil, textEncodingName: String? = nil, expectedLength: Int64? = nil,
        suggestedFilename: String? = nil, status: HTTPResponse.Status? = nil, fields: HTTPFields = HTTPFields()
    ) {
        parts = Parts(
            url: url, mimeType: mimeType, textEncodingName: textEncodingName ?? mimeType?.charset, expectedLength: expectedLength,
            unsanitizedFilename: suggestedFilename, status: status, fields: fields)
    }

    private var ownParts: Parts {
        mutating get {
            if !isKnownUniquelyReferenced(&parts) { parts = Parts(copying: parts) }
            return parts
        }
    }

    private final class Parts: @unchecked Sendable {  // … because a change is made only to parts that one response owns
        var url: URLRecord
        var mimeType: MIMEType?
        var textEncodingName: String?
        var expectedLength: Int64?
        var unsanitizedFilename: String?
        var status: HTTPResponse.Status?
        var fields: HTTPFields
        var remainingContentCodings: [String] = []
        var isVerified = false
        var answeredSpace: ProtectionSpace?
        var isBodyPart = false
        var source = ResponseSource.network
        var httpVersion: String?
        var anyCacheStatus: (any Sendable)?
        var cacheUserInfo: [String: String] = [:]

        init(
            url: URLRecord, mimeType: MIMEType?, textEncodingName: String?, expectedLength: Int64?, unsanitizedFilename: String?,
            status: HTTPResponse.Status?, fields: HTTPFields
        ) {
            self.url = url
            self.mimeType = mimeType
            self.textEncodingName = textEncodingName
            self.expectedLength = expectedLength
            self.unsanitizedFilename = unsanitizedFilename
            self.status = status
            self.fields = fields
        }

        convenience init(copying other: Parts) {
            self.init(
                url: other.url, mimeType: other.mimeType, textEncodingName: other.textEncodingName, expectedLength: other.expectedLength,
                unsanitizedFilename: other.unsanitizedFilename, status: other.status, fields: other.fields)
            remainingContentCodings = other.remainingContentCodings
            isVerified = other.isVerified
            answeredSpace = other.answeredSpace
            isBodyPart = other.isBodyPart
            source = other.source
            httpVersion = other.httpVersion
            anyCacheStatus = other.anyCacheStatus
            cacheUserInfo = other.cacheUserInfo
        }
    }

    /// A safe name for a file with the body: not empty, not `.` or `..`, without `/` and control characters, at most
    /// 255 bytes.
    ///
    /// The name is the handler's suggestion; if there is none, the last component of the URL's path, or `download`.
    public var suggestedFilename: String {
        SafeFilename(parts.unsanitizedFilename ?? Self.lastComponent(of: url)).text
    }

    /// The file name that the handler suggested, unchanged.
    package var unsanitizedFilename: String? {
        get { parts.unsanitizedFilename }
        set { ownParts.unsanitizedFilename = newValue }
    }

    /// The file name that the handler suggested, made safe like ``suggestedFilename``; `nil` if there is none.
    package var proposedFilename: String? { parts.unsanitizedFilename.map { SafeFilename($0).text } }

    private static func lastComponent(of url: URLRecord) -> String {
        guard !url.hasOpaquePath, let last = url.path.split(separator: "/").last else { return "" }
        return PercentEncoding.decode(last)
    }
}

extension Response {
    /// The status of an interim response that reports the progress of an upload
    /// (draft-ietf-httpbis-resumable-upload-12 §5).
    package static let uploadProgressStatus = 104
    /// The limit of such responses: 512 times the one of other interim responses.
    package static func uploadProgressLimit(_ limit: Int) -> Int { limit > Int.max / 512 ? .max : limit * 512 }
}

/// Where a response comes from.
public enum ResponseSource: String, Hashable, Sendable {
    case network
    /// From the cache, without a request.
    case cache
    /// From the cache, after the source confirmed that it is still valid.
    case validated
}

/// Whether a cache may store a response.
public enum CacheStoragePolicy: Int32, Hashable, Sendable, CaseIterable {
    case notAllowed = 0
    case allowedInMemoryOnly
    case allowed
}

/// A response from a cache. A handler receives it to ask the source whether the response is still valid.
///
/// The body is read in pieces and is never completely in memory.
public struct CachedResponse: Sendable {
    public var response: Response
    public var body: Body

    public init(response: Response, body: Body) {
        self.response = response
        self.body = body
    }
}
