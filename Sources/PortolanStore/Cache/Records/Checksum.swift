// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import CPortolanXXHash

    /// A checksum that finds damage, but not an attack: XXH3 with 64 bits (<https://xxhash.com>).
    enum Checksum {
        /// - Parameter seed: a number for the place of the octets, so that octets at a wrong place are detected, too.
        static func of(_ octets: RawSpan, seed: Int64) -> UInt64 {
            unsafe octets.withUnsafeBytes { bytes in
                unsafe portolan_xxh3(bytes.baseAddress, bytes.count, UInt64(bitPattern: seed))
            }
        }

        /// The number that stands for a text in an index.
        static func of(_ text: some StringProtocol) -> Int64 {
            var text = String(text)
            return text.withUTF8 { bytes in
                unsafe Int64(bitPattern: portolan_xxh3(bytes.baseAddress, bytes.count, 0))
            }
        }
    }
#endif
