// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import PortolanHSTS

    /// A host that must be loaded over HTTPS only.
    struct HSTSRecord: StoredRecord {
        static let schema = StoreSchema(
            file: "hsts.sqlite",
            format: StoreFormat(
                applicationID: 0x506F_4831,  // "PoH1"
                migrations: [
                    """
                    CREATE TABLE host (
                        number INTEGER PRIMARY KEY,
                        name TEXT NOT NULL UNIQUE, includes_subdomains INTEGER NOT NULL, expires INTEGER
                    ) STRICT;
                    """
                ]),
            table: "host", keys: ["name"], values: ["includes_subdomains", "expires"], texts: ["name"])

        let value: HSTSStorage.Host

        init(_ value: HSTSStorage.Host) {
            var host = value
            host.expiry = host.expiry.map { Date(microseconds: $0.microseconds) }
            self.value = host
        }

        init?(_ columns: [SQLValue]) {
            guard columns.count == 3, let name = columns[0].text, HSTSStorage.canonicalName(name) == name,
                let includesSubdomains = columns[1].bool
            else { return nil }
            switch columns[2] {
            case .null: value = .init(name: name, includesSubdomains: includesSubdomains)
            case .integer(let end): value = .init(name: name, includesSubdomains: includesSubdomains, expiry: Date(microseconds: end))
            default: return nil
            }
        }

        var key: String { value.name }
        var expiry: Date? { value.expiry }
        static func columns(of key: String) -> [SQLValue] { [.text(key)] }
        var values: [SQLValue] { [.bool(value.includesSubdomains), value.expiry.map { .integer($0.microseconds) } ?? .null] }
    }
#endif
