// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A text, such as a password, whose bytes are overwritten when the object is released.
///
/// Only these bytes are overwritten. Swift copies the bytes of a `String` freely and offers no means to overwrite them,
/// so a text that was made with ``reveal()`` may leave copies in memory until that memory is used again.
@safe package final class SecretText: Sendable {
    // … because the bytes are written only in `init` and `deinit`, and never leave the object.
    private nonisolated(unsafe) let bytes: UnsafeMutableBufferPointer<UInt8>

    package init(_ text: String) {
        unsafe bytes = .allocate(capacity: text.utf8.count)
        _ = unsafe bytes.initialize(from: text.utf8)
    }

    deinit {
        if let address = unsafe bytes.baseAddress { unsafe explicit_bzero(address, bytes.count) }
        unsafe bytes.deallocate()
    }

    package func reveal() -> String { unsafe String(decoding: bytes, as: UTF8.self) }

    /// Whether the secret is equal to `text`. The duration does not depend on where the two differ.
    package func equals(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { other in
            guard unsafe other.count == bytes.count else { return false }
            var difference: UInt8 = 0
            for index in other.indices { difference |= unsafe bytes[index] ^ other[index] }
            return difference == 0
        }
    }
}

extension SecretText: CustomStringConvertible, CustomReflectable {
    package var description: String { "hidden" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
