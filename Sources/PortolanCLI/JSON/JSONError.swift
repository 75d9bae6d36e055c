// SPDX-License-Identifier: Apache-2.0

/// Why a text is not JSON, and where.
struct JSONError: Error, Equatable, CustomStringConvertible {
    enum Problem: String {
        case unexpectedEnd = "the text ends too early"
        case unexpectedByte = "this byte cannot stand here"
        case badEscape = "a backslash is followed by something that is no escape"
        case controlCharacter = "a control character stands in a string; write it as an escape"
        case badNumber = "this is no number"
        case tooDeep = "values lie in each other more than 512 deep"
        case trailingText = "more text follows the value"
    }

    let problem: Problem
    /// In bytes from the start of the text.
    let offset: Int

    var description: String { "bad JSON at byte \(offset): \(problem.rawValue)" }
}
