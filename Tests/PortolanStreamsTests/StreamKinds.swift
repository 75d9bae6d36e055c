// SPDX-License-Identifier: Apache-2.0

import CPortolanLinux
import Glibc
import PortolanCore
import PortolanStreams
import PortolanTestSupport
import ServerSupport
import Synchronization
import TestThreads

/// A folder for one test, and the servers that the test uses.
final class StreamFixture: Sendable {
    private let folder: TemporaryFolder
    private let servers = Mutex<[ScriptedServer]>([])

    init() throws { folder = try TemporaryFolder() }

    var path: String { folder.path }
    var openDescriptorCount: Int { folder.openDescriptorCount }
    func path(of name: String) -> String { folder.path(of: name) }
    func write(_ bytes: [UInt8], to name: String) throws -> String { try folder.write(bytes, to: name) }
    func keep(_ server: ScriptedServer) { servers.withLock { $0.append(server) } }
}

/// The kinds of input streams that the tests read.
enum InputKind: CaseIterable {
    case memory, file, partOfFile, pipe, nonBlockingPipe, socket, fileDescriptor, boundPair, tinyBoundPair, body, slow, early, filter,
        server

    /// Makes a stream of these bytes.
    func make(_ bytes: [UInt8], in folder: StreamFixture) throws -> ByteInputStream {
        switch self {
        case .memory: return ByteInputStream(bytes)
        case .file: return ByteInputStream(path: try folder.write(bytes, to: "input"))
        case .partOfFile:
            let all = [1, 2, 3] + bytes + [4]
            return ByteInputStream(path: try folder.write(all, to: "input"), range: 3..<Int64(all.count - 1))
        case .pipe, .nonBlockingPipe:
            let ends = try Descriptors.pipe(isNonBlocking: self == .nonBlockingPipe)
            try ends.write(bytes)
            defer { ends.closeReadEnd() }
            return ByteInputStream.opened(descriptor: ends.read)
        case .socket:
            let ends = try Descriptors.socketPair()
            try ends.write(bytes)
            defer { ends.closeReadEnd() }
            return ByteInputStream.opened(descriptor: ends.read)
        case .fileDescriptor:
            let descriptor = unsafe open(try folder.write(bytes, to: "input"), O_RDONLY | O_CLOEXEC)
            defer { close(descriptor) }
            return ByteInputStream.opened(descriptor: descriptor)
        case .boundPair, .tinyBoundPair:
            let (input, output) = ByteInputStream.boundPair(bufferSize: self == .tinyBoundPair ? 3 : 64 << 10)
            output.open()
            try PlatformThread.start {
                // A test may close the input before.
                try? output.write(all: bytes)
                output.close()
            }
            return input
        case .body: return ByteInputStream(Body.bytes(bytes))
        case .filter: return ByteInputStream(ChecksumSource(ByteInputStream(path: try folder.write(bytes, to: "input")).makeSource()))
        case .server:
            let server = try ScriptedServer([.send(bytes)])
            folder.keep(server)
            return SocketStreams(toHost: "127.0.0.1", port: server.port).input
        case .slow, .early: return ByteInputStream(SlowSource(bytes, isEarly: self == .early))
        }
    }
}

extension ByteInputStream {
    /// An open stream, so that the caller can close its descriptor.
    static func opened(descriptor: Int32) -> ByteInputStream {
        let stream = ByteInputStream(descriptor: descriptor)
        stream.open()
        return stream
    }
}

/// Opens a stream, and reads it to the end.
func readAll(_ stream: ByteInputStream, atMost size: Int = 4096) throws -> [UInt8] {
    stream.open()
    var all: [UInt8] = []
    while case let part = try stream.read(atMost: size), !part.isEmpty { all += part }
    return all
}

/// The bytes 0, 1, 2 … modulo a prime number, so that no part of them looks like another.
func numberedBytes(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 251)
    while bytes.count < count { bytes += 0..<251 }
    return Array(bytes.prefix(count))
}

/// Two connected descriptors.
struct Descriptors {
    let read: Int32
    let write: Int32

    static func pipe(isNonBlocking: Bool = false) throws -> Descriptors {
        var numbers: [Int32] = [0, 0]
        guard unsafe portolan_pipe(&numbers) == 0 else { throw LoadError(.noResources, message: "pipe2(2) failed") }
        if isNonBlocking { for number in numbers { _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK) } }
        return Descriptors(read: numbers[0], write: numbers[1])
    }

    static func socketPair() throws -> Descriptors {
        var numbers: [Int32] = [0, 0]
        guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &numbers) == 0 else {
            throw LoadError(.noResources, message: "socketpair(2) failed")
        }
        return Descriptors(read: numbers[0], write: numbers[1])
    }

    /// Writes the bytes on another thread, and closes the end for writing.
    func write(_ bytes: [UInt8]) throws {
        let output = ByteOutputStream(descriptor: write)
        output.open()
        close(write)
        try PlatformThread.start {
            try? output.write(all: bytes)
            output.close()
        }
    }

    func closeReadEnd() { close(read) }
    func closeWriteEnd() { close(write) }
}

/// A custom source: one byte at a time, and before each byte the reader has to wait.
final class SlowSource: ByteSource {
    private struct State {
        var offset = 0
        var isReady = false
        var closeCount = 0
    }

    private let bytes: [UInt8]
    private let isEarly: Bool
    private let state = Mutex(State())

    /// - Parameter isEarly: whether `whenReady` is called before `read` returns.
    init(_ bytes: [UInt8], isEarly: Bool) { (self.bytes, self.isEarly) = (bytes, isEarly) }

    var isClosed: Bool { state.withLock { $0.closeCount > 0 } }

    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
        let byte: UInt8? = state.withLock { state in
            guard state.isReady else {
                state.isReady = true
                return nil
            }
            state.isReady = false
            defer { state.offset += 1 }
            return state.offset < bytes.count ? bytes[state.offset] : nil
        }
        if let byte {
            buffer.append(byte)
            return .bytes
        }
        guard !state.withLock({ $0.offset > bytes.count }) else { return .end }
        if isEarly { whenReady() } else { DeliveryThreads.shared.run(whenReady) }
        return .wait
    }

    func close() { state.withLock { $0.closeCount += 1 } }
}

/// Records events, and waits for them.
final class EventLog: Sendable {
    private struct State {
        var events: [StreamEvent] = []
        var isRunning = false
        var overlapCount = 0
    }

    private let state = ConditionLock(State())

    var events: [StreamEvent] { state.withLock { $0.events } }
    /// How often an event was reported during another one.
    var overlapCount: Int { state.withLock { $0.overlapCount } }

    /// Records an event while `body` runs.
    func record(_ event: StreamEvent, _ body: () -> Void = {}) {
        state.withLock { state in
            if state.isRunning { state.overlapCount += 1 }
            state.isRunning = true
        }
        body()
        state.withLockBroadcasting { state in
            state.isRunning = false
            state.events.append(event)
        }
    }

    func wait(until isComplete: ([StreamEvent]) -> Bool) { state.wait { isComplete($0.events) ? () : nil } }
    func waitForEnd() { wait { $0.last?.isLast ?? false } }
}

extension StreamEvent {
    var isLast: Bool {
        switch self {
        case .endEncountered, .errorOccurred: true
        case .openCompleted, .bytesAvailable, .spaceAvailable: false
        }
    }
}

/// A custom source whose functions are closures.
final class ClosureSource: ByteSource {
    typealias Read = @Sendable (_ buffer: inout OutputRawSpan, _ whenReady: @escaping @Sendable () -> Void) -> BodyRead

    private let onOpen: @Sendable (@escaping @Sendable (LoadError?) -> Void) -> Void
    private let onRead: Read
    private let onSet: @Sendable () -> Bool
    private let offset: Int64?
    private let closeCount = Mutex(0)

    init(
        offset: Int64? = nil, open: @escaping @Sendable (@escaping @Sendable (LoadError?) -> Void) -> Void = { $0(nil) },
        set: @escaping @Sendable () -> Bool = { false }, read: @escaping Read
    ) {
        (onOpen, onRead, onSet, self.offset) = (open, read, set, offset)
    }

    var isClosed: Bool { closeCount.withLock { $0 > 0 } }

    func open(_ completion: @escaping @Sendable (LoadError?) -> Void) { onOpen(completion) }
    func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead { onRead(&buffer, whenReady) }
    func close() { closeCount.withLock { $0 += 1 } }
    func property(_ name: String) -> (any Sendable)? { name == StreamPropertyKey<Int64>.currentOffset.name ? offset : nil }
    func setProperty(_ value: any Sendable, for name: String) -> Bool { onSet() }
}

/// Lets a source wait until the test opens the gate, as a slow disk would.
final class SourceGate: Sendable {
    private let state = ConditionLock((isEntered: false, isOpen: false))

    func pass() {
        state.withLockBroadcasting { $0.isEntered = true }
        state.wait { $0.isOpen ? () : nil }
    }

    func waitUntilEntered() { state.wait { $0.isEntered ? () : nil } }
    func open() { state.withLockBroadcasting { $0.isOpen = true } }
}

/// Runs a function on a thread of its own, which starts at once. An `async let` would need a free thread of the
/// executor, and all of them may wait for each other.
final class OwnThread<Value: Sendable>: Sendable {
    private let state = ConditionLock<Result<Value, any Error>?>(nil)

    init(_ function: @escaping @Sendable () throws -> Value) throws {
        try PlatformThread.start { [state] in
            let result = Result(catching: function)
            state.withLockBroadcasting { $0 = result }
        }
    }

    /// Waits for the end of the function.
    func result() throws -> Value { try state.wait { $0 }.get() }
}
