// SPDX-License-Identifier: Apache-2.0

/// The value of a property, in a type that plugins can receive (`portolan_kind`).
public enum PropertyValue: Hashable, Sendable {
    case text(String)
    case bytes([UInt8])
    case integer(Int64)
    case real(Double)
    case boolean(Bool)
}

/// Values that a request carries for one protocol, under names in reverse DNS notation. A request that a handler makes
/// from its own request keeps the properties that the handler does not know (PROP-01).
///
///     request.properties["org.example.ftp.transfer-mode"] = .text("ascii")
public struct RequestProperties: Hashable, Sendable {
    private var values: [String: PropertyValue] = [:]

    package init() {}

    package var isEmpty: Bool { values.isEmpty }

    /// The names in lexical order.
    package var names: [String] { values.keys.sorted() }

    public subscript(name: String) -> PropertyValue? {
        get { values[name] }
        set { values[name] = newValue }
    }
}
