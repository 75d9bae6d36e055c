// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// The client of one load, lent until `destroy` has returned. Who has it in hand is in a turn: it is given to attempts alone.
@safe
struct BorrowedClient: @unchecked Sendable {  // … because `is_stopped` and `wake` are [any], and the rest is called in turns
    let pointer: UnsafeMutablePointer<portolan_client>
}
