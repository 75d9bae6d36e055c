// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The wall clock.
enum SystemTime {
    /// time(2)
    static var secondsSince1970: Int64 { Int64(time(nil)) }
}
