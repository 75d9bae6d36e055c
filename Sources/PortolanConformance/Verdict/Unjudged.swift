// SPDX-License-Identifier: Apache-2.0

/// Why a check can't be judged; one line.
struct Unjudged: Error, Hashable {
    let reason: String
    init(_ reason: String) { self.reason = reason }
}
