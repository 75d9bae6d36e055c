// SPDX-License-Identifier: Apache-2.0

extension MIMEType: CustomStringConvertible {
    /// The type as a header field carries it: `text/plain;charset=utf-8`. Values that are not HTTP tokens are put in
    /// quotes.
    ///
    /// Parsing the description gives an equal value again.
    ///
    /// Source: WHATWG MIME Sniffing, "serialize a MIME type".
    public var description: String {
        guard !parameters.isEmpty else { return essence }
        var text = ""
        text.reserveCapacity(parameters.reduce(essence.utf8.count) { $0 + $1.name.utf8.count + $1.value.utf8.count + 2 })
        text += essence
        for parameter in parameters {
            text += ";"
            text += parameter.name
            text += "="
            if ASCII.isHTTPToken(parameter.value.utf8.span) {
                text += parameter.value
            } else {
                HTTPQuotedString.append(parameter.value, to: &text)
            }
        }
        return text
    }
}
