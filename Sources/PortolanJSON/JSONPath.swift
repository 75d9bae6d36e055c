// SPDX-License-Identifier: Apache-2.0

/// The way from a document's outermost value to one inside it.
package struct JSONPath: Hashable, Sendable {
    package enum Step: Hashable, Sendable {
        case member(String)
        case element(Int)
    }

    package private(set) var steps: [Step]
    /// Whether the member's name is meant, not its value.
    package private(set) var isName = false

    package init(_ steps: [Step] = []) {
        self.steps = steps
    }

    package subscript(name: String) -> JSONPath { JSONPath(steps + [.member(name)]) }
    package subscript(index: Int) -> JSONPath { JSONPath(steps + [.element(index)]) }

    /// This path, seen from the value around its first.
    package func inside(_ step: Step) -> JSONPath {
        var path = self
        path.steps.insert(step, at: 0)
        return path
    }

    /// The name of the member that this path leads to.
    package var name: JSONPath {
        var path = self
        path.isName = true
        return path
    }
}

extension JSONPath: CustomStringConvertible {
    /// As in `conformance.loads[2].url`.
    package var description: String {
        var text = ""
        for step in steps {
            switch step {
            case .member(let name): text += text.isEmpty ? name : ".\(name)"
            case .element(let index): text += "[\(index)]"
            }
        }
        return text
    }
}

extension JSONPath {
    /// Where what the path leads to begins in the text, in bytes, or `nil` where it leads nowhere.
    ///
    /// Values carry no places of their own: they are asked for only where something is wrong, and then the text is read once more.
    ///
    /// - Complexity: linear in the length of the text.
    package func offset(in bytes: [UInt8], _ dialect: JSONDialect) -> Int? {
        var parser = JSONParser(bytes: bytes, dialect: dialect)
        // `try?` because what can't be read has no places.
        return try? parser.offset(of: self)
    }
}

extension JSONParser {
    fileprivate mutating func offset(of path: JSONPath) throws(JSONError) -> Int? {
        var (steps, nameOffset) = (path.steps[...], nil as Int?)
        while let step = steps.popFirst() {
            guard let found = try offset(of: step) else { return nil }
            nameOffset = found.name
            position = found.value
        }
        try skipWhitespace()
        return path.isName ? nameOffset : position
    }

    /// Where the child begins, and its name where it has one.
    private mutating func offset(of step: JSONPath.Step) throws(JSONError) -> (name: Int?, value: Int)? {
        var found: (name: Int?, value: Int)?
        try skipWhitespace()
        switch (step, try peek()) {
        case (.member(let wanted), UInt8(ascii: "{")):
            try members { (parser, name, nameOffset) throws(JSONError) in
                if name.hasSameBytes(as: wanted) { found = (nameOffset, parser.position) }
                _ = try parser.value(depth: 0)
            }
        case (.element(let wanted), UInt8(ascii: "[")):
            var index = 0
            try elements { (parser) throws(JSONError) in
                if index == wanted { found = (nil, parser.position) }
                index += 1
                _ = try parser.value(depth: 0)
            }
        default: break
        }
        return found
    }
}
