// SPDX-License-Identifier: Apache-2.0

#if Redis
    import CPortolanHiredis

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// A connection to the server. hiredis makes it and parses the replies. One thread uses it at a time.
    ///
    /// Nothing blocks except for ``init(_:timeout:replyLimit:)``.
    // `@unchecked` because the thread that makes the connection passes it on to the thread that uses it. `@safe`
    // because only this class uses the context, and releases it at its end.
    @safe final class HiredisConnection: @unchecked Sendable {
        struct Failure: Error {
            let message: String
        }

        private let context: UnsafeMutablePointer<redisContext>
        private var outgoing: [UInt8] = []
        private var sentCount = 0
        /// The number of octets that were received since the last complete reply.
        private var replyCount = 0
        private let replyLimit: Int

        /// The largest number of octets that are read before the replies in them are parsed. This limits how deep a
        /// reply can nest before ``nestingLimit`` is checked. hiredis releases a reply recursively.
        private static let readLimit = 16 << 10
        /// How deep arrays can nest. The replies to the store's commands have two levels. The limit of hiredis is
        /// larger, and differs between its versions.
        private static let nestingLimit = 4

        /// Connects. This can block longer than the timeout, because the system resolves the name of a host.
        ///
        /// - Parameter replyLimit: the largest number of octets of a reply.
        init(_ address: RedisCacheConfiguration.Address, timeout: Duration, replyLimit: Int) throws(Failure) {
            let time = timeval(timeout)
            let opened =
                switch address.kind {
                case .tcp(let host, let port): unsafe redisConnectWithTimeout(host, CInt(port), time)
                case .unix(let path): unsafe redisConnectUnixWithTimeout(path, time)
                }
            guard let context = unsafe opened else { throw Failure(message: "there is not enough memory for a connection") }
            guard unsafe context.pointee.err == 0 else {
                let message = unsafe Self.text(of: context)
                unsafe redisFree(context)
                throw Failure(message: message)
            }
            unsafe self.context = context
            self.replyLimit = replyLimit
            let descriptor = unsafe context.pointee.fd
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            if case .tcp = address.kind {
                var one: CInt = 1
                _ = unsafe setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<CInt>.size))
            }
        }

        deinit { unsafe redisFree(context) }

        private static func text(of context: UnsafeMutablePointer<redisContext>) -> String {
            unsafe withUnsafePointer(to: &context.pointee.errstr) { text in
                unsafe text.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: text.pointee)) {
                    unsafe String(cString: $0)
                }
            }
        }

        var descriptor: CInt { unsafe context.pointee.fd }
        var hasOutput: Bool { sentCount < outgoing.count }

        /// Queues a command. ``send()`` sends it.
        func append(_ command: RedisCommand) { outgoing.append(contentsOf: command.octets) }

        /// Sends as much as the socket accepts now.
        ///
        /// - Returns: whether anything was sent.
        func send() throws(Failure) -> Bool {
            let start = sentCount
            while hasOutput {
                // The thread blocks SIGPIPE (PlatformThread).
                let count = unsafe outgoing.withUnsafeBytes { octets in
                    unsafe write(descriptor, octets.baseAddress.map { unsafe $0 + sentCount }, octets.count - sentCount)
                }
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN || errno == EWOULDBLOCK { break }
                guard count > 0 else { throw Failure(message: "write: \(Self.message(for: errno))") }
                sentCount += count
            }
            let hasSent = sentCount > start
            if !hasOutput {
                outgoing.removeAll(keepingCapacity: outgoing.capacity <= 64 << 10)
                sentCount = 0
            }
            return hasSent
        }

        /// Reads what has arrived.
        ///
        /// - Parameter receive: called with each reply.
        /// - Returns: whether anything has arrived.
        /// - Throws: ``Failure``; also if the server has closed the connection.
        func receive(_ receive: (RedisReply) -> Void) throws(Failure) -> Bool {
            var hasRead = false
            while true {
                var chunk = [UInt8](repeating: 0, count: Self.readLimit)
                let count = unsafe read(descriptor, &chunk, chunk.count)
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN || errno == EWOULDBLOCK { return hasRead }
                guard count != 0 else { throw Failure(message: "the server has closed the connection") }
                guard count > 0 else { throw Failure(message: "read: \(Self.message(for: errno))") }
                hasRead = true
                replyCount += count
                let reader = unsafe context.pointee.reader
                let isAccepted = unsafe chunk.withUnsafeBufferPointer { octets in
                    unsafe octets.withMemoryRebound(to: CChar.self) { unsafe redisReaderFeed(reader, $0.baseAddress, count) == REDIS_OK }
                }
                guard isAccepted else { throw Failure(message: "there is not enough memory for a reply") }
                while let reply = try nextReply() { receive(reply) }
                guard replyCount <= replyLimit else { throw Failure(message: "a reply has more than \(replyLimit) bytes") }
                if count < chunk.count { return true }
            }
        }

        private func nextReply() throws(Failure) -> RedisReply? {
            var reply: UnsafeMutableRawPointer?
            guard let reader = unsafe context.pointee.reader, unsafe redisReaderGetReply(reader, &reply) == REDIS_OK else {
                throw Failure(message: "the server does not speak the protocol of Redis")
            }
            guard let reply = unsafe reply else {
                guard unsafe reader.pointee.ridx <= CInt(Self.nestingLimit) else { throw Failure(message: "a reply nests too deep") }
                return nil
            }
            defer { unsafe freeReplyObject(reply) }
            replyCount = 0
            return unsafe Self.value(reply.assumingMemoryBound(to: redisReply.self), depth: 0)
        }

        /// - Parameter depth: the number of arrays around the value.
        private static func value(_ reply: UnsafePointer<redisReply>, depth: Int) -> RedisReply {
            let octets = unsafe UnsafeRawBufferPointer(start: reply.pointee.str, count: reply.pointee.str == nil ? 0 : reply.pointee.len)
            switch unsafe reply.pointee.type {
            case REDIS_REPLY_STRING: return .octets(unsafe Array(octets))
            case REDIS_REPLY_STATUS: return .status(unsafe String(decoding: octets, as: UTF8.self))
            case REDIS_REPLY_ERROR: return .error(unsafe String(decoding: octets, as: UTF8.self))
            case REDIS_REPLY_INTEGER: return .integer(unsafe reply.pointee.integer)
            case REDIS_REPLY_ARRAY:
                guard depth < nestingLimit else { return .error("the reply nests too deep") }
                return .array(
                    unsafe (0..<Int(reply.pointee.elements)).map { index in
                        guard let element = unsafe reply.pointee.element[index] else { return .null }
                        return unsafe value(element, depth: depth + 1)
                    })
            default: return .null
            }
        }

        private static func message(for number: CInt) -> String {
            guard let text = unsafe strerror(number) else { return "error \(number)" }
            return unsafe String(cString: text)
        }
    }

    extension timeval {
        fileprivate init(_ time: Duration) {
            let (seconds, fraction) = time.components
            self.init(tv_sec: time_t(seconds), tv_usec: suseconds_t(fraction / 1_000_000_000_000))
        }
    }
#endif
