// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// The client of one load, borrowed until `destroy` has returned. ``RunningLoad`` passes it only to code that runs
/// inside host calls.
@safe
struct BorrowedClient: @unchecked Sendable {  // … because `is_stopped` and `wake` are [any], and the rest is called only inside host calls
    let pointer: UnsafeMutablePointer<portolan_client>
}
