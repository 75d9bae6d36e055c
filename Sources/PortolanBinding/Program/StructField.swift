// SPDX-License-Identifier: Apache-2.0

import PortolanJSON

/// A field of the struct to which a handle points.
struct StructField: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case value(CType)
        /// `char[n]`: n bytes of the struct itself, with a text that ends at the first NUL or after them.
        case characters(Int)
    }

    /// The distance from the start of the struct, in bytes.
    let offset: Int
    let kind: Kind

    static let offsetLimit = 1 << 20
    static let characterLimit = 1 << 16

    var type: ValueType {
        switch kind {
        case .value(let type): ValueType(type)
        case .characters: ValueType(.text)
        }
    }

    init(checking source: StructFieldSource) throws(BindingError) {
        guard let offset = Int(source.offset), (0...Self.offsetLimit).contains(offset) else {
            throw BindingError(
                "is \(source.offset), where a number of bytes from 0 to \(Self.offsetLimit) is needed", at: JSONPath()["offset"])
        }
        self.offset = offset
        kind = try prependingStep(.member("type")) { () throws(BindingError) in try Self.kind(source.type) }
    }

    private static func kind(_ type: String) throws(BindingError) -> Kind {
        if type.hasPrefix("char["), type.hasSuffix("]") {
            guard let count = Int(type.dropFirst(5).dropLast()), (1...characterLimit).contains(count), type == "char[\(count)]" else {
                throw BindingError("'\(type)' is not a text in the struct; write char[N] with 1 to \(characterLimit) bytes")
            }
            return .characters(count)
        }
        // `try?` because the error below lists the types that a field can have.
        guard !type.contains(" "), case .value(let type)? = (try? Parameter(parsing: type))?.kind else {
            throw BindingError("'\(type)' is not the type of a field; use a number, bool, cstring, pointer, a handle or char[N]")
        }
        return .value(type)
    }
}
