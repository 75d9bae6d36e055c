// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestThreads
import Testing

@testable import PortolanTransport

/// The tests run on threads that already block SIGPIPE, so that they can check for a pending signal.
@Suite struct WriteSignalsTests {
    private static func isPending(_ signal: CInt = SIGPIPE) -> Bool {
        var pending = sigset_t()
        unsafe sigpending(&pending)
        return unsafe sigismember(&pending, signal) == 1
    }

    private static func raiseSignal(_ signal: CInt = SIGPIPE) { pthread_kill(pthread_self(), signal) }

    @Test(arguments: [SIGPIPE, SIGXFSZ]) func signalRaisedInsideIsRemoved(_ signal: CInt) async throws {
        let (before, after) = try await inOwnThread {
            let before = withoutWriteSignals {
                Self.raiseSignal(signal)
                return Self.isPending(signal)
            }
            return (before, Self.isPending(signal))
        }
        #expect(before && !after)
    }

    @Test func signalPendingBeforeIsKept() async throws {
        let isPending = try await inOwnThread {
            Self.raiseSignal()
            withoutWriteSignals { Self.raiseSignal() }
            return Self.isPending()
        }
        #expect(isPending)
    }
}
