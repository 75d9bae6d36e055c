// SPDX-License-Identifier: Apache-2.0

/// The path from a document's outermost value to a value inside it.
package struct JSONPath: Hashable, Sendable {
    package enum Step: Hashable, Sendable {
        case member(String)
        case element(Int)
    }

    package private(set) var steps: [Step]
    /// Whether the path leads to the name of the member instead of its value.
    package private(set) var isName = false

    package init(_ steps: [Step] = []) {
        self.steps = steps
    }

    package subscript(name: String) -> JSONPath { JSONPath(steps + [.member(name)]) }
    package subscript(index: Int) -> JSONPath { JSONPath(steps + [.element(index)]) }

    /// Returns this path with `step` at its start.
    package func inside(_ step: Step) -> JSONPath {
        var path = self
        path.steps.insert(step, at: 0)
        return path
    }

    /// The path of the name of the member at this path.
    package var name: JSONPath {
        var path = self
        path.isName = true
        return path
    }
}

extension JSONPath: CustomStringConvertible {
    /// For example `conformance.loads[2].url`.
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
    /// Returns the offset of the value (or name) at this path, in bytes from the start of the text. `nil` if the text
    /// has no such value, or can't be parsed.
    ///
    /// Parses the text again, because values do not store their positions. Only error messages need positions.
    ///
    /// - Complexity: linear in the length of the text.
    package func offset(in bytes: [UInt8], _ dialect: JSONDialect) -> Int? {
        var parser = JSONParser(bytes: bytes, dialect: dialect)
        // `try?` because text that does not parse has no positions.
        return try? parser.offset(of: self)
    }
}

extension JSONParser {
    fileprivate mutating func offset(of path: JSONPath) throws(JSONError) -> Int? {
        var (steps, nameOffset) = (path.steps[...], nil as Int?)
        while let step = steps.popFirst() {
            guard let foundOffsets = try offset(of: step) else { return nil }
            nameOffset = foundOffsets.name
            position = foundOffsets.value
        }
        try skipWhitespace()
        return path.isName ? nameOffset : position
    }

    /// Returns the offset of the value of a member or element, and the offset of the member's name. `nil` if the value
    /// that starts here has no such member or element.
    private mutating func offset(of step: JSONPath.Step) throws(JSONError) -> (name: Int?, value: Int)? {
        var foundOffsets: (name: Int?, value: Int)?
        try skipWhitespace()
        switch (step, try peek()) {
        case (.member(let wantedName), UInt8(ascii: "{")):
            try forEachMember { (parser, name, nameOffset) throws(JSONError) in
                if name.hasSameBytes(as: wantedName) { foundOffsets = (nameOffset, parser.position) }
                _ = try parser.readValue(depth: 0)
            }
        case (.element(let wantedIndex), UInt8(ascii: "[")):
            var index = 0
            try forEachElement { (parser) throws(JSONError) in
                if index == wantedIndex { foundOffsets = (nil, parser.position) }
                index += 1
                _ = try parser.readValue(depth: 0)
            }
        default: break
        }
        return foundOffsets
    }
}
