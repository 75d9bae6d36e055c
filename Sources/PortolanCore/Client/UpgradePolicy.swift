// SPDX-License-Identifier: Apache-2.0

/// Decides which URLs must be loaded with a secure scheme instead. A response can require this for its host (HSTS).
package protocol UpgradePolicy: Sendable {
    /// Returns the secure URL to load instead; `nil` if the URL can be loaded unchanged.
    func upgraded(_ url: URLRecord) -> URLRecord?
    /// Stores what a server's response says about its host, if the response is verified (``Response/isVerified``).
    /// Called for each response, redirects and responses with a challenge included.
    ///
    /// - Returns: what was stored or removed, or why it was not, for the log; `nil` if the response says nothing.
    func learn(from response: Response) -> String?
}
