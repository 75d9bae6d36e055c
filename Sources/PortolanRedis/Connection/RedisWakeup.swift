// SPDX-License-Identifier: Apache-2.0

#if Redis
    import CPortolanLinux

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// Lets one thread wait for a socket and for calls of other threads (`eventfd(2)`).
    final class RedisWakeup: Sendable {
        private let descriptor: CInt

        /// If no descriptor can be made, the thread looks for calls every 10 ms.
        init() { descriptor = eventfd(0, CInt(EFD_NONBLOCK) | CInt(EFD_CLOEXEC)) }

        deinit {
            if descriptor >= 0 { close(descriptor) }
        }

        /// Ends the current wait or, if no thread waits, the next wait. Can be called on any thread.
        func wake() {
            var one: UInt64 = 1
            _ = unsafe write(descriptor, &one, 8)
        }

        /// Waits for a call of ``wake()`` or for the socket.
        ///
        /// - Parameter milliseconds: the longest wait; −1 for no limit.
        func wait(_ socket: CInt?, forWriting: Bool, atMost milliseconds: CInt) {
            var polled = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
            if let socket { polled.append(pollfd(fd: socket, events: Int16(forWriting ? POLLIN | POLLOUT : POLLIN), revents: 0)) }
            let limit = descriptor >= 0 ? milliseconds : milliseconds < 0 ? 10 : min(milliseconds, 10)
            _ = unsafe poll(&polled, nfds_t(polled.count), limit)
            var count: UInt64 = 0
            _ = unsafe read(descriptor, &count, 8)
        }
    }
#endif
