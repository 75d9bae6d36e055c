// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import PortolanCore
import PortolanHTTPSyntax

/// Which fields of a response are stored, updated and sent.
package enum StoredFields {
    /// The fields of a response without those that apply only to its connection or to the proxy, and without those
    /// that `no-cache` names.
    ///
    /// `Set-Cookie` is kept, as all other fields.
    ///
    /// RFC 9111 §3.1
    package static func storable(_ fields: HTTPFields) -> HTTPFields {
        let excluded = ExcludedNames(fields, directives: ResponseDirectives(fields))
        return HTTPFields(fields.filter { !excluded.contains($0.name) })
    }

    /// Replaces the fields of a stored response by those of a newer response: a 304, a response to HEAD, or a part.
    ///
    /// `Content-Length`, `Content-Range` and `Content-Encoding` describe the octets that are stored, so they stay.
    /// `Age` and `Date` describe the newer response, so the old ones are removed even if there are no new ones. A weak
    /// tag is not replaced by a strong tag that it matches, because the strong tag is for another coding of the octets.
    ///
    /// RFC 9111 §3.2
    static func updated(_ fields: HTTPFields, from newer: HTTPFields) -> HTTPFields {
        // If the newer response has no directives, those of the stored response stay.
        let excluded = ExcludedNames(newer, directives: ResponseDirectives(newer.contains(.cacheControl) ? newer : fields))
        let keepsTag =
            if let old = EntityTag(of: fields), old.isWeak, let new = EntityTag(of: newer) {
                !new.isWeak && old.weaklyMatches(new)
            } else {
                false
            }
        let updates = newer.filter { field in
            !excluded.contains(field.name) && !contentNames.contains(field.name) && !(keepsTag && field.name == .eTag)
        }
        if let dated = fieldsIfOnlyTheDateChanges(fields, updates) { return dated }
        let replaced = Set(updates.map(\.name))
        let kept = fields.filter { field in
            !replaced.contains(field.name) && field.name != .age && field.name != .date && !excluded.isUnusable(field.name)
        }
        return HTTPFields(kept + updates)
    }

    /// The fields of a 304 that `no-cache` names. They are delivered with the confirmed response, but not stored.
    ///
    /// - Parameter directives: those of the updated response.
    ///
    /// RFC 9111 §5.2.2.4
    static func confirmed(by newer: HTTPFields, _ directives: ResponseDirectives) -> [HTTPField] {
        guard case .fields(let names) = directives.noCache else { return [] }
        return newer.filter { field in
            let name = field.name.canonicalName
            return names.contains(field.name) && !keptNames.contains(name) && !connectionNames.contains(name)
        }
    }

    /// The largest number of fields that a stored response has after an update. Without it, many validations could add
    /// any number of fields. A response that exceeds the limit is removed.
    static let limit = 1000

    /// The usual case: a 304 repeats stored fields with another `Date`. `Cache-Control` then does not change, and the
    /// fields that its `no-cache` names were not stored.
    ///
    /// - Returns: the updated fields; `nil` if other fields change.
    private static func fieldsIfOnlyTheDateChanges(_ fields: HTTPFields, _ updates: HTTPFields) -> HTTPFields? {
        var date: HTTPField?
        for (index, update) in updates.enumerated() {
            if update.name == .date, date == nil {
                date = update
            } else if updates[..<index].contains(where: { $0.name == update.name }) || fields[fields: update.name] != [update] {
                return nil
            }
        }
        guard let date, let index = fields.firstIndex(where: { $0.name == .date }), !fields.contains(.age),
            !fields[(index + 1)...].contains(where: { $0.name == .date })
        else { return nil }
        var dated = fields
        dated[index] = date
        return dated
    }

    /// The fields that describe the stored octets.
    private static let contentNames: [HTTPField.Name] = [.contentLength, .contentRange, .contentEncoding]

    /// The fields of an answer from a stored response, with its age.
    ///
    /// RFC 9111 §4, §5.1
    package static func answer(_ response: StoredResponse, age: Int64) -> HTTPFields {
        var fields = dated(response)
        let age = HTTPField(name: .age, value: String(max(0, age)))
        if fields.contains(.age) { fields[fields: .age] = [age] } else { fields.append(age) }
        return fields
    }

    /// The fields of a stored response with a `Date`: the time of its reception, if the server has sent none.
    ///
    /// This date is not stored. Otherwise, a `Last-Modified` could count as a strong validator, which requires a date
    /// from the server's clock (RFC 9110 §8.8.2.2).
    ///
    /// RFC 9110 §6.6.1
    package static func dated(_ response: StoredResponse) -> HTTPFields {
        guard !response.fields.contains(.date), let date = HTTPDate(secondsSince1970: response.responseTime) else { return response.fields }
        var fields = response.fields
        fields.set(.date, date.description.utf8)
        return fields
    }

    /// The fields of a 206 response with one range of a stored response.
    ///
    /// RFC 9110 §15.3.7
    package static func partialAnswer(_ response: StoredResponse, _ range: Range<Int64>, age: Int64) -> HTTPFields {
        var fields = answer(response, age: age)
        fields.set(.contentRange, ContentRange(range, of: response.content.completeLength).description.utf8)
        fields.set(.contentLength, String(range.count).utf8)
        return fields
    }

    /// The fields of a 304 response from a stored response.
    ///
    /// RFC 9110 §15.4.5
    package static func notModifiedAnswer(_ response: StoredResponse, age: Int64) -> HTTPFields {
        HTTPFields(answer(response, age: age).filter { notModifiedNames.contains($0.name.canonicalName) })
    }

    /// The fields of a 416 response from a stored response.
    ///
    /// RFC 9110 §15.5.17
    package static func unsatisfiableAnswer(_ response: StoredResponse, age: Int64) -> HTTPFields {
        var fields = notModifiedAnswer(response, age: age)
        if let length = response.content.completeLength {
            fields.set(.contentRange, ContentRange(unsatisfiedSize: length).description.utf8)
        }
        fields.set(.contentLength, "0".utf8)
        return fields
    }

    private static let notModifiedNames: Set = [
        "age", "cache-control", "content-location", "date", "etag", "expires", "last-modified", "vary",
    ]

    /// RFC 9110 §7.6.1, §11.7; RFC 9111 §3.1
    private static let connectionNames: Set = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization", "proxy-connection", "te",
        "trailer", "transfer-encoding", "upgrade",
    ]

    /// Fields that the rules need. A response can't remove them by naming them in `Connection`: without `Cache-Control`
    /// or `Vary`, a response would be used where it must not be (RFC 9110 §7.6.1).
    private static let keptNames: Set = ["age", "cache-control", "date", "expires", "vary"]

    /// Whether the rules need the field.
    static func isNeeded(_ name: HTTPField.Name) -> Bool { keptNames.contains(name.canonicalName) }

    /// The largest number of names in `Connection`. The others are ignored.
    private static let connectionOptionLimit = 256

    /// The fields that are not stored: those for a connection, and those that `no-cache` names.
    private struct ExcludedNames {
        private var listed: Set<String> = []
        /// The fields that `no-cache` names. The response can be used only without them (RFC 9111 §5.2.2.4).
        private var unusable: Set<String> = []

        init(_ fields: HTTPFields, directives: ResponseDirectives) {
            var count = 0
            fields.forEachMember(of: .connection) { member in
                if let name = HTTPField.Name(octets: member) { insert(name) }
                count += 1
                return count < connectionOptionLimit
            }
            guard case .fields(let names) = directives.noCache else { return }
            for name in names {
                insert(name)
                if !keptNames.contains(name.canonicalName) { unusable.insert(name.canonicalName) }
            }
        }

        private mutating func insert(_ name: HTTPField.Name) {
            let name = name.canonicalName
            if !connectionNames.contains(name), !keptNames.contains(name) { listed.insert(name) }
        }

        func isUnusable(_ name: HTTPField.Name) -> Bool { unusable.contains(name.canonicalName) }

        func contains(_ name: HTTPField.Name) -> Bool {
            connectionNames.contains(name.canonicalName) || (!listed.isEmpty && listed.contains(name.canonicalName))
        }
    }
}
