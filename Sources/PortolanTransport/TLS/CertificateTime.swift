// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A time in a certificate: in UTC, to the second.
///
/// RFC 5280 §4.1.2.5
struct CertificateTime: Hashable, Sendable, Comparable {
    /// Seconds since 1970.
    let seconds: Int64
    /// The date, such as `2026-01-31`.
    let dateText: String

    /// - Returns: `nil` for an invalid time: `ASN1_TIME_to_tm(3)`.
    init?(_ time: UnsafePointer<ASN1_TIME>?) {
        var parts = unsafe tm()
        guard let time = unsafe time, unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        seconds = unsafe Int64(timegm(&parts))
        dateText =
            unsafe "\(Self.padded(Int(parts.tm_year) + 1900, 4))-\(Self.padded(Int(parts.tm_mon) + 1, 2))-\(Self.padded(Int(parts.tm_mday), 2))"
    }

    static func < (a: Self, b: Self) -> Bool { a.seconds < b.seconds }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}
