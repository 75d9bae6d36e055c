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
    ///
    /// - Returns: a message for the log; `nil` if the response does not have the field.
    package func learn(from response: Response) -> String? {
        guard let field = response.fields.first(where: { $0.name == .strictTransportSecurity }) else { return nil }
        let host = response.url.host.map(String.init) ?? ""
        func refusal(_ reason: String) -> String { "HSTS host not stored: \(host): \(reason)" }
        guard response.url.scheme == "https" else { return refusal("the response came without TLS (RFC 6797 §8.1)") }
        guard response.isVerified else { return refusal("the server's certificate was not verified (RFC 6797 §8.1)") }
        guard HSTSStorage.canonicalName(host) != nil else { return refusal("it is an address (RFC 6797 §8.1.1)") }
        return storage.updateHost(unsafe field.withUnsafeBytesOfValue { unsafe Array($0) }, from: response.url, now: Date())
            ?? refusal("the field Strict-Transport-Security is malformed (RFC 6797 §6.1)")
    }
}
