// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

extension Loader.Configuration {
    /// The cookies that the loader sends and stores; `nil` for none. Several loaders can share a storage.
    public var cookies: CookieStorage? {
        get { (cookiePolicy as? CookiePolicy)?.storage }
        set { cookiePolicy = newValue.map(CookiePolicy.init) }
    }
}

extension CookieStorage {
    /// The cookies of loaders with the default configuration.
    public static let shared = CookieStorage()
}
