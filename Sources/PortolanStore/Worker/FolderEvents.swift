// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import CPortolanLinux

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// Lets one thread wait for calls of other threads (`eventfd(2)`), and for changes of a folder (`inotify(7)`).
    final class FolderEvents: Sendable {
        private let callDescriptor: CInt
        private let changeDescriptor: CInt

        /// - Throws: ``StoreError/Code/noResources``
        init() throws(StoreError) {
            callDescriptor = eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC))
            guard callDescriptor >= 0 else { throw .system(errno, "the store can't be started", at: "eventfd") }
            // If this fails, the worker looks for changes in intervals.
            changeDescriptor = inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC))
        }

        deinit {
            close(callDescriptor)
            if changeDescriptor >= 0 { close(changeDescriptor) }
        }

        /// Ends the current wait or, if no thread waits, the next wait. Can be called on any thread.
        func wake() {
            var one: UInt64 = 1
            _ = unsafe write(callDescriptor, &one, 8)
        }

        /// Watches the folder that has this path now.
        ///
        /// - Returns: whether changes end a wait.
        func watch(_ folder: String) -> Bool {
            let mask = [IN_MODIFY, IN_ATTRIB, IN_CREATE, IN_DELETE, IN_MOVED_TO, IN_MOVED_FROM].reduce(0) { $0 | UInt32($1) }
            return unsafe changeDescriptor >= 0 && inotify_add_watch(changeDescriptor, folder, mask) >= 0
        }

        /// Waits for a call or a change.
        ///
        /// - Parameter limit: the longest wait in milliseconds; −1 for no limit.
        func wait(atMost limit: CInt) {
            var polled = [
                pollfd(fd: callDescriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: changeDescriptor, events: Int16(POLLIN), revents: 0),
            ]
            _ = unsafe poll(&polled, nfds_t(changeDescriptor >= 0 ? 2 : 1), limit)
            drain(callDescriptor)
            if changeDescriptor >= 0 { drain(changeDescriptor) }
        }

        /// Waits for a call, for at most `limit` milliseconds. The call also ends the next ``wait(atMost:)``.
        func waitForCall(atMost limit: CInt) {
            var polled = pollfd(fd: callDescriptor, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&polled, 1, limit)
        }

        private func drain(_ descriptor: CInt) {
            var bytes = [UInt8](repeating: 0, count: 4096)
            while unsafe read(descriptor, &bytes, bytes.count) > 0 {}
        }
    }
#endif
