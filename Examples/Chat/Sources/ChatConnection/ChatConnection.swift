// SPDX-License-Identifier: Apache-2.0

public import PortolanStreams

/// Splits bytes into lines.
public struct LineSplitter {
    /// The maximum size of a line in bytes. A longer line is cut.
    public static let limit = 1000
    private var rest: [UInt8] = []

    public init() {}

    /// - Returns: the lines that are complete now, without their line breaks.
    public mutating func append(_ bytes: [UInt8]) -> [String] {
        var lines: [String] = []
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
                lines.append(String(decoding: rest, as: UTF8.self))
                rest = []
            } else if rest.count < Self.limit {
                rest.append(byte)
            }
        }
        return lines
    }
}

/// Lines of text in both directions of a connection, by events on the main run loop.
@MainActor public final class ChatConnection {
    /// How many bytes may wait for a peer that does not read.
    private static let limit = 1 << 20

    private let socket: SocketStreams
    private var splitter = LineSplitter()
    private var unsent: [UInt8] = []
    private var canWrite = false
    private var isClosing = false
    private var hasInputEnded = false
    private let onLine: (String) -> Void
    private var onEnd: ((LoadError?) -> Void)?

    /// Opens the streams.
    ///
    /// - Parameters:
    ///   - queue: of the main run loop.
    ///   - onEnd: called once: with `nil` when both sides have sent everything, or with the error of the connection.
    public init(
        _ socket: SocketStreams, on queue: DeliveryQueue, onLine: @escaping (String) -> Void, onEnd: @escaping (LoadError?) -> Void
    ) throws(LoadError) {
        (self.socket, self.onLine, self.onEnd) = (socket, onLine, onEnd)
        try socket.input.schedule(on: queue) { [weak self] input, event in MainActor.assumeIsolated { self?.handle(input, event) } }
        try socket.output.schedule(on: queue) { [weak self] output, event in MainActor.assumeIsolated { self?.handle(output, event) } }
        socket.input.open()
        socket.output.open()
    }

    public func send(_ line: String) {
        guard !isClosing else { return }
        unsent += Array(line.utf8) + [UInt8(ascii: "\n")]
        if unsent.count > Self.limit { return end(LoadError(.limitExceeded, message: "the peer reads too slowly")) }
        flush()
    }

    /// Ends this side's direction after the last line.
    public func finish() {
        isClosing = true
        flush()
    }

    private func handle(_ input: ByteInputStream, _ event: StreamEvent) {
        switch event {
        case .openCompleted, .spaceAvailable: break
        case .bytesAvailable: if let bytes = try? input.read(atMost: 4096) { splitter.append(bytes).forEach(onLine) }
        case .endEncountered: end(nil)
        case .errorOccurred(let error): end(error)
        }
    }

    private func handle(_ output: ByteOutputStream, _ event: StreamEvent) {
        switch event {
        case .openCompleted, .bytesAvailable, .endEncountered: break
        case .spaceAvailable:
            canWrite = true
            flush()
        case .errorOccurred(let error): end(error)
        }
    }

    /// Writes once for each event that reports space.
    private func flush() {
        if canWrite, !unsent.isEmpty {
            canWrite = false
            guard let count = try? socket.output.write(unsent.span) else { return }
            unsent.removeFirst(count)
        }
        guard isClosing, unsent.isEmpty else { return }
        socket.output.close()
        if hasInputEnded { reportEnd(nil) }
    }

    /// The peer has sent everything, or the connection has failed.
    private func end(_ error: LoadError?) {
        socket.input.close()
        hasInputEnded = true
        // Lines that wait are still sent, unless the connection has failed.
        guard let error else { return finish() }
        socket.output.close()
        reportEnd(error)
    }

    private func reportEnd(_ error: LoadError?) {
        let onEnd = onEnd
        self.onEnd = nil
        onEnd?(error)
    }
}
