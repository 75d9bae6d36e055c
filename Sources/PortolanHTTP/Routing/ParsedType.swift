// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

/// A `Content-Type`, and what it means: one that comes again is not parsed again.
struct ParsedType {
    private var text = ""
    private var type: MIMEType?

    /// - Parameter last: the last Content-Type of `fields`, of which there are so many.
    mutating func parsing(_ last: HTTPField, of count: Int, in fields: HTTPFields) -> MIMEType? {
        let text = last.value
        if text == self.text, count == 1 { return type }
        let type = MIMEType(extractedFrom: fields)
        // Beyond ASCII the text is not the bytes.
        if count == 1, text.utf8.allSatisfy({ $0 < 0x80 }) { (self.text, self.type) = (text, type) }
        return type
    }
}
