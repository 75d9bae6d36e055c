// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport

extension ScriptedServer {
    /// A script with one request and one response, after which the server closes the connection.
    ///
    /// - Parameter fields: header lines without line ends.
    static func response(_ status: String, _ fields: [String] = [], _ body: String = "") -> [Step] {
        let lines = ["HTTP/1.1 \(status)", "Connection: close", "Content-Length: \(body.utf8.count)"] + fields
        return responding(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
    }

    /// A script with one request and a response whose body ends too early.
    ///
    /// - Parameter length: the declared length of the body, in bytes.
    static func cutShort(_ body: String, of length: Int, _ fields: [String] = []) -> [Step] {
        let lines = ["HTTP/1.1 200 OK", "Content-Length: \(length)"] + fields
        return [.receiveHead, .send(text: lines.joined(separator: "\r\n") + "\r\n\r\n" + body), .halfClose]
    }

    /// The lines that each connection received, including the body.
    var requests: [[String]] {
        connections.map { $0.text.components(separatedBy: "\r\n") }
    }
}
