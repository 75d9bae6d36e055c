// SPDX-License-Identifier: Apache-2.0

/// What comes before a body.
public struct PluginResponse: Hashable, Sendable {
    /// Whether the response may be kept.
    public enum Storage: Int32, Sendable {
        case notAllowed
        case inMemoryOnly
        case allowed
    }

    /// 0 where the protocol has none; 100 to 199 only for an interim one.
    public var status: Int32
    /// Where it really came from, absolute; `nil`: the request's URL.
    public var url: String?
    /// Without parameters, as in `text/plain`; `nil`: unknown.
    public var mimeType: String?
    /// The charset, as in `utf-8`.
    public var textEncoding: String?
    /// A file name for saving, no path. The host makes it safe.
    public var suggestedName: String?
    /// How many body bytes will be delivered; `nil` where that is not known.
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
    /// - Throws: ``PluginError/Code/badResponse``, where the host would end the load for a rule that is broken (BODY-02, BODY-09, SEC-08).
    func check(isInterim: Bool) throws(PluginError) {
        guard isInterim ? (100...199).contains(status) : status == 0 || (200...999).contains(status) else {
            throw PluginError(
                .badResponse, message: "the status \(status) is none of \(isInterim ? "an interim response" : "a response")")
        }
        if let mimeType, !Syntax.isMediaType(mimeType) {
            throw PluginError(.badResponse, message: "the response's MIME type is not of the form type/subtype, without parameters")
        }
        if let textEncoding, !Syntax.isToken(textEncoding) {
            throw PluginError(.badResponse, message: "the response's charset is no token; write it as in utf-8")
        }
        if let expectedLength, expectedLength < 0 {
            throw PluginError(.badResponse, message: "the response's length is \(expectedLength); give 0 or more, or nil")
        }
        try fields.check()
    }
}

extension [PluginField] {
    /// - Throws: ``PluginError/Code/badResponse`` for what the host would refuse (SEC-08).
    func check() throws(PluginError) {
        guard count <= 1024 else {
            throw PluginError(.badResponse, message: "\(count) fields are more than the 1024 that a message may have")
        }
        for field in self where !field.isWellFormed {
            throw PluginError(.badResponse, message: "the field '\(Syntax.oneLine(String(field.name.prefix(80))))' is malformed")
        }
    }
}

/// A point that a load passes on its way, for its metrics.
public enum PluginStep: Int32, CaseIterable, CustomStringConvertible, Sendable {
    case nameFound = 1
    case connected, secured, reused, requestSent, firstByte

    /// The case's name, which a library without reflection metadata could not tell.
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
