// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// Answers the challenges that come up while a connection is opened. Called on the connection's event loop.
package protocol ChallengeHandler: AnyObject {
    /// A challenge that must be answered before the connection can be opened. One at a time.
    func ask(_ challenge: AuthenticationChallenge)
    /// The answer is no longer needed.
    func withdraw(_ challenge: AuthenticationChallenge)
}
