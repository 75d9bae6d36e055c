// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
public import PortolanCore

extension Loader.Configuration {
    /// The hosts that are loaded over HTTPS only; `nil` for none. Several loaders can share a storage.
    public var strictTransportSecurity: HSTSStorage? {
        get { (upgradePolicy as? HSTSPolicy)?.storage }
        set { upgradePolicy = newValue.map(HSTSPolicy.init) }
    }
}

extension HSTSStorage {
    /// The hosts of loaders with the default configuration.
    public static let shared = HSTSStorage()
}

/// Upgrades requests to hosts that must be loaded over HTTPS only, and adds the hosts whose responses require this.
package struct HSTSPolicy: UpgradePolicy {
    package let storage: HSTSStorage

    package init(storage: HSTSStorage) { self.storage = storage }

    package func upgraded(_ url: URLRecord) -> URLRecord? { storage.upgraded(url, now: Date()) }

    /// Adds or removes the host of a response. Only the first field is used (RFC 6797 §8.1).
    package func learn(from response: Response) -> String? {
        guard response.isVerified, let name = HTTPField.Name("Strict-Transport-Security"),
            let field = response.fields.first(where: { $0.name == name })
        else { return nil }
        return storage.updateHost(unsafe field.withUnsafeBytesOfValue { unsafe Array($0) }, from: response.url, now: Date())
    }
}
