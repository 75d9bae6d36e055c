// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import CPortolanLinux

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// Lets one thread wait for calls of others (`eventfd(2)`), and for changes of a folder (`inotify(7)`).
    final class FolderEvents: Sendable {
        private let calls: CInt
        private let changes: CInt

        /// - Throws: ``StoreError/Code/noResources``
        init() throws(StoreError) {
            calls = eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC))
            guard calls >= 0 else { throw .system(errno, "the store can't be started", at: "eventfd") }
            // Without it, changes are looked for in intervals.
            changes = inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC))
        }

        deinit {
            close(calls)
            if changes >= 0 { close(changes) }
        }

        /// Ends a wait, or the next one. Any thread.
        func wake() {
            var one: UInt64 = 1
            _ = unsafe write(calls, &one, 8)
        }

        /// Watches a folder, which may be another one of the same name.
        ///
        /// - Returns: whether changes end a wait.
        func watch(_ folder: String) -> Bool {
            let mask = UInt32(IN_MODIFY) | UInt32(IN_CREATE) | UInt32(IN_DELETE) | UInt32(IN_MOVED_TO) | UInt32(IN_MOVED_FROM)
            return unsafe changes >= 0 && inotify_add_watch(changes, folder, mask) >= 0
        }

        /// Waits for a call or a change.
        ///
        /// - Parameter limit: the longest wait in milliseconds; −1 for no limit.
        func wait(atMost limit: CInt) {
            var wanted = [pollfd(fd: calls, events: Int16(POLLIN), revents: 0), pollfd(fd: changes, events: Int16(POLLIN), revents: 0)]
            _ = unsafe poll(&wanted, nfds_t(changes >= 0 ? 2 : 1), limit)
            drain(calls)
            if changes >= 0 { drain(changes) }
        }

        /// Waits for a call, which also ends the next ``wait(atMost:)``.
        func waitForCall(atMost limit: CInt) {
            var wanted = pollfd(fd: calls, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&wanted, 1, limit)
        }

        private func drain(_ descriptor: CInt) {
            var bytes = [UInt8](repeating: 0, count: 4096)
            while unsafe read(descriptor, &bytes, bytes.count) > 0 {}
        }
    }
#endif
