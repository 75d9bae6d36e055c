// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// A `Content-Type`, and what it means: one that comes again is not parsed again.
struct ParsedType {
    private var text = ""
    private var type: MIMEType?

    mutating func parsing(_ text: String) -> MIMEType? {
        if text != self.text { (self.text, type) = (text, MIMEType(parsing: text)) }
        return type
    }
}
