// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

/// A `Content-Type` and its media type. If the next response has the same `Content-Type`, the text is not parsed again.
struct ContentTypeCache {
    private var text = ""
    private var type: MIMEType?

    /// Returns the media type of a response, parsed or from the cache.
    ///
    /// - Parameters:
    ///   - last: the last Content-Type of `fields`.
    ///   - count: the number of Content-Type fields.
    mutating func mediaType(of last: HTTPField, fieldCount count: Int, in fields: HTTPFields) -> MIMEType? {
        let text = last.value
        if text == self.text, count == 1 { return type }
        let parsedType = MIMEType(extractedFrom: fields)
        // Other values are not stored, because their text can differ from the received bytes.
        if count == 1, text.utf8.allSatisfy({ $0 < 0x80 }) { (self.text, type) = (text, parsedType) }
        return parsedType
    }
}
