// SPDX-License-Identifier: Apache-2.0

/// The error with which an ``Inflater`` stops.
package enum InflateError: Error, Hashable {
    /// The data does not have the format. The value is zlib's message.
    case malformed(String)
    case noMemory
}
