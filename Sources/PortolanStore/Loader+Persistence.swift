// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import PortolanCookies
    public import PortolanCore
    import PortolanHSTS

    extension Loader.Configuration {
        /// The default settings, with the storages of a state folder. Its cookies, credentials and HSTS hosts outlive
        /// the process.
        public static func persistent(in state: StateFolder) -> Self {
            var configuration = Self()
            configuration.cookies = state.cookies
            configuration.credentials = state.credentials
            configuration.strictTransportSecurity = state.strictTransportSecurity
            return configuration
        }
    }
#endif
