// SPDX-License-Identifier: Apache-2.0

/// Decides which URLs must be loaded by a secure scheme instead, and learns it from responses.
package protocol UpgradePolicy: Sendable {
    /// Returns the URL to load instead; `nil` if the URL may be loaded as it is.
    func upgraded(_ url: URLRecord) -> URLRecord?
    /// Called for each response that comes from a server: redirects and responses with a challenge included.
    func note(_ response: Response)
}
