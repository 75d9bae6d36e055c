// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// The body that a request sends, as far as it was readable.
package enum SentBody: Equatable, Sendable {
    case bytes([UInt8])
    /// More than ``Transaction/maximumBodySize`` bytes.
    case large(length: Int64, SHA256Digest)
    /// The body can be read only once, and the next handler must read it; or reading failed.
    case unread(length: Int64?)
}
