// SPDX-License-Identifier: Apache-2.0

/// A connection that was made to a ``ScriptedServer``, as far as it has come.
package struct ScriptedConnection: Sendable {
    /// All that has come from the wire.
    package internal(set) var received: [UInt8] = []
    package internal(set) var isOpen = true

    package var text: String { String(decoding: received, as: UTF8.self) }
}
