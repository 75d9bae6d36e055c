// SPDX-License-Identifier: Apache-2.0


/// Decides through which proxy a URL is loaded.
public struct ProxyPolicy: Sendable {
    /// Straight to the origin, whatever the environment says.
    public static let direct = Self()
    public static let environment = Self()
}
