// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import PortolanCore

    /// A user name and a password that are kept permanently.
    struct CredentialRecord: StoredRecord {
        static let schema = StoreSchema(
            file: "credentials.sqlite",
            format: StoreFormat(
                applicationID: 0x506F_5031,  // "PoP1"
                migrations: [
                    """
                    CREATE TABLE credential (
                        number INTEGER PRIMARY KEY,
                        scheme TEXT NOT NULL, protocol TEXT NOT NULL, host TEXT NOT NULL, port INTEGER NOT NULL, has_realm INTEGER NOT NULL,
                        realm TEXT NOT NULL, is_proxy INTEGER NOT NULL, user TEXT NOT NULL,
                        password TEXT NOT NULL, default_time INTEGER NOT NULL,
                        UNIQUE (scheme, protocol, host, port, has_realm, realm, is_proxy, user)
                    ) STRICT;
                    """
                ]),
            table: "credential",
            keys: ["scheme", "protocol", "host", "port", "has_realm", "realm", "is_proxy", "user"],
            values: ["password", "default_time"],
            texts: ["scheme", "protocol", "host", "realm", "user", "password"])

        let value: StoredCredential

        init(_ value: StoredCredential) { self.value = value }

        init?(_ columns: [SQLValue]) {
            guard columns.count == 10, let scheme = columns[0].text, let name = columns[1].text, let host = columns[2].text,
                let port = columns[3].integer, let hasRealm = columns[4].bool, let realm = columns[5].text, let isProxy = columns[6].bool,
                let user = columns[7].text, let password = columns[8].text, let defaultTime = columns[9].integer, port >= -1, port <= 65535
            else { return nil }
            let space = ProtectionSpace(
                kind: .password(scheme: scheme), protocolName: name, host: host, port: port < 0 ? nil : Int(port),
                realm: hasRealm ? realm : nil, isProxy: isProxy)
            guard space.canonical == space else { return nil }
            value = StoredCredential(key: .init(space: space, user: user), password: SecretText(password), defaultTime: defaultTime)
        }

        var key: StoredCredential.Key { value.key }
        var expiry: Date? { nil }

        static func columns(of key: StoredCredential.Key) -> [SQLValue] {
            let scheme = if case .password(let scheme) = key.space.kind { scheme } else { "" }
            return [
                .text(scheme), .text(key.space.protocolName), .text(key.space.host), .integer(Int64(key.space.port ?? -1)),
                .bool(key.space.realm != nil), .text(key.space.realm ?? ""), .bool(key.space.isProxy), .text(key.user),
            ]
        }

        var values: [SQLValue] { [.text(value.password.reveal()), .integer(value.defaultTime)] }

        static func == (a: Self, b: Self) -> Bool {
            a.key == b.key && a.value.defaultTime == b.value.defaultTime && a.value.password.equals(b.value.password.reveal())
        }
    }
#endif
