// SPDX-License-Identifier: Apache-2.0

import PortolanPluginKit

/// The `name=value` pairs of a query. A command reads and removes its parameters. The parameters that remain are
/// unknown to the command.
struct Parameters {
    private struct Item {
        let name: String
        let value: [UInt8]
    }

    /// The command for messages, such as `echo:text`.
    let command: String
    private var items: [Item] = []
    /// The names that the command has requested, in that order.
    private var requestedNames: [String] = []

    private static let largestCount = 256
    /// The names of parameters whose values messages never quote.
    private static let secretNames: Set = ["user", "password", "to"]

    /// Splits the query at each `&` and each part at its first `=`, and decodes both sides once.
    init(parsing query: String?, of command: String) throws(PluginError) {
        self.command = command
        for part in Array((query ?? "").utf8).split(separator: UInt8(ascii: "&")) {
            let encodedName = part.prefix { $0 != UInt8(ascii: "=") }
            guard let nameBytes = EchoPercentEncoding.decode(encodedName), let name = String(validating: nameBytes, as: UTF8.self) else {
                let excerpt = Excerpt(String(decoding: encodedName, as: UTF8.self))
                throw PluginError(.badURL, message: "\(command): a parameter's name is malformed: \(excerpt); write % as %25")
            }
            guard let value = EchoPercentEncoding.decode(part.dropFirst(encodedName.count + 1)) else {
                throw PluginError(
                    .badURL,
                    message: "\(command): the percent-encoding of \(Excerpt(name)) is malformed; write two hexadecimal digits after each %")
            }
            items.append(Item(name: name, value: value))
            guard items.count <= Self.largestCount else {
                throw PluginError(
                    .badURL, message: "\(command): more than \(Self.largestCount) parameters were given, which is the limit")
            }
        }
    }

    // MARK: Reading and removing

    /// Removes the parameter with this name, and returns its value.
    mutating func bytes(_ name: String) throws(PluginError) -> [UInt8]? {
        let values = removeAll(name)
        guard values.count <= 1 else {
            throw PluginError(.badURL, message: "\(command): '\(name)' was given \(values.count) times; give it once")
        }
        return values.first
    }

    /// Removes all parameters with this name, and returns their values.
    mutating func removeAll(_ name: String) -> [[UInt8]] {
        requestedNames.append(name)
        defer { items.removeAll { $0.name == name } }
        return items.filter { $0.name == name }.map(\.value)
    }

    mutating func text(_ name: String) throws(PluginError) -> String? {
        guard let bytes = try bytes(name) else { return nil }
        return try text(bytes, of: name)
    }

    mutating func texts(_ name: String) throws(PluginError) -> [String] {
        var texts: [String] = []
        for bytes in removeAll(name) { texts.append(try text(bytes, of: name)) }
        return texts
    }

    mutating func number(_ name: String, in range: ClosedRange<Int64>) throws(PluginError) -> Int64? {
        guard let text = try text(name) else { return nil }
        return try number(text, of: name, in: range)
    }

    /// - Parameter word: a text that the caller accepts instead of a number.
    func number(_ text: String, of name: String, in range: ClosedRange<Int64>, or word: String? = nil) throws(PluginError) -> Int64 {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let number = Int64(text),
            range.contains(number)
        else {
            throw invalidValue(name, text, "\(word.map { $0 + ", or " } ?? "")a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Returns the value, or throws an error that describes the required value.
    func requireValue<Value>(_ value: Value?, _ name: String, _ requirement: String) throws(PluginError) -> Value {
        guard let value else { throw PluginError(.badURL, message: "\(command): '\(name)' is missing; give \(requirement)") }
        return value
    }

    private func text(_ bytes: [UInt8], of name: String) throws(PluginError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw PluginError(.badURL, message: "\(command): '\(name)' is not UTF-8")
        }
        return text
    }

    // MARK: Errors

    /// Returns the error for a value that is not allowed.
    func invalidValue(_ name: String, _ value: String, _ allowed: String) -> PluginError {
        let quoted = Self.secretNames.contains(name) ? "" : " is \(Excerpt(value)), which"
        return PluginError(.badURL, message: "\(command): '\(name)'\(quoted) is not allowed; give \(allowed)")
    }

    /// Throws if there is a parameter that the command did not read.
    func end() throws(PluginError) {
        guard let item = items.first else { return }
        let names = requestedNames.joined(separator: ", ")
        throw PluginError(.badURL, message: "\(command) has no parameter \(Excerpt(item.name)); it has \(names)")
    }
}

/// External text for a message: quoted, one line of printable ASCII, at most 40 characters.
struct Excerpt: CustomStringConvertible {
    let description: String

    init(_ text: some StringProtocol) {
        let visibleText = text.unicodeScalars.prefix(40).map { (" "..."~").contains($0) ? Character($0) : "?" }
        description = "'\(String(visibleText))'" + (text.unicodeScalars.count > 40 ? " and more" : "")
    }
}
