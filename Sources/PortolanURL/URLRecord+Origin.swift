// SPDX-License-Identifier: Apache-2.0

extension URLRecord {
    /// Whether both URLs have the same scheme, host and port, so that credentials meant for one may be sent to the
    /// other.
    ///
    /// Default ports count as if they were written. URLs without a host, such as `data:` URLs, have the same origin as
    /// no other URL, not even as themselves. URLs with a host and a scheme that is not special are compared like
    /// `http:` URLs, although the standard considers their origins different.
    ///
    /// WHATWG URL §4.7
    public func hasSameOrigin(as other: URLRecord) -> Bool {
        layout.hasAuthority && other.layout.hasAuthority
            && layout.port == other.layout.port && scheme == other.scheme && self[.host] == other[.host]
    }

    /// The same URL without its fragment.
    public var withoutFragment: URLRecord {
        layout.queryEnd == string.utf8.count ? self : URLRecord(serialised: String(self[.beforeFragment]), layout: layout)
    }

    /// The same URL without user name and password.
    public var withoutCredentials: URLRecord {
        guard hasCredentials else { return self }
        let utf8 = string.utf8
        let start = utf8.index(utf8.startIndex, offsetBy: layout.schemeEnd + 3)
        let end = utf8.index(utf8.startIndex, offsetBy: layout.hostStart)
        var text = string
        text.removeSubrange(start..<end)
        return URLRecord(serialised: text, layout: layout.movingHost(to: layout.schemeEnd + 3))
    }
}

extension URLRecord.Layout {
    /// The layout after the text between `offset` and the host was removed.
    fileprivate func movingHost(to offset: Int) -> Self {
        let distance = hostStart - offset
        var result = self
        result.usernameEnd = offset
        result.hostStart = offset
        result.hostEnd -= distance
        result.pathStart -= distance
        result.pathEnd -= distance
        result.queryEnd -= distance
        return result
    }
}
