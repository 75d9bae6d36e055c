// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// An error in a response: the broken rule, and the received text.
package struct ResponseSyntaxError: Error, Equatable, Sendable {
    package let rule: Rule
    /// The line, value or byte that breaks the rule, escaped and shortened; empty if there is nothing to show.
    package let excerpt: String

    package init(_ rule: Rule, excerpt: String = "") {
        self.rule = rule
        self.excerpt = excerpt
    }

    package init(_ rule: Rule, _ octets: Span<UInt8>) {
        self.init(rule, excerpt: Self.excerpt(of: octets))
    }

    /// The section that contains the rule, such as `RFC 9112 §5.1`.
    var section: String { rule.section }

    /// The error for the caller of the load.
    package var loadError: LoadError {
        var error = LoadError(rule.code, message: description)
        error.remedy = rule.remedy.loadErrorRemedy
        return error
    }

    private static let maximumExcerptLength = 60

    /// Returns the octets in quotes. Visible ASCII is unchanged, and other octets become `\xNN`. "…" replaces all
    /// octets after the first 60.
    private static func excerpt(of octets: Span<UInt8>) -> String {
        var text = "\""
        for index in octets.indices.prefix(maximumExcerptLength) {
            switch octets[index] {
            case .quote: text += "\\\""
            case .backslash: text += "\\\\"
            case 0x20...0x7E: text.unicodeScalars.append(Unicode.Scalar(octets[index]))
            default:
                let digits = String(octets[index], radix: 16, uppercase: true)
                text += (digits.utf8.count == 1 ? "\\x0" : "\\x") + digits
            }
        }
        return text + (octets.count > maximumExcerptLength ? "…\"" : "\"")
    }
}

extension ResponseSyntaxError: CustomStringConvertible {
    package var description: String {
        let received = excerpt.isEmpty ? "" : ", received \(excerpt)"
        return "\(rule.problem)\(received) (\(rule.section)); \(rule.remedy.phrase)"
    }
}
