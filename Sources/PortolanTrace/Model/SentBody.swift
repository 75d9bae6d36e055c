// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// What is known about the body of a request: its bytes, its digest, or only its length.
package enum SentBody: Equatable, Sendable {
    case bytes([UInt8])
    /// Only the length and the digest are known: the body has more than ``Transaction/maximumBodySize`` bytes, or the
    /// recording has no body bytes (``Transaction/withoutBodies``).
    case large(length: Int64, SHA256Digest)
    /// The body can be read only once, and the next handler must read it; or reading failed.
    case unread(length: Int64?)
}
