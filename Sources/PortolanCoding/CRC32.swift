// SPDX-License-Identifier: Apache-2.0

import CPortolanZlib

/// The checksum of gzip, for stored octets: it detects accidental damage, but no deliberate change.
///
/// RFC 1952 §8
package enum CRC32 {
    package static func checksum(of bytes: borrowing RawSpan) -> UInt32 {
        unsafe bytes.withUnsafeBytes { octets in
            guard let base = octets.baseAddress else { return 0 }
            return UInt32(truncatingIfNeeded: unsafe crc32_z(0, base.assumingMemoryBound(to: UInt8.self), octets.count))
        }
    }
}
