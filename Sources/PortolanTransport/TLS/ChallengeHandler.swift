// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// Answers the challenges that come up while a connection is opened. Called on the connection's event loop.
package protocol ChallengeHandler: AnyObject {
    /// The connection waits for the answer to this challenge. There is only one open challenge at a time.
    func handleChallenge(_ challenge: AuthenticationChallenge)
    /// The connection no longer needs the answer.
    func cancelChallenge(_ challenge: AuthenticationChallenge)
}
