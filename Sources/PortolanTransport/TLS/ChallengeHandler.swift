// SPDX-License-Identifier: Apache-2.0

package import PortolanCore

/// Whoever a connection is opened for, as far as questions go. On the connection's event loop.
package protocol ChallengeHandler: AnyObject {
    /// A question to be answered before the connection can be opened. One at a time.
    func ask(_ challenge: AuthenticationChallenge)
    /// The answer is needed no more.
    func withdraw(_ challenge: AuthenticationChallenge)
}
