// SPDX-License-Identifier: Apache-2.0

/// Why the parser rejects a text, and where.
package struct JSONError: Error, Equatable, CustomStringConvertible {
    package enum Problem: String, Sendable {
        case unexpectedEnd = "the text ends too early"
        case unexpectedByte = "this byte is not allowed here"
        case missingColon = "a ':' is missing before this"
        case missingComma = "a ',' or the closing bracket is missing before this"
        case badEscape = "a backslash is not followed by a valid escape"
        case controlCharacter = "a string contains a control character; write it as an escape"
        case badNumber = "this is not a number"
        case tooDeep = "values are nested too deeply"
        case trailingText = "more text follows the value"
        case notUnicode = "these bytes are not UTF-8"
        case unpairedSurrogate = "this escape is half of a surrogate pair; write both halves"
        case unterminatedComment = "a comment begins here and never ends"
        case duplicateName = "this name occurs twice in its object; keep one"
    }

    package let problem: Problem
    /// The offset of the error in bytes from the start of the text.
    package let offset: Int

    package init(problem: Problem, offset: Int) {
        self.problem = problem
        self.offset = offset
    }

    package var description: String { "bad JSON at byte \(offset): \(problem.rawValue)" }
}
