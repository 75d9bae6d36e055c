// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import NIOCore
import NIOPosix
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The event loops of SwiftNIO that all engines share.
enum EventQueues {
    /// Their epoll(7) descriptors are close-on-exec, as SwiftNIO 2.101 does not make them: a program that is started later would inherit them. One
    /// that somebody else makes just then is made so, too, and loses nothing: in another program it leads nowhere.
    static let loops: [any EventLoop] = {
        let before = queues()
        let loops = Array(MultiThreadedEventLoopGroup.singleton.makeIterator())
        for descriptor in queues().subtracting(before) {
            _ = fcntl(descriptor, F_SETFD, fcntl(descriptor, F_GETFD) | FD_CLOEXEC)
        }
        SleeplessThreads.add { loops.contains { $0.inEventLoop } }
        return loops
    }()

    private static func queues() -> Set<CInt> {
        // `try?` because where the list can't be read (`proc(5)`), they stay as they are.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return Set(names.compactMap { CInt($0) }.filter(isEventQueue))
    }

    private static func isEventQueue(_ descriptor: CInt) -> Bool {
        // `try?` because the descriptor of the list itself is closed by now.
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")) == "anon_inode:[eventpoll]"
    }
}
