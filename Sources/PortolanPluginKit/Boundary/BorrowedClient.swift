// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// The client of one load, borrowed until `destroy` has returned. Only attempts receive it, so its user is always
/// inside a host call into the load.
@safe
struct BorrowedClient: @unchecked Sendable {  // … because `is_stopped` and `wake` are [any], and the rest is called only inside host calls
    let pointer: UnsafeMutablePointer<portolan_client>
}
