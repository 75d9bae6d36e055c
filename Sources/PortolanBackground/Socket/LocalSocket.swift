// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import CPortolanLinux
    import PortolanCore
    import PortolanFileSystem

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// UNIX sockets (unix(7)). All functions block.
    enum LocalSocket {
        /// The longest path in bytes.
        static let pathLimit = 107

        /// Listens at a path, where only this user can connect. A socket that another process has left is replaced.
        ///
        /// The socket gets its name after it listens, so a program that finds it can connect.
        static func listen(at path: String) throws(LoadError) -> Descriptor {
            let listener = try make()
            let temporary = "\(path).new"
            FileSystem.remove(temporary)
            do throws(LoadError) {
                // bind(2) creates the socket with the permissions that umask(2) leaves, in a folder of mode 0700.
                unsafe try call(listener, temporary, "listen at") { number, address, size in unsafe bind(number, address, size) }
                guard unsafe chmod(temporary, 0o600) == 0, Self.listen(listener, 64), unsafe rename(temporary, path) == 0 else {
                    throw error(.last, "can't listen at", path)
                }
                return listener
            } catch {
                try? listener.close()  // because the first error is reported
                FileSystem.remove(temporary)
                throw error
            }
        }

        private static func listen(_ socket: Descriptor, _ backlog: Int32) -> Bool {
            #if canImport(Glibc)
                Glibc.listen(socket.number, backlog) == 0
            #else
                Musl.listen(socket.number, backlog) == 0
            #endif
        }

        /// - Returns: `nil` if nobody listens at the path.
        static func connect(to path: String) throws(LoadError) -> Descriptor? {
            let socket = try make()
            do throws(LoadError) {
                var missing = false
                unsafe try call(socket, path, "connect to") { number, address, size in
                    #if canImport(Glibc)
                        let result = unsafe Glibc.connect(number, address, size)
                    #else
                        let result = unsafe Musl.connect(number, address, size)
                    #endif
                    missing = result != 0 && (errno == ENOENT || errno == ECONNREFUSED)
                    return missing ? 0 : result
                }
                if missing {
                    try? socket.close()  // because nothing was sent
                    return nil
                }
                return socket
            } catch {
                try? socket.close()  // because the first error is reported
                throw error
            }
        }

        /// Waits for the next connection.
        ///
        /// - Returns: `nil` if the listener was shut down.
        static func accept(_ listener: Descriptor) -> Descriptor? {
            while true {
                let number = portolan_accept(listener.number)
                if number >= 0 { return Descriptor(number: number) }
                switch errno {
                case EINTR, ECONNABORTED: continue
                case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                    // The connection stays in the backlog. Meanwhile another connection can end, which frees resources.
                    var pause = timespec(tv_sec: 0, tv_nsec: 100_000_000)
                    unsafe nanosleep(&pause, nil)
                default: return nil
                }
            }
        }

        /// The user who has connected: SO_PEERCRED; `nil` if the kernel does not say it.
        static func user(of socket: Descriptor) -> uid_t? {
            // struct ucred, which Glibc declares only with _GNU_SOURCE: process, user and group.
            var credentials: (Int32, UInt32, UInt32) = (0, 0, 0)
            var size = socklen_t(MemoryLayout.size(ofValue: credentials))
            guard unsafe getsockopt(socket.number, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else { return nil }
            return credentials.1
        }

        /// Ends both directions, so that a thread that reads from the socket gets the end of the stream.
        static func shutDown(_ socket: Descriptor) { _ = shutdown(socket.number, Int32(SHUT_RDWR)) }

        private static func make() throws(LoadError) -> Descriptor {
            let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            guard number >= 0 else {
                throw LoadError(.noResources, message: "no socket can be made: \(SystemError.last)")
            }
            return Descriptor(number: number)
        }

        private static func call(
            _ socket: Descriptor, _ path: String, _ verb: String,
            _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
        ) throws(LoadError) {
            let bytes = Array(path.utf8)
            guard !bytes.isEmpty, bytes.count <= pathLimit, !bytes.contains(0) else {
                throw LoadError(
                    .ioFailed,
                    message:
                        "can't \(verb) '\(path)': the path of a socket has 1 to \(pathLimit) bytes; set XDG_RUNTIME_DIR to a shorter one")
            }
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
            let result = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    unsafe function(socket.number, address, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            guard result == 0 else { throw error(.last, "can't \(verb)", path) }
        }

        private static func error(_ error: SystemError, _ problem: String, _ path: String) -> LoadError {
            LoadError(.ioFailed, message: "\(problem) '\(path)': \(error)")
        }
    }

    /// A connection that carries lines in both directions. One thread reads; any thread can write.
    final class LineConnection: Sendable {
        private let socket: Descriptor
        private let writing = ConditionLock(())
        private let reader: ConditionLock<Reader>

        private struct Reader {
            var buffer = [UInt8](repeating: 0, count: 16 << 10)
            var unread: [UInt8] = []
        }

        init(_ socket: Descriptor) {
            self.socket = socket
            reader = ConditionLock(Reader())
        }

        // `try?` because a written line does not count as received, so an error of close(2) changes nothing.
        deinit { try? socket.close() }

        /// - Parameters:
        ///   - limit: the length of the longest line, in bytes.
        ///   - time: how long to wait; `nil` for no limit.
        /// - Returns: `nil` at the end, after an error, and after ``shutDown()``.
        /// - Throws: `LoadError.Code.limitExceeded` for a line that is longer than `limit`; `LoadError.Code.timedOut`
        ///   if no line arrives within `time`.
        func readLine(atMost limit: Int = ServiceMessage.requestLimit, within time: Duration? = nil) throws(LoadError) -> [UInt8]? {
            let deadline = time.map { MonotonicTime.now + $0 }
            let result: Result<[UInt8]?, LoadError> = reader.withLock { reader in
                var searched = 0
                while true {
                    if let end = reader.unread[searched...].firstIndex(of: 0x0A) {
                        let line = Array(reader.unread[..<end])
                        reader.unread.removeFirst(end + 1)
                        return .success(line)
                    }
                    searched = reader.unread.count
                    guard searched <= limit else {
                        return .failure(
                            LoadError(.limitExceeded, message: "a message has more than \(limit) bytes"))
                    }
                    // `try?` because the read below then fails, too.
                    if let deadline, (try? socket.waitUntilReadable(within: max(deadline - MonotonicTime.now, .zero))) == false {
                        return .failure(LoadError(.timedOut, message: "the transfer service has not answered in time"))
                    }
                    // `try?` because a lost connection counts as one that has ended.
                    guard let count = try? socket.read(into: &reader.buffer), count > 0 else { return .success(nil) }
                    reader.unread += reader.buffer[..<count]
                }
            }
            return try result.get()
        }

        /// - Returns: `false` if the peer is gone.
        @discardableResult
        func write(_ message: some Encodable) throws(LoadError) -> Bool {
            let line = try ServiceMessage.encode(message)
            return writing.withLock { _ in
                do throws(SystemError) {
                    try socket.write(all: line)
                    return true
                } catch {
                    return false
                }
            }
        }

        func shutDown() { LocalSocket.shutDown(socket) }
    }
#endif
