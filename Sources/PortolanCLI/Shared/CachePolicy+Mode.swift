// SPDX-License-Identifier: Apache-2.0

import Portolan

extension CachePolicy {
    /// The policies by the names of Fetch, "request cache mode".
    private static let modes: KeyValuePairs<String, CachePolicy> = [
        "default": .useProtocol, "reload": .reload, "no-store": .noStore, "no-cache": .revalidate, "force-cache": .preferCached,
        "only-if-cached": .onlyCached,
    ]

    /// The names, for a message.
    static var modeList: String { modes.dropLast().map(\.key).joined(separator: ", ") + " and \(modes.last?.key ?? "")" }

    /// - Returns: `nil` for an unknown name.
    init?(mode: String) {
        guard let policy = Self.modes.first(where: { $0.key == mode })?.value else { return nil }
        self = policy
    }
}
