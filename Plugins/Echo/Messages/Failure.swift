// SPDX-License-Identifier: Apache-2.0

/// Why a load fails, or is refused.
///
/// The message is one line of UTF-8 that says what happened and what to do; no user information of a URL and no secret stands in it.
struct Failure: Error, Equatable, Sendable {
    let code: Code
    /// Reverse DNS, where `code` is a number of somebody's own.
    let domain: String?
    let message: String

    init(_ code: Code, domain: String? = nil, _ message: String) {
        self.code = code
        self.domain = domain
        self.message = message
    }
}

/// What ends a load before it is finished.
enum Interruption: Error, Equatable, Sendable {
    /// Nobody wants the rest; no end is owed.
    case stopped
    case failed(Failure)
}
