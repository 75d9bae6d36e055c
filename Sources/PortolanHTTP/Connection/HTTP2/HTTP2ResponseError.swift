// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTPSyntax

/// An error in a response over HTTP/2. The response and its stream fail, and the connection continues.
///
/// RFC 9113 §8.1.1
struct HTTP2ResponseError: Error, Equatable, Sendable {
    let rule: Rule
    /// The name or value that breaks the rule, escaped and shortened; empty if there is nothing to show.
    let excerpt: String

    init(_ rule: Rule) {
        self.rule = rule
        excerpt = ""
    }

    init(_ rule: Rule, _ text: String) { self.init(rule, text.utf8.span) }

    init(_ rule: Rule, _ octets: Span<UInt8>) {
        self.rule = rule
        excerpt = ResponseSyntaxError(.fieldValue, octets).excerpt
    }

    enum Rule: Hashable, CaseIterable, Sendable {
        case fieldName
        case fieldValue
        case connectionField
        case unknownPseudoField
        case repeatedPseudoField
        case latePseudoField
        case pseudoFieldInTrailers
        case noStatus
        case status
        case unrequestedUpgrade
        case endInInterimResponse
        case contentBeforeHead
        case openTrailers
        case contentLength
        case contentLengthsDiffer
        case unexpectedContent
        case tooMuchContent
        case tooLittleContent
        // Portolan's own limits
        case tooManyInterimResponses
        case fieldLineTooLong
        case tooManyFields
        case fieldSectionTooLarge
        case trailerSectionTooLarge
    }
}

extension HTTP2ResponseError.Rule {
    var code: LoadError.Code {
        switch self {
        case .fieldName, .fieldValue, .connectionField, .unknownPseudoField, .repeatedPseudoField, .latePseudoField,
            .pseudoFieldInTrailers, .noStatus, .status, .unrequestedUpgrade, .endInInterimResponse, .contentBeforeHead, .openTrailers,
            .contentLength, .contentLengthsDiffer, .unexpectedContent, .tooMuchContent:
            .badResponse
        case .tooLittleContent: .truncated
        case .tooManyInterimResponses, .fieldLineTooLong, .tooManyFields, .fieldSectionTooLarge, .trailerSectionTooLarge: .limitExceeded
        }
    }

    /// The section that contains the rule.
    var section: String {
        switch self {
        case .fieldName, .fieldValue: "RFC 9113 §8.2.1"
        case .connectionField: "RFC 9113 §8.2.2"
        case .unknownPseudoField, .repeatedPseudoField, .latePseudoField: "RFC 9113 §8.3"
        case .noStatus, .status: "RFC 9113 §8.3.2"
        case .unrequestedUpgrade: "RFC 9113 §8.6"
        case .pseudoFieldInTrailers, .endInInterimResponse, .contentBeforeHead, .openTrailers: "RFC 9113 §8.1"
        case .unexpectedContent, .tooMuchContent, .tooLittleContent: "RFC 9113 §8.1.1"
        case .contentLength, .contentLengthsDiffer: "RFC 9110 §8.6"
        case .tooManyInterimResponses: "RFC 9110 §15.2"
        case .fieldLineTooLong, .tooManyFields, .fieldSectionTooLarge, .trailerSectionTooLarge: "RFC 9110 §5.4"
        }
    }

    /// What is wrong with the response, as a clause of a message.
    var problem: String {
        switch self {
        case .fieldName: "a field name is not a lower-case token"
        case .fieldValue: "a field value has a NUL, CR or LF, or begins or ends with a blank"
        case .connectionField: "a connection-specific field was sent"
        case .unknownPseudoField: "a pseudo-field was sent that responses do not have"
        case .repeatedPseudoField: "a pseudo-field was sent twice"
        case .latePseudoField: "a pseudo-field comes after other fields"
        case .pseudoFieldInTrailers: "the trailers have a pseudo-field"
        case .noStatus: "the response has no :status"
        case .status: "the status is not a number with three digits"
        case .unrequestedUpgrade: "the status is 101, which HTTP/2 does not have"
        case .endInInterimResponse: "the stream ended with an interim response (1xx)"
        case .contentBeforeHead: "content came before the head of the response"
        case .openTrailers: "fields came within the content, and the stream did not end with them"
        case .contentLength: "Content-Length is not a number of bytes"
        case .contentLengthsDiffer: "Content-Length is given with different values"
        case .unexpectedContent: "content came with a response that may not have any"
        case .tooMuchContent: "more content came than Content-Length says"
        case .tooLittleContent: "less content came than Content-Length says"
        case .tooManyInterimResponses: "too many interim responses (1xx) came before the final one"
        case .fieldLineTooLong: "a field is too long"
        case .tooManyFields: "there are too many fields"
        case .fieldSectionTooLarge: "the fields take too many bytes"
        case .trailerSectionTooLarge: "the trailers take too many bytes"
        }
    }

    var remedy: ResponseRemedy {
        switch self {
        case .tooManyInterimResponses: .raiseLimit("HTTPLimits.maximumInterimResponsesPerResponse")
        case .fieldLineTooLong: .raiseLimit("HTTPLimits.maximumFieldLineBytes")
        case .tooManyFields: .raiseLimit("HTTPLimits.maximumFieldCount")
        case .fieldSectionTooLarge: .raiseLimit("HTTPLimits.maximumFieldSectionBytes")
        case .trailerSectionTooLarge: .raiseLimit("HTTPLimits.maximumTrailerSectionBytes")
        case .tooLittleContent: .advice("load it again")
        case .fieldName, .fieldValue, .connectionField, .unknownPseudoField, .repeatedPseudoField, .latePseudoField,
            .pseudoFieldInTrailers, .noStatus, .status, .unrequestedUpgrade, .endInInterimResponse, .contentBeforeHead, .openTrailers,
            .contentLength, .contentLengthsDiffer, .unexpectedContent, .tooMuchContent:
            .advice("the server, or a proxy in front of it, must be fixed")
        }
    }
}

extension HTTP2ResponseError: CustomStringConvertible {
    var description: String {
        let received = excerpt.isEmpty ? "" : ", received \(excerpt)"
        return "\(rule.problem)\(received) (\(rule.section)); \(rule.remedy.phrase)"
    }

    /// The error for the caller of the load.
    var loadError: LoadError {
        var error = LoadError(rule.code, message: description, underlyingError: self)
        error.remedy = rule.remedy.loadErrorRemedy
        return error
    }
}
