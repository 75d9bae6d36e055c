// SPDX-License-Identifier: Apache-2.0

/// The error for a text that is not a valid URL. It states the violated rule, its position, and how to fix it.
///
/// The description is one line for a person to read. It quotes the text, shortened, with control characters escaped,
/// and without the user name and password.
public struct URLSyntaxError: Error, Equatable, CustomStringConvertible {
    /// The rule that the text violates.
    package let rule: Rule
    /// The position, in bytes of UTF-8 from the start of the original text.
    public let offset: Int
    /// The text, shortened to about 80 bytes, without user information.
    package let excerpt: String

    init(rule: Rule, offset: Int, text: String) {
        self.rule = rule
        self.offset = offset
        self.excerpt = URLExcerpt.make(from: text, around: offset)
    }

    public var description: String { "bad URL \"\(excerpt)\": \(rule.problem), at byte \(offset); \(rule.remedy)" }
}

extension URLSyntaxError {
    /// A rule of the URL Standard whose violation makes parsing fail.
    package struct Rule: Sendable, Hashable, CustomStringConvertible {
        /// The name, which is the standard's if the standard has one.
        package let description: String
        /// What is wrong, as a clause.
        package let problem: String
        /// How to fix it, as a clause.
        package let remedy: String

        init(_ name: String, _ problem: String, _ remedy: String) {
            self.description = name
            self.problem = problem
            self.remedy = remedy
        }

        package static func == (a: Rule, b: Rule) -> Bool { a.description == b.description }
        package func hash(into hasher: inout Hasher) { hasher.combine(description) }
    }
}
