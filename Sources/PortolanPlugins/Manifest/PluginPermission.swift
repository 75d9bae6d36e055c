// SPDX-License-Identifier: Apache-2.0

/// A permission that a plugin needs for an effect outside its own loads. The manifest lists the plugin's permissions.
public enum PluginPermission: String, Hashable, Sendable, CaseIterable {
    /// The loads of handlers with `PORTOLAN_COOKIES` send and store the loader's cookies.
    case cookies
}
