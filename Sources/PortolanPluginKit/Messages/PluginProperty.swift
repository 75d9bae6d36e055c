// SPDX-License-Identifier: Apache-2.0

/// The key of a protocol's own parameter on a request, with the type that its value has:
///
///     static let piece = PluginProperty<Int>("org.example.tide.piece")
public struct PluginProperty<Value: PluginPropertyConvertible>: Hashable, Sendable {
    /// Reverse DNS; case matters.
    public let name: String
    public init(_ name: String) { self.name = name }

    /// Sets it on a changed request.
    public func callAsFunction(_ value: Value) -> (name: String, value: PluginPropertyValue?) { (name, value.propertyValue) }
}

/// A property's value as the contract carries it.
public enum PluginPropertyValue: Hashable, Sendable {
    case text(String)
    case bytes([UInt8])
    case integer(Int64)
    case real(Double)
    case truth(Bool)
    /// Of a kind that is newer than this kit.
    case other
}

/// What a property may be in Swift.
public protocol PluginPropertyConvertible: Sendable {
    /// For messages, as in "an integer".
    static var kindName: String { get }
    /// - Returns: `nil` where the value is of another kind.
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
        // A number of JSON without a fraction arrives as an integer.
        case .integer(let integer): self = Double(integer)
        default: return nil
        }
    }
    public var propertyValue: PluginPropertyValue { .real(self) }
}

extension Bool: PluginPropertyConvertible {
    public static var kindName: String { "true or false" }
    public init?(_ value: PluginPropertyValue) {
        guard case .truth(let truth) = value else { return nil }
        self = truth
    }
    public var propertyValue: PluginPropertyValue { .truth(self) }
}
