// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestThreads
import Testing

@testable import PortolanTransport

/// On threads that have SIGPIPE blocked before, where what comes can be looked at.
@Suite struct BrokenPipeSignalTests {
    private static var isPending: Bool {
        var pending = sigset_t()
        unsafe sigpending(&pending)
        return unsafe sigismember(&pending, SIGPIPE) == 1
    }

    private static func raiseSignal() { pthread_kill(pthread_self(), SIGPIPE) }

    @Test func whatComesMeanwhileIsTakenBack() async throws {
        let (before, after) = try await inOwnThread {
            let before = withoutBrokenPipeSignal {
                Self.raiseSignal()
                return Self.isPending
            }
            return (before, Self.isPending)
        }
        #expect(before && !after)
    }

    @Test func whatCameBeforeStays() async throws {
        let stays = try await inOwnThread {
            Self.raiseSignal()
            withoutBrokenPipeSignal { Self.raiseSignal() }
            return Self.isPending
        }
        #expect(stays)
    }
}
