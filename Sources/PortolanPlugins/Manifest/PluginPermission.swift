// SPDX-License-Identifier: Apache-2.0

/// A permission that a plugin needs for an effect outside its own loads. The manifest lists the plugin's permissions.
public enum PluginPermission: String, Hashable, Sendable, CaseIterable {
    /// The loads of handlers with `PORTOLAN_COOKIES` send and store the loader's cookies.
    case cookies
    /// The plugin uses network connections that are not nested loads. The host does not enforce this permission; the
    /// conformance rule SEC-07 checks it.
    case network
    /// The plugin uses files or executes programs outside its own folder, apart from libraries and similar files of the
    /// system. The host does not enforce this permission; SEC-07 checks it.
    case files
}
