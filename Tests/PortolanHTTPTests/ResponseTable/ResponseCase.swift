// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

/// The bytes that a server sends on a new connection before it closes the connection, and the expected outcome.
struct ResponseCase: Sendable, CustomTestStringConvertible {
    /// The response that the client must deliver.
    struct ExpectedResponse: Sendable {
        var status: Int
        var body: [UInt8]
        /// Whether the next request can use the same connection.
        var isReusable: Bool
        /// The name and value of each field, in order, in ISO-8859-1; `nil` if the test accepts any fields.
        var fields: [[String]]?
        var trailers: [[String]]
        /// The statuses of the interim responses.
        var interim: [Int]
        /// Whether the body ends when the server closes the connection.
        var endsAtClose: Bool
    }

    enum Outcome: Sendable {
        case response(ExpectedResponse)
        case failure(LoadError.Code)
    }

    let name: String
    /// The section of the RFC, as in `9112 §4`.
    let section: String
    /// The method of the request.
    let method: HTTPRequest.Method
    let bytes: [UInt8]
    let outcome: Outcome

    var testDescription: String { "\(section): \(name)" }

    /// - Parameter text: each character is one byte.
    init(_ section: String, _ name: String, _ text: String, _ outcome: Outcome, method: HTTPRequest.Method = .get) {
        self.name = name
        self.section = section
        self.method = method
        bytes = text.latin1
        self.outcome = outcome
    }
}

extension ResponseCase.Outcome {
    /// A response that ends before the connection does. The connection can be reused.
    static func reusable(
        _ status: Int = 200, _ body: String = "", fields: [[String]]? = nil, trailers: [[String]] = [], interim: [Int] = []
    ) -> Self {
        .response(
            .init(
                status: status, body: body.latin1, isReusable: true, fields: fields, trailers: trailers, interim: interim,
                endsAtClose: false))
    }

    /// A response that ends before the connection does. The connection cannot be reused.
    static func notReusable(
        _ status: Int = 200, _ body: String = "", fields: [[String]]? = nil, trailers: [[String]] = [], interim: [Int] = []
    ) -> Self {
        .response(
            .init(
                status: status, body: body.latin1, isReusable: false, fields: fields, trailers: trailers, interim: interim,
                endsAtClose: false)
        )
    }

    /// A response that ends with the connection.
    static func untilClose(_ status: Int = 200, _ body: String = "", fields: [[String]]? = nil, interim: [Int] = []) -> Self {
        .response(
            .init(status: status, body: body.latin1, isReusable: false, fields: fields, trailers: [], interim: interim, endsAtClose: true))
    }

    /// The client reports a violation of the RFC's grammar or rules.
    static let bad = Self.failure(.badResponse)
    /// The client cannot decode the content.
    static let undecodable = Self.failure(.decodingFailed)
}

extension String {
    /// The bytes of the text in ISO-8859-1.
    var latin1: [UInt8] { unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
}

/// Responses for two tests: one of the parsers, and one of connections over real sockets.
enum ResponseTable {
    static let all = statusLines + fields + contentLengths + transferEncodings + chunks + withoutBody + connections + interim
}
