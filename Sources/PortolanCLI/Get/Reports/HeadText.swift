// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanTrace

/// The head of a response as text: the status, if there is one, then a line for each field, and an empty line.
///
///     200 OK
///     content-type: text/plain
///     content-length: 12
///
/// If a property of the response, such as its length, is in no field, a field is added for it.
struct HeadText {
    let lines: [String]

    init(_ response: Response) {
        var fields = FieldList(of: response)
        fields.addLength(of: response)
        var lines: [String] = []
        if let status = response.status { lines.append(status.line) }
        lines += fields.pairs.map { "\($0.name): \($0.value)" }
        self.lines = lines
    }

    /// - Parameter forTerminal: whether control characters are escaped, so that none of them acts on the terminal.
    func text(forTerminal: Bool) -> String {
        lines.map { (forTerminal ? PlainText.line($0) : $0) + "\n" }.joined() + "\n"
    }
}

extension HTTPResponse.Status {
    /// The code, and the reason phrase if there is one.
    var line: String { reasonPhrase.isEmpty ? "\(code)" : "\(code) \(reasonPhrase)" }
}
