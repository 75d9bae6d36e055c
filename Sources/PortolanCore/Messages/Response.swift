// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// What a handler says of a resource before its bytes.
public struct Response: Sendable {
    /// Where the bytes really come from, after redirects.
    public var url: URLRecord
    public var mimeType: MIMEType?
    /// The text encoding's label as its source gave it: the MIME type's `charset`, or what the protocol says elsewhere.
    public var textEncodingName: String?
    /// Bytes of body to come; `nil` where the protocol does not say. A load whose body differs fails (BODY-02).
    public var expectedLength: Int64?
    /// `nil` where the protocol has no status.
    public var status: HTTPResponse.Status?
    public var fields: HTTPFields
    /// The content codings that the body's bytes still carry, in the order in which they were applied and in lower case: those that are unknown here, or were
    /// to be kept. The others were undone before, though the field Content-Encoding goes on naming them.
    public var remainingContentCodings: [String] = []
    private var givenFilename: String?

    public init(
        url: URLRecord, mimeType: MIMEType? = nil, textEncodingName: String? = nil, expectedLength: Int64? = nil,
        suggestedFilename: String? = nil, status: HTTPResponse.Status? = nil, fields: HTTPFields = HTTPFields()
    ) {
        self.url = url
        self.mimeType = mimeType
        self.textEncodingName = textEncodingName ?? mimeType?.charset
        self.expectedLength = expectedLength
        self.status = status
        self.fields = fields
        givenFilename = suggestedFilename
    }

    /// A name under which the body can be saved in a folder: never empty, never with a `/` or a control character, never `.` or `..`,
    /// at most 255 bytes.
    ///
    /// The handler's suggestion, else the last component of the URL's path, else `download`.
    public var suggestedFilename: String {
        SafeFilename(givenFilename ?? Self.lastComponent(of: url)).text
    }

    private static func lastComponent(of url: URLRecord) -> String {
        guard !url.hasOpaquePath, let last = url.path.split(separator: "/").last else { return "" }
        return PercentEncoding.decode(last)
    }
}

/// Whether a cache may keep a response.
public enum CacheStoragePolicy: Int32, Hashable, Sendable, CaseIterable {
    case notAllowed = 0
    case allowedInMemoryOnly
    case allowed
}

/// A response from a cache, offered to a handler so that it can ask whether it is still right.
///
/// The body stays behind a reader: it is never one value in memory.
public struct CachedResponse: Sendable {
    public var response: Response
    public var body: Body

    public init(response: Response, body: Body) {
        self.response = response
        self.body = body
    }
}
