// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanFileSystem
import PortolanTransport
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension ByteInputStream {
    /// A stream of an open descriptor: of a pipe, a socket, a terminal, or another file.
    ///
    /// The stream duplicates the descriptor (dup(2)) and closes the duplicate. The caller keeps its own, and closes it
    /// at any time. Both share the offset of a file. The modes of the caller's descriptor, such as `O_NONBLOCK`, do not
    /// change. Bytes that the program does not read stay in the pipe or socket, except after
    /// ``withAvailableBytes(_:)``.
    ///
    /// The stream fails with `LoadError.Code.noResources` if no descriptor is free, with
    /// `LoadError.Code.badRequest` for a datagram socket, and with `LoadError.Code.ioFailed` if the descriptor is
    /// not open, or a read fails.
    public convenience init(descriptor: Int32) { self.init(DescriptorSource(descriptor)) }
}

extension ByteOutputStream {
    /// A stream to an open descriptor: of a pipe, a socket, a terminal, or another file.
    ///
    /// The stream duplicates the descriptor (dup(2)) and closes the duplicate. The caller keeps its own, and closes it
    /// at any time: the reader of a pipe sees the end when both are closed. ``close()`` closes the sending direction of
    /// a socket (`SHUT_WR`, shutdown(2)).
    ///
    /// The stream fails with `LoadError.Code.connectionLost` if nobody reads the pipe or socket any more (`EPIPE`),
    /// with `LoadError.Code.noResources` if no descriptor is free, with `LoadError.Code.badRequest` for a datagram
    /// socket, and otherwise with `LoadError.Code.ioFailed`. It never raises SIGPIPE.
    public convenience init(descriptor: Int32) { self.init(DescriptorSink(descriptor)) }
}

/// A descriptor of a stream, and its watch.
private final class OpenDescriptor: Sendable {
    enum Kind { case pipe, terminal, socket, regularFile, other }

    let descriptor: Descriptor
    let kind: Kind
    /// Whether reads and writes never wait.
    let isNonBlocking: Bool
    private let watch: DescriptorWatch
    private let isClosed = Atomic(false)

    init(duplicating number: Int32, isForWriting: Bool) throws(LoadError) {
        let loop = try SocketEventLoop.next.get()
        kind = try Self.kind(of: number)
        do throws(SystemError) {
            (descriptor, isNonBlocking) = try Self.duplicate(number, kind, isForWriting: isForWriting)
        } catch {
            throw LoadError(
                error.code == EMFILE ? .noResources : .ioFailed,
                message: "the descriptor \(number) can't be duplicated: \(error) (errno \(error.code))")
        }
        watch = DescriptorWatch(descriptor.number, isForWriting: isForWriting, on: loop)
    }

    deinit { close() }

    private static func kind(of number: Int32) throws(LoadError) -> Kind {
        var information = stat()
        guard unsafe fstat(number, &information) == 0 else {
            throw LoadError(.ioFailed, message: "the descriptor \(number) is not open: \(SystemError.last)")
        }
        switch information.st_mode & S_IFMT {
        case S_IFIFO: return .pipe
        case S_IFREG: return .regularFile
        case S_IFCHR where isatty(number) == 1:
            // To open the main side of a pseudoterminal again would make another one: TIOCGPTN, ioctl_tty(2), pty(7).
            var index: CInt = 0
            return unsafe ioctl(number, 0x8004_5430, &index) == 0 ? .other : .terminal
        case S_IFSOCK:
            var (type, size) = (CInt(0), socklen_t(MemoryLayout<CInt>.size))
            guard unsafe getsockopt(number, SOL_SOCKET, SO_TYPE, &type, &size) == 0, type == CInt(SOCK_STREAM.rawValue) else {
                throw LoadError(.badRequest, message: "the descriptor \(number) is not that of a stream socket, but of one for messages")
            }
            return .socket
        default: return .other
        }
    }

    /// Opens a pipe or a terminal again (proc_pid_fd(5)), because `O_NONBLOCK` is a mode that duplicates share.
    private static func duplicate(
        _ number: Int32, _ kind: Kind, isForWriting: Bool
    ) throws(SystemError) -> (Descriptor, isNonBlocking: Bool) {
        if kind == .pipe || kind == .terminal {
            let access = fcntl(number, F_GETFL) & O_ACCMODE
            let wanted = isForWriting ? O_WRONLY : O_RDONLY
            if access == O_RDWR || access == wanted {
                let reopened = unsafe open("/proc/self/fd/\(number)", wanted | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                if reopened > 2 { return (Descriptor(number: reopened), true) }
                // No standard descriptor of the program is used, even if it is closed at the moment.
                if reopened >= 0 { try? Descriptor(number: reopened).close() }  // because nothing was written
            }
        }
        return (try Descriptor(number: number).copy(), kind == .socket || kind == .regularFile)
    }

    /// Whether the next read or write of a byte does not wait: poll(2)
    func isReady(_ events: Int32) -> Bool {
        var entry = pollfd(fd: descriptor.number, events: Int16(events), revents: 0)
        while true {
            let count = unsafe poll(&entry, 1, 0)
            if count >= 0 || errno != EINTR { return count != 0 }
        }
    }

    /// The number of bytes that can be read, 0 at the end: FIONREAD, ioctl_tty(2). `nil` if it is not known.
    var availableCount: Int? {
        var count: CInt = 0
        // From asm-generic/ioctls.h, because it is a macro that Swift does not see.
        return unsafe ioctl(descriptor.number, 0x541B, &count) == 0 ? Int(count) : nil
    }

    func whenReady(_ action: @escaping @Sendable () -> Void) { watch.whenReady(action) }

    func close() {
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        watch.end()
        try? descriptor.close()  // because nothing is buffered
    }
}

private final class DescriptorSource: ByteSource {
    private let number: Int32
    private let state = Mutex<OpenDescriptor?>(nil)

    init(_ number: Int32) { self.number = number }

    var waitsForDisk: Bool { state.withLock { $0?.kind == .regularFile } }

    func open(_ completion: @escaping @Sendable (LoadError?) -> Void) {
        do throws(LoadError) {
            let opened = try OpenDescriptor(duplicating: number, isForWriting: false)
            state.withLock { $0 = opened }
            completion(nil)
        } catch {
            completion(error)
        }
    }

    func peek(whenReady: @escaping @Sendable () -> Void) -> BodyRead? {
        guard let open = state.withLock({ $0 }) else { return .end }
        guard open.isReady(POLLIN) else {
            open.whenReady(whenReady)
            return .wait
        }
        // At the end, and after an error, a read returns at once and takes no bytes.
        return open.availableCount ?? 0 > 0 ? .bytes : nil
    }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        guard let open = state.withLock({ $0 }) else { return .end }
        guard open.isReady(POLLIN) else {
            open.whenReady(whenReady)
            return .wait
        }
        do throws(SystemError) {
            let count =
                try open.kind == .socket
                ? receive(into: &buffer, from: open.descriptor) : open.descriptor.read(into: &buffer)
            return count > 0 ? .bytes : .end
        } catch {
            guard error.code != EAGAIN else {
                open.whenReady(whenReady)
                return .wait
            }
            return .failed(LoadError(.ioFailed, message: "the descriptor \(number) can't be read: \(error) (errno \(error.code))"))
        }
    }

    func property(_ name: String) -> (any Sendable)? {
        name == StreamPropertyKey<Int32>.nativeDescriptor.name ? state.withLock { $0?.descriptor.number } : nil
    }

    func close() { state.withLock { $0.take() }?.close() }
}

/// recv(2) from a socket, without waiting
private func receive(into buffer: inout OutputRawSpan, from socket: Descriptor) throws(SystemError) -> Int {
    var result = 0
    unsafe buffer.withUnsafeMutableBytes { bytes, initialized in
        let free = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[initialized...])
        repeat {
            result = unsafe recv(socket.number, free.baseAddress, free.count, CInt(MSG_DONTWAIT))
        } while result < 0 && errno == EINTR
        if result > 0 { initialized += result }
    }
    guard result >= 0 else { throw .last }
    return result
}

/// send(2) to a socket, without waiting
private func send(_ bytes: borrowing RawSpan, to socket: Descriptor) throws(SystemError) -> Int {
    let (count, error) = unsafe bytes.withUnsafeBytes { bytes in
        while true {
            let count = unsafe send(socket.number, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
            if count >= 0 || errno != EINTR { return (count, count < 0 ? SystemError.last : nil) }
        }
    }
    if let error { throw error }
    return count
}

private final class DescriptorSink: ByteSink {
    private let number: Int32
    private let state = Mutex<OpenDescriptor?>(nil)

    init(_ number: Int32) { self.number = number }

    var waitsForDisk: Bool { state.withLock { $0?.kind == .regularFile } }

    func open(_ completion: @escaping @Sendable (LoadError?) -> Void) {
        do throws(LoadError) {
            let opened = try OpenDescriptor(duplicating: number, isForWriting: true)
            state.withLock { $0 = opened }
            completion(nil)
        } catch {
            completion(error)
        }
    }

    func write(_ bytes: borrowing RawSpan, whenReady: @escaping @Sendable () -> Void) -> StreamWrite {
        guard let open = state.withLock({ $0 }) else { return .failed(.stream(.streamNotOpen, "the stream is closed")) }
        guard open.isReady(POLLOUT) else {
            open.whenReady(whenReady)
            return .wait
        }
        guard !bytes.isEmpty else { return .wrote(0) }
        // A pipe that has space accepts PIPE_BUF bytes without waiting (pipe(7)), other files at least a byte.
        let limit = open.isNonBlocking ? Int.max : open.kind == .pipe ? Int(PIPE_BUF) : 1
        let part = bytes.extracting(first: min(limit, bytes.byteCount))
        do throws(SystemError) {
            guard open.kind == .socket else { return .wrote(try writeWithoutSignals(part, to: open.descriptor, at: nil)) }
            return .wrote(try send(part, to: open.descriptor))
        } catch {
            switch error.code {
            case EAGAIN:
                open.whenReady(whenReady)
                return .wait
            case EPIPE, ECONNRESET:
                return .failed(LoadError(.connectionLost, message: "nobody reads what is written to the descriptor \(number): \(error)"))
            default:
                return .failed(LoadError(.ioFailed, message: "the descriptor \(number) can't be written: \(error) (errno \(error.code))"))
            }
        }
    }

    func property(_ name: String) -> (any Sendable)? {
        name == StreamPropertyKey<Int32>.nativeDescriptor.name ? state.withLock { $0?.descriptor.number } : nil
    }

    func finish() -> LoadError? {
        if let open = state.withLock({ $0 }), open.kind == .socket { _ = shutdown(open.descriptor.number, CInt(SHUT_WR)) }
        return nil
    }

    func close() { state.withLock { $0.take() }?.close() }
}
