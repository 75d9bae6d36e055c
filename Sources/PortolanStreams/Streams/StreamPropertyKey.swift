// SPDX-License-Identifier: Apache-2.0

/// Names a property of a stream, with the type of its value.
///
///     let offset = input.property(.currentOffset)
///     try input.setProperty(0, for: .currentOffset)
///
/// A custom stream can have keys of its own: make a constant in an extension, with a name in reverse-DNS form.
public struct StreamPropertyKey<Value: Sendable>: Sendable {
    public let name: String
    /// Whether ``ByteInputStream/setProperty(_:for:)`` always fails for this key.
    public let isReadOnly: Bool

    public init(_ name: String, isReadOnly: Bool = false) {
        (self.name, self.isReadOnly) = (name, isReadOnly)
    }
}

extension StreamPropertyKey<Int64> {
    /// The offset of the next byte, in bytes from the beginning. Streams over files and memory have it. For an input
    /// stream it can be set, to read from there.
    public static var currentOffset: Self { Self("org.portolan.stream.current-offset") }
}

extension StreamPropertyKey<[UInt8]> {
    /// The bytes that were written to memory.
    public static var writtenBytes: Self { Self("org.portolan.stream.written-bytes", isReadOnly: true) }
}

extension StreamPropertyKey<Int32> {
    /// The descriptor that the stream reads or writes. The stream owns it; do not close it.
    public static var nativeDescriptor: Self { Self("org.portolan.stream.native-descriptor", isReadOnly: true) }
}
