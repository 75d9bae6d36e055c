// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import PortolanCore
package import PortolanURL

/// Which stored responses a response makes invalid.
package enum Invalidation {
    /// The longest reference in `Location` or `Content-Location` that is followed, in bytes.
    package static let referenceLimit = 8192

    /// The URLs whose stored responses are removed: after an unsafe request that did not fail, its own URL and those in
    /// `Location` and `Content-Location`, without fragments. URLs of another origin are left out, because a server may
    /// not invalidate responses of others.
    ///
    /// RFC 9111 §4.4
    package static func urls(
        method: HTTPRequest.Method, url: URLRecord, status: HTTPResponse.Status, fields: HTTPFields
    ) -> [URLRecord] {
        guard !method.isSafe, (200..<400).contains(status.code) else { return [] }
        var urls = [url.withoutFragment]
        for name in [HTTPField.Name.location, .contentLocation] {
            guard let target = target(of: name, in: fields, url), target.hasSameOrigin(as: url), !urls.contains(target) else { continue }
            urls.append(target)
        }
        return urls
    }

    /// The URL in a field, without its fragment; `nil` if the field is absent, too long or malformed.
    static func target(of name: HTTPField.Name, in fields: HTTPFields, _ base: URLRecord) -> URLRecord? {
        guard let octets = fields.firstOctets(of: name), octets.count <= referenceLimit else { return nil }
        return reference(String(decoding: octets, as: UTF8.self), base)?.withoutFragment
    }

    private static func reference(_ text: String, _ base: URLRecord) -> URLRecord? {
        do throws(URLSyntaxError) {
            return try URLRecord(parsing: text, relativeTo: base)
        } catch {
            return nil
        }
    }

    private static let clearSiteData = HTTPField.Name("Clear-Site-Data")

    /// Whether the response removes all stored responses of its origin. Only an authenticated origin may do so.
    ///
    /// W3C Clear Site Data §3.1, §4.1
    package static func clearsCache(_ fields: HTTPFields, of url: URLRecord) -> Bool {
        guard let name = clearSiteData, fields.contains(name), CacheLookup.isAuthenticated(url) else { return false }
        return !fields.forEachMember(of: name) { member in
            let type = member.unquoted(0..<member.count)
            return type != Array("cache".utf8) && type != Array("*".utf8)
        }
    }
}
