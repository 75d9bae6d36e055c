// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTPSyntax

extension HTTPDate {
    /// Parses a date as a cache does: in any of the three forms, without regard to case, and only in GMT.
    ///
    /// RFC 9111 §4.2, RFC 9110 §5.6.7
    init?(caching octets: [UInt8], now: Int64) {
        guard octets.count <= 33 else { return nil }
        var text = octets
        var isInWord = false
        for index in text.indices {
            let letter = text[index] | 0x20
            let isLetter = letter &- 0x61 < 26
            if isLetter { text[index] = isInWord ? letter : letter & 0xDF }
            isInWord = isLetter
        }
        if text.suffix(4).elementsEqual(" Gmt".utf8) { text.replaceSubrange(text.count - 3..<text.count, with: "GMT".utf8) }
        self.init(parsing: String(decoding: text, as: UTF8.self), now: now)
    }

    /// The seconds since 1970 of the date in the first field with this name; `nil` if the field is absent or malformed.
    static func seconds(of name: HTTPField.Name, in fields: HTTPFields, now: Int64) -> Int64? {
        fields.firstOctets(of: name).flatMap { octets in
            HTTPDate.secondsSince1970(ofFixdate: octets.span) ?? HTTPDate(caching: octets, now: now)?.secondsSince1970
        }
    }
}
