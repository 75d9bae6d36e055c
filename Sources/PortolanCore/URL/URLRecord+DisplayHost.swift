// SPDX-License-Identifier: Apache-2.0

extension URLRecord {
    /// The host as people read it: in special schemes with its `xn--` labels decoded.
    ///
    /// Letters that look alike are not told apart, so it is not fit for where a host must be recognised.
    ///
    /// WHATWG URL §3.3, "domain to Unicode"
    package var hostForDisplay: String? {
        guard let host else { return nil }
        return isSpecial ? IDNA.unicode(host) : String(host)
    }
}
