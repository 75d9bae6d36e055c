// SPDX-License-Identifier: Apache-2.0

/// Metadata of a response.
public struct PluginResponse: Hashable, Sendable {
    /// Whether a cache may store the response.
    public enum Storage: Int32, Sendable {
        case notAllowed
        case inMemoryOnly
        case allowed
    }

    /// 0 if the protocol has no status. 100 to 199 only for an interim response.
    public var status: Int32
    /// The absolute URL of the response. `nil` for the request's URL.
    public var url: String?
    /// Without parameters, as in `text/plain`. `nil` if unknown.
    public var mimeType: String?
    /// The charset, as in `utf-8`. `nil` if unknown or not text.
    public var textEncoding: String?
    /// A file name for saving, not a path. The host sanitizes it.
    public var suggestedName: String?
    /// The number of body bytes that follow. `nil` if unknown.
    public var expectedLength: Int64?
    public var fields: [PluginField]
    public var storage: Storage

    public init(
        status: Int32 = 0, url: String? = nil, mimeType: String? = nil, textEncoding: String? = nil, suggestedName: String? = nil,
        expectedLength: Int64? = nil, fields: [PluginField] = [], storage: Storage = .notAllowed
    ) {
        self.status = status
        self.url = url
        self.mimeType = mimeType
        self.textEncoding = textEncoding
        self.suggestedName = suggestedName
        self.expectedLength = expectedLength
        self.fields = fields
        self.storage = storage
    }
}

extension PluginResponse {
    /// - Throws: ``PluginError/Code/badResponse`` if the host would reject the response (BODY-02, BODY-09, SEC-08).
    func check(isInterim: Bool) throws(PluginError) {
        guard isInterim ? (100...199).contains(status) : status == 0 || (200...999).contains(status) else {
            throw PluginError(
                .badResponse, message: "the status \(status) is not valid for \(isInterim ? "an interim response" : "a response")")
        }
        if let mimeType, !Syntax.isMediaType(mimeType) {
            throw PluginError(
                .badResponse, message: "the response's MIME type is not of the form type/subtype without parameters, which breaks BODY-09")
        }
        if let textEncoding, !Syntax.isToken(textEncoding) {
            throw PluginError(.badResponse, message: "the response's charset is not a token, which breaks BODY-09; write one like utf-8")
        }
        if let expectedLength, expectedLength < 0 {
            throw PluginError(
                .badResponse, message: "the response's expectedLength is \(expectedLength), which breaks BODY-02; give 0 or more, or nil")
        }
        try fields.check()
    }
}

extension [PluginField] {
    /// - Throws: ``PluginError/Code/badResponse`` if the host would reject a field (SEC-08).
    func check() throws(PluginError) {
        guard count <= 1024 else {
            throw PluginError(.badResponse, message: "\(count) fields are more than the 1024 that a message may have")
        }
        for field in self where !field.isWellFormed {
            throw PluginError(.badResponse, message: "the field '\(Syntax.oneLine(String(field.name.prefix(80))))' is malformed")
        }
    }
}

/// A step of a load, for its metrics.
public enum PluginStep: Int32, CaseIterable, CustomStringConvertible, Sendable {
    case nameFound = 1
    case connected, secured, reused, requestSent, firstByte

    /// The name of the case. Written out, because a library without reflection metadata cannot derive it.
    public var description: String {
        switch self {
        case .nameFound: "nameFound"
        case .connected: "connected"
        case .secured: "secured"
        case .reused: "reused"
        case .requestSent: "requestSent"
        case .firstByte: "firstByte"
        }
    }
}
