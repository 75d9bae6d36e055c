// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

extension ResponseSyntaxError {
    /// A rule of HTTP, or a limit of ``HTTPLimits``, that a response can break.
    package enum Rule: Sendable, Hashable, CaseIterable {
        // The status line
        case notHTTP
        /// The response is a TLS record. A server that expects TLS on this port sends one.
        case tlsResponse
        case version
        case statusLine
        case statusLineTooLong
        // Fields
        case blankBeforeFirstField
        case missingColon
        case fieldName
        case fieldValue
        case fieldLineTooLong
        case tooManyFields
        case fieldSectionTooLarge
        case trailerSectionTooLarge
        // Framing
        case contentLength
        case contentLengthsDiffer
        case transferEncoding
        case chunkedTwice
        case chunkedNotLast
        case unknownCoding
        case tooManyCodings
        case codingParameter
        case unrequestedUpgrade
        case tooManyInterimResponses
        // Chunks
        case chunkSize
        case chunkSizeTooLarge
        case chunkExtension
        case chunkExtensionsTooLong
        case chunkEnd
        // The connection's end
        case noResponse
        case cutInHead
        case cutInBody
    }
}

extension ResponseSyntaxError.Rule {
    /// The section that contains the rule.
    var section: String {
        switch self {
        case .notHTTP, .tlsResponse, .statusLine: "RFC 9112 §4"
        case .version: "RFC 9110 §2.5"
        case .statusLineTooLong, .fieldLineTooLong, .tooManyFields, .fieldSectionTooLarge, .trailerSectionTooLarge: "RFC 9110 §5.4"
        case .blankBeforeFirstField: "RFC 9112 §2.2"
        case .missingColon: "RFC 9112 §5"
        case .fieldName: "RFC 9110 §5.1"
        case .fieldValue: "RFC 9110 §5.5"
        case .contentLength, .contentLengthsDiffer: "RFC 9112 §6.3"
        case .transferEncoding, .chunkedTwice, .chunkedNotLast, .unknownCoding, .tooManyCodings: "RFC 9112 §6.1"
        case .codingParameter: "RFC 9112 §7"
        case .unrequestedUpgrade: "RFC 9110 §15.2.2"
        case .tooManyInterimResponses: "RFC 9110 §15.2"
        case .chunkSize, .chunkSizeTooLarge, .chunkEnd: "RFC 9112 §7.1"
        case .chunkExtension, .chunkExtensionsTooLong: "RFC 9112 §7.1.1"
        case .noResponse, .cutInHead, .cutInBody: "RFC 9112 §8"
        }
    }

    package var code: LoadError.Code {
        switch self {
        case .statusLineTooLong, .fieldLineTooLong, .tooManyFields, .fieldSectionTooLarge, .trailerSectionTooLarge,
            .tooManyInterimResponses, .chunkExtensionsTooLong:
            .limitExceeded
        case .noResponse: .emptyResponse
        case .cutInHead, .cutInBody: .truncated
        case .unknownCoding, .tooManyCodings: .decodingFailed
        case .notHTTP, .tlsResponse, .version, .statusLine, .blankBeforeFirstField, .missingColon, .fieldName, .fieldValue,
            .contentLength,
            .contentLengthsDiffer, .transferEncoding, .chunkedTwice, .chunkedNotLast, .codingParameter, .unrequestedUpgrade, .chunkSize,
            .chunkSizeTooLarge, .chunkExtension, .chunkEnd:
            .badResponse
        }
    }

    /// The error, as a clause of a message.
    var problem: String {
        switch self {
        case .notHTTP: "the server does not respond in HTTP/1"
        case .tlsResponse: "the server responds with TLS"
        case .version: "the server responds in a version of HTTP that is not 1.0 or 1.1"
        case .statusLine: "the status line is malformed"
        case .statusLineTooLong: "the status line is too long"
        case .blankBeforeFirstField: "the first field line starts with a blank"
        case .missingColon: "a field line has no colon"
        case .fieldName: "a field name is empty or not a token"
        case .fieldValue: "a field value has a NUL or a lone CR"
        case .fieldLineTooLong: "a field line is too long"
        case .tooManyFields: "there are too many fields"
        case .fieldSectionTooLarge: "the fields take too many bytes"
        case .trailerSectionTooLarge: "the trailers take too many bytes"
        case .contentLength: "Content-Length is not a number of bytes"
        case .contentLengthsDiffer: "Content-Length is given with different values"
        case .transferEncoding: "Transfer-Encoding is not a list of codings"
        case .chunkedTwice: "Transfer-Encoding says chunked twice"
        case .chunkedNotLast: "Transfer-Encoding says chunked, and chunked is not the last coding"
        case .unknownCoding: "Transfer-Encoding names a coding that is unknown here (chunked, gzip and deflate are known)"
        case .tooManyCodings: "Transfer-Encoding names more than 16 codings"
        case .codingParameter: "a transfer coding has a parameter, and none is defined"
        case .unrequestedUpgrade: "the server switches to another protocol (101), and was not asked to"
        case .tooManyInterimResponses: "too many interim responses (1xx) came before the final one"
        case .chunkSize: "a chunk does not start with its size as hexadecimal digits and CR LF"
        case .chunkSizeTooLarge: "the size of a chunk is too large"
        case .chunkExtension: "a chunk extension is malformed"
        case .chunkExtensionsTooLong: "the chunk extensions take too many bytes"
        case .chunkEnd: "a chunk is not followed by CR LF"
        case .noResponse: "the server closed the connection without a response"
        case .cutInHead: "the connection ended within the head of the response"
        case .cutInBody: "the connection ended before the body did"
        }
    }

    var remedy: ResponseRemedy {
        switch self {
        case .statusLineTooLong: .raiseLimit("HTTPLimits.maximumStatusLineBytes")
        case .fieldLineTooLong: .raiseLimit("HTTPLimits.maximumFieldLineBytes")
        case .tooManyFields: .raiseLimit("HTTPLimits.maximumFieldCount")
        case .fieldSectionTooLarge: .raiseLimit("HTTPLimits.maximumFieldSectionBytes")
        case .trailerSectionTooLarge: .raiseLimit("HTTPLimits.maximumTrailerSectionBytes")
        case .tooManyInterimResponses: .raiseLimit("HTTPLimits.maximumInterimResponsesPerResponse")
        case .chunkExtensionsTooLong: .raiseLimit("HTTPLimits.maximumChunkExtensionBytes or maximumChunkExtensionBytesPerBody")
        case .notHTTP, .version: .advice("check that host and port are those of an HTTP server")
        case .tlsResponse: .advice("use https:")
        case .noResponse, .cutInHead, .cutInBody: .advice("load it again")
        case .statusLine, .blankBeforeFirstField, .missingColon, .fieldName, .fieldValue, .contentLength, .contentLengthsDiffer,
            .transferEncoding, .chunkedTwice, .chunkedNotLast, .unknownCoding, .tooManyCodings, .codingParameter, .unrequestedUpgrade,
            .chunkSize, .chunkSizeTooLarge, .chunkExtension, .chunkEnd:
            .advice("the server, or a proxy in front of it, must be fixed")
        }
    }
}
