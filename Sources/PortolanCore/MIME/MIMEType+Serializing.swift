// SPDX-License-Identifier: Apache-2.0

extension MIMEType: CustomStringConvertible {
    /// The type as a header field carries it: `text/plain;charset=utf-8`. Values that are not HTTP tokens are put in quotes.
    ///
    /// Parsing the description gives an equal value again.
    ///
    /// Source: WHATWG MIME Sniffing, "serialize a MIME type".
    public var description: String {
        var text = essence
        for parameter in parameters {
            text += ";\(parameter.name)="
            if ASCII.isHTTPToken(parameter.value.utf8.span) {
                text += parameter.value
            } else {
                HTTPQuotedString.append(parameter.value, to: &text)
            }
        }
        return text
    }
}
