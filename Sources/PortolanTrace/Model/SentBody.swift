// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// What a request sends, as far as it could be read.
package enum SentBody: Equatable, Sendable {
    case bytes([UInt8])
    /// More than ``Exchange/largestBody`` bytes.
    case large(length: Int64, SHA256Digest)
    /// It can be read only once, and that is for the handler behind to do; or it could not be read.
    case unread(length: Int64?)
}
