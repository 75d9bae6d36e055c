// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServerSupport

extension ScriptedServer {
    /// A script of one exchange, with which the connection ends.
    ///
    /// - Parameter fields: lines without their ends.
    static func answer(_ status: String, _ fields: [String] = [], _ body: String = "") -> [Step] {
        let lines = ["HTTP/1.1 \(status)", "Connection: close", "Content-Length: \(body.utf8.count)"] + fields
        return answering(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
    }

    /// Announces more than it sends.
    static func cutShort(_ body: String, of length: Int, _ fields: [String] = []) -> [Step] {
        let lines = ["HTTP/1.1 200 OK", "Content-Length: \(length)"] + fields
        return [.receiveHead, .send(text: lines.joined(separator: "\r\n") + "\r\n\r\n" + body), .halfClose]
    }

    /// What each connection brought, in lines; of the first one alone where only that matters.
    var requests: [[String]] {
        connections.map { $0.text.components(separatedBy: "\r\n") }
    }
}
