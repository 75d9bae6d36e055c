// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// Metadata of a response, delivered before its bytes.
///
/// A value: a change to one copy affects no other.
public struct Response: Sendable {
    /// The parts, shared between copies until one is changed, as in a ``Request``. Each client of the chain may keep
    /// the response.
    private var parts: Parts

    /// The actual source of the bytes, after redirects.
    public var url: URLRecord {
        get { parts.url }
        set { ownParts.url = newValue }
    }
    public var mimeType: MIMEType? {
        get { parts.mimeType }
        set { ownParts.mimeType = newValue }
    }
    /// The label of the text encoding, as its source gave it: the MIME type's `charset`, or what the protocol specifies
    /// elsewhere.
    public var textEncodingName: String? {
        get { parts.textEncodingName }
        set { ownParts.textEncodingName = newValue }
    }
    /// Bytes of body to come; `nil` if the protocol does not specify them. A load whose body has a different length
    /// fails (BODY-02).
    public var expectedLength: Int64? {
        get { parts.expectedLength }
        set { ownParts.expectedLength = newValue }
    }
    /// `nil` if the protocol has no status.
    public var status: HTTPResponse.Status? {
        get { parts.status }
        set { ownParts.status = newValue }
    }
    public var fields: HTTPFields {
        get { parts.fields }
        set { ownParts.fields = newValue }
    }
    /// The content codings that the body's bytes still have, in the order in which they were applied and in lower case.
    /// All of them if one is unknown here, or if they were to be kept. None if they were decoded, although the field
    /// Content-Encoding still names them.
    public var remainingContentCodings: [String] {
        get { parts.remainingContentCodings }
        set { ownParts.remainingContentCodings = newValue }
    }

    /// Whether the response came over a secure connection whose certificate was trusted without an exception.
    package var isVerified: Bool {
        get { parts.isVerified }
        set { ownParts.isVerified = newValue }
    }

    public init(
        url: URLRecord, mimeType: MIMEType? = nil, textEncodingName: String? = nil, expectedLength: Int64? = nil,
        suggestedFilename: String? = nil, status: HTTPResponse.Status? = nil, fields: HTTPFields = HTTPFields()
    ) {
        parts = Parts(
            url: url, mimeType: mimeType, textEncodingName: textEncodingName ?? mimeType?.charset, expectedLength: expectedLength,
            givenFilename: suggestedFilename, status: status, fields: fields)
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
        var givenFilename: String?
        var status: HTTPResponse.Status?
        var fields: HTTPFields
        var remainingContentCodings: [String] = []
        var isVerified = false

        init(
            url: URLRecord, mimeType: MIMEType?, textEncodingName: String?, expectedLength: Int64?, givenFilename: String?,
            status: HTTPResponse.Status?, fields: HTTPFields
        ) {
            self.url = url
            self.mimeType = mimeType
            self.textEncodingName = textEncodingName
            self.expectedLength = expectedLength
            self.givenFilename = givenFilename
            self.status = status
            self.fields = fields
        }

        convenience init(copying other: Parts) {
            self.init(
                url: other.url, mimeType: other.mimeType, textEncodingName: other.textEncodingName, expectedLength: other.expectedLength,
                givenFilename: other.givenFilename, status: other.status, fields: other.fields)
            remainingContentCodings = other.remainingContentCodings
            isVerified = other.isVerified
        }
    }

    /// A name under which the body can be saved in a folder: never empty, never with a `/` or a control character,
    /// never `.` or `..`, at most 255 bytes.
    ///
    /// The handler's suggestion, otherwise the last component of the URL's path, otherwise `download`.
    public var suggestedFilename: String {
        SafeFilename(parts.givenFilename ?? Self.lastComponent(of: url)).text
    }

    /// The handler's suggestion, unchanged.
    package var givenFilename: String? {
        get { parts.givenFilename }
        set { ownParts.givenFilename = newValue }
    }

    /// The handler's suggestion alone, made safe like ``suggestedFilename``; `nil` if there is none.
    package var proposedFilename: String? { parts.givenFilename.map { SafeFilename($0).text } }

    private static func lastComponent(of url: URLRecord) -> String {
        guard !url.hasOpaquePath, let last = url.path.split(separator: "/").last else { return "" }
        return PercentEncoding.decode(last)
    }
}

/// Whether a cache may store a response.
public enum CacheStoragePolicy: Int32, Hashable, Sendable, CaseIterable {
    case notAllowed = 0
    case allowedInMemoryOnly
    case allowed
}

/// A response from a cache, offered to a handler so that the handler can ask whether it is still valid.
///
/// The body stays behind a reader: it is never completely in memory.
public struct CachedResponse: Sendable {
    public var response: Response
    public var body: Body

    public init(response: Response, body: Body) {
        self.response = response
        self.body = body
    }
}
