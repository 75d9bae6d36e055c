// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// The key of a value that a request carries for one protocol.
///
///     enum FTPTransferMode: String, RequestPropertyValue, RequestPropertyKey {
///         case ascii, binary
///         static let name = "org.example.ftp.transfer-mode"
///         typealias Value = Self
///     }
///     request[FTPTransferMode.self] = .ascii
public protocol RequestPropertyKey {
    associatedtype Value: RequestPropertyValue
    /// The name under which the value crosses the plugin boundary, in reverse DNS notation.
    static var name: String { get }
}

/// A type that can be converted to and from a `PropertyValue`.
public protocol RequestPropertyValue: Sendable {
    init?(propertyValue: PropertyValue)
    var propertyValue: PropertyValue { get }
}

extension Request {
    /// The property under `key`; `nil` if there is none, or if the value has another type.
    public subscript<Key: RequestPropertyKey>(key: Key.Type) -> Key.Value? {
        get { properties[key.name].flatMap(Key.Value.init(propertyValue:)) }
        set { properties[key.name] = newValue?.propertyValue }
    }
}

extension String: RequestPropertyValue {
    public init?(propertyValue: PropertyValue) {
        guard case .text(let text) = propertyValue else { return nil }
        self = text
    }
    public var propertyValue: PropertyValue { .text(self) }
}

extension Int64: RequestPropertyValue {
    public init?(propertyValue: PropertyValue) {
        guard case .integer(let integer) = propertyValue else { return nil }
        self = integer
    }
    public var propertyValue: PropertyValue { .integer(self) }
}

extension Double: RequestPropertyValue {
    public init?(propertyValue: PropertyValue) {
        guard case .real(let real) = propertyValue else { return nil }
        self = real
    }
    public var propertyValue: PropertyValue { .real(self) }
}

extension Bool: RequestPropertyValue {
    public init?(propertyValue: PropertyValue) {
        guard case .boolean(let boolean) = propertyValue else { return nil }
        self = boolean
    }
    public var propertyValue: PropertyValue { .boolean(self) }
}

extension [UInt8]: RequestPropertyValue {
    public init?(propertyValue: PropertyValue) {
        guard case .bytes(let bytes) = propertyValue else { return nil }
        self = bytes
    }
    public var propertyValue: PropertyValue { .bytes(self) }
}

extension RequestPropertyValue where Self: RawRepresentable, RawValue: RequestPropertyValue {
    public init?(propertyValue: PropertyValue) {
        guard let raw = RawValue(propertyValue: propertyValue) else { return nil }
        self.init(rawValue: raw)
    }
    public var propertyValue: PropertyValue { rawValue.propertyValue }
}
