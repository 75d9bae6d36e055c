// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore

/// What a transport ends with where the peer resets the connection.
let connectionReset: any Error = IOError(errnoCode: ECONNRESET, reason: "read")
