// SPDX-License-Identifier: Apache-2.0

/// The key of a protocol-specific request parameter, with the type of its value:
///
///     static let piece = PluginProperty<Int>("org.example.tide.piece")
public struct PluginProperty<Value: PluginPropertyConvertible>: Hashable, Sendable {
    /// In reverse DNS. Case-sensitive.
    public let name: String
    public init(_ name: String) { self.name = name }

    /// Returns an element for ``PluginRequestChanges/properties``.
    public func callAsFunction(_ value: Value) -> (name: String, value: PluginPropertyValue?) { (name, value.propertyValue) }
}

/// The value of a property, with its kind.
public enum PluginPropertyValue: Hashable, Sendable {
    case text(String)
    case bytes([UInt8])
    case integer(Int64)
    case real(Double)
    case boolean(Bool)
    /// A value of a kind that this kit does not know.
    case other
}

/// A Swift type of a property's value.
public protocol PluginPropertyConvertible: Sendable {
    /// The name of the kind in messages, such as "an integer".
    static var kindName: String { get }
    /// - Returns: `nil` if the value has another kind.
    init?(_ value: PluginPropertyValue)
    var propertyValue: PluginPropertyValue { get }
}

extension String: PluginPropertyConvertible {
    public static var kindName: String { "text" }
    public init?(_ value: PluginPropertyValue) {
        guard case .text(let text) = value else { return nil }
        self = text
    }
    public var propertyValue: PluginPropertyValue { .text(self) }
}

extension [UInt8]: PluginPropertyConvertible {
    public static var kindName: String { "bytes" }
    public init?(_ value: PluginPropertyValue) {
        guard case .bytes(let bytes) = value else { return nil }
        self = bytes
    }
    public var propertyValue: PluginPropertyValue { .bytes(self) }
}

extension Int: PluginPropertyConvertible {
    public static var kindName: String { "an integer" }
    public init?(_ value: PluginPropertyValue) {
        guard case .integer(let integer) = value, let integer = Int(exactly: integer) else { return nil }
        self = integer
    }
    public var propertyValue: PluginPropertyValue { .integer(Int64(self)) }
}

extension Double: PluginPropertyConvertible {
    public static var kindName: String { "a number" }
    public init?(_ value: PluginPropertyValue) {
        switch value {
        case .real(let real): self = real
        // A JSON number without a fraction arrives as an integer.
        case .integer(let integer): self = Double(integer)
        default: return nil
        }
    }
    public var propertyValue: PluginPropertyValue { .real(self) }
}

extension Bool: PluginPropertyConvertible {
    public static var kindName: String { "true or false" }
    public init?(_ value: PluginPropertyValue) {
        guard case .boolean(let boolean) = value else { return nil }
        self = boolean
    }
    public var propertyValue: PluginPropertyValue { .boolean(self) }
}
