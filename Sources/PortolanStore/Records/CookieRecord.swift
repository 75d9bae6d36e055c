// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import PortolanCookies

    /// A cookie that outlives its session.
    struct CookieRecord: StoredRecord {
        static let schema = StoreSchema(
            file: "cookies.sqlite",
            format: StoreFormat(
                applicationID: 0x506F_4331,  // "PoC1"
                migrations: [
                    """
                    CREATE TABLE cookie (
                        number INTEGER PRIMARY KEY,
                        name BLOB NOT NULL, domain TEXT NOT NULL, path TEXT NOT NULL, is_host_only INTEGER NOT NULL,
                        partition_scheme TEXT NOT NULL, partition_domain TEXT NOT NULL,
                        value BLOB NOT NULL, expires INTEGER NOT NULL, created INTEGER NOT NULL, used INTEGER NOT NULL,
                        is_secure INTEGER NOT NULL, is_http_only INTEGER NOT NULL, same_site TEXT,
                        UNIQUE (name, domain, path, is_host_only, partition_scheme, partition_domain)
                    ) STRICT;
                    """
                ]),
            table: "cookie",
            keys: ["name", "domain", "path", "is_host_only", "partition_scheme", "partition_domain"],
            values: ["value", "expires", "created", "used", "is_secure", "is_http_only", "same_site"],
            texts: ["domain", "path", "partition_scheme", "partition_domain", "same_site"])

        /// The resolution, in seconds, of the stored time at which a cookie was last sent. The time decides which
        /// cookies are evicted, but is not written each time a cookie is sent.
        static let useResolution: TimeInterval = 86_400

        let value: Cookie

        /// Rounds times to the resolution of the file, so that a record is equal to the record that is read back.
        init(_ value: Cookie) {
            var cookie = value
            cookie.expiry = cookie.expiry.map { Date(microseconds: $0.microseconds) }
            cookie.creationTime = Date(microseconds: cookie.creationTime.microseconds)
            cookie.lastAccessTime = Date(microseconds: cookie.lastAccessTime.microseconds)
            self.value = cookie
        }

        init?(_ columns: [SQLValue]) {
            guard columns.count == 13, let name = columns[0].blob, let domain = columns[1].text, let path = columns[2].text,
                let isHostOnly = columns[3].bool, let scheme = columns[4].text, let partition = columns[5].text,
                let content = columns[6].blob, let expires = columns[7].integer, let created = columns[8].integer,
                let used = columns[9].integer, let isSecure = columns[10].bool, let isHTTPOnly = columns[11].bool
            else { return nil }
            var cookie = Cookie(name: "", value: "", domain: domain, path: path, now: Date(microseconds: created))
            (cookie.nameBytes, cookie.valueBytes) = (name, content)
            cookie.isHostOnly = isHostOnly
            cookie.partition = scheme.isEmpty ? nil : Site(scheme: scheme, domain: partition)
            cookie.expiry = Date(microseconds: expires)
            cookie.lastAccessTime = Date(microseconds: used)
            (cookie.isSecure, cookie.isHTTPOnly) = (isSecure, isHTTPOnly)
            switch columns[12] {
            case .null: cookie.sameSite = nil
            case .text(let text):
                guard let sameSite = Cookie.SameSite(rawValue: text) else { return nil }
                cookie.sameSite = sameSite
            default: return nil
            }
            guard cookie.canBeStored else { return nil }
            value = cookie
        }

        var key: Cookie.Identity { value.identity }
        var expiry: Date? { value.expiry }

        static func columns(of key: Cookie.Identity) -> [SQLValue] {
            [
                .blob(key.name), .text(key.domain), .text(key.path), .bool(key.isHostOnly), .text(key.partition?.scheme ?? ""),
                .text(key.partition?.domain ?? ""),
            ]
        }

        var values: [SQLValue] {
            [
                .blob(value.valueBytes), .integer((value.expiry ?? .distantPast).microseconds), .integer(value.creationTime.microseconds),
                .integer(value.lastAccessTime.microseconds), .bool(value.isSecure), .bool(value.isHTTPOnly),
                value.sameSite.map { .text($0.rawValue) } ?? .null,
            ]
        }
    }
#endif
