// SPDX-License-Identifier: Apache-2.0

import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension Channel {
    /// Sees to it that programs which this one starts do not inherit the socket: its peer would not see it closed before they end.
    ///
    /// SwiftNIO opens sockets without `SOCK_CLOEXEC`; one that starts at that very moment still inherits it. On the channel's event loop.
    func keepFromChildren() {
        // `try?` because a socket that is closed already is in no danger.
        _ = try? pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { socket in
            fcntl(socket, F_SETFD, FD_CLOEXEC)
        }
    }
}
