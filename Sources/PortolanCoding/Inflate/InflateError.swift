// SPDX-License-Identifier: Apache-2.0

/// What keeps an ``Inflater`` from going on.
package enum InflateError: Error, Hashable {
    /// The data are not of the format; zlib's words for it.
    case malformed(String)
    case noMemory
}
