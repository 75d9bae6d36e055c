// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestThreads
import Testing

@testable import PortolanTransport

/// `withWriteSignalsBlocked` removes SIGPIPE and SIGXFSZ that its closure raises. The tests run on threads that block
/// these signals, so that they can check for a pending signal.
@Suite struct WriteSignalsTests {
    private static func isPending(_ signal: CInt = SIGPIPE) -> Bool {
        var pending = sigset_t()
        unsafe sigpending(&pending)
        return unsafe sigismember(&pending, signal) == 1
    }

    private static func raiseSignal(_ signal: CInt = SIGPIPE) { pthread_kill(pthread_self(), signal) }

    @Test(arguments: [SIGPIPE, SIGXFSZ]) func signalRaisedByTheClosureIsRemoved(_ signal: CInt) async throws {
        let (isPendingInside, isPendingAfterwards) = try await inOwnThread {
            let isPendingInside = withWriteSignalsBlocked {
                Self.raiseSignal(signal)
                return Self.isPending(signal)
            }
            return (isPendingInside, Self.isPending(signal))
        }
        #expect(isPendingInside && !isPendingAfterwards)
    }

    @Test func signalThatWasPendingBeforeIsKept() async throws {
        let isPending = try await inOwnThread {
            Self.raiseSignal()
            withWriteSignalsBlocked { Self.raiseSignal() }
            return Self.isPending()
        }
        #expect(isPending)
    }
}
