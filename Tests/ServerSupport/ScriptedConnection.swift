// SPDX-License-Identifier: Apache-2.0

/// A snapshot of one connection to a ``ScriptedServer``.
package struct ScriptedConnection: Sendable {
    /// All bytes that the server has received.
    package internal(set) var received: [UInt8] = []
    package internal(set) var isOpen = true

    /// The received bytes as UTF-8 text.
    package var text: String { String(decoding: received, as: UTF8.self) }
}
