// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanStreams

/// One of the two streams of a play, and what the play knows of it.
final class PlayedStream: @unchecked Sendable {  // … because a case runs on a single thread
    enum Handle {
        case input(ByteInputStream)
        case output(ByteOutputStream)
    }

    let isInput: Bool
    private(set) var handle: Handle?
    private weak var object: AnyObject?
    /// `nil` if the stream is not a custom one.
    let endpoint: EndpointScript?
    /// Whether the stream reads another stream, which opens its endpoint.
    let isWrapped: Bool
    var events = StreamEventModel()
    var positions = ReadPositions()
    /// What was read or written.
    var moved = CallBytes()
    private(set) var isOpened = false
    private(set) var isClosed = false
    private(set) var wasClosedCompletely = false
    /// The number of reads and writes that are running, one inside the other.
    var callDepth = 0

    init(_ input: ByteInputStream, endpoint: EndpointScript? = nil, isWrapped: Bool = false) {
        (isInput, handle, object) = (true, .input(isWrapped ? ByteInputStream(input.makeSource()) : input), nil)
        (self.endpoint, self.isWrapped) = (endpoint, isWrapped)
        if case .input(let stream) = handle { object = stream }
    }

    init(_ output: ByteOutputStream, endpoint: EndpointScript? = nil) {
        (isInput, handle, object, self.endpoint, isWrapped) = (false, .output(output), output, endpoint, false)
    }

    var input: ByteInputStream? { if case .input(let stream) = handle { stream } else { nil } }
    var output: ByteOutputStream? { if case .output(let stream) = handle { stream } else { nil } }
    var isReleased: Bool { handle == nil }
    var isAlive: Bool { object != nil }
    /// Whether the program can use the stream, and has opened it.
    var isInUse: Bool { isOpened && !isClosed && !isReleased }

    var status: StreamStatus? { input?.status ?? output?.status }
    var error: LoadError? { input?.error ?? output?.error }
    /// `false` if the stream failed to open; `nil` while it opens.
    var openingResult: Bool? { isWrapped || endpoint == nil ? true : endpoint?.openingResult }

    func open() {
        // A program does not open a stream while its endpoint changes a property for the same thread.
        guard !isReleased, endpoint?.isChangingProperty != true else { return }
        if !isClosed { isOpened = true }
        input?.open()
        output?.open()
    }

    func close() {
        guard !isReleased else { return }
        if !isClosed { wasClosedCompletely = status != .error }
        isClosed = true
        events.unschedule()
        input?.close()
        output?.close()
    }

    func unschedule() {
        guard !isReleased else { return }
        events.unschedule()
        input?.unschedule()
        output?.unschedule()
    }

    func release() { handle = nil }

    /// - Returns: whether the next read or write moves bytes.
    func askWhetherReady() -> Bool { input?.hasBytesAvailable ?? output?.hasSpaceAvailable ?? false }

    /// - Returns: the error of `schedule`.
    func schedule(on queue: DeliveryQueue, _ handler: @escaping @Sendable (StreamEvent) -> Void) -> LoadError? {
        do throws(LoadError) {
            try input?.schedule(on: queue) { _, event in handler(event) }
            try output?.schedule(on: queue) { _, event in handler(event) }
            return nil
        } catch {
            return error
        }
    }

    /// Compares the status with what happened. Called while no call runs.
    func checkStatus() throws(FuzzFinding) {
        guard let status else {
            try require(!isAlive, "the \(name) is still alive after its release")
            if let endpoint { try require(endpoint.closeCount == 1, "the endpoint of the released \(name) was not closed") }
            return
        }
        let isExpected =
            switch status {
            case .notOpen: !isOpened && !isClosed
            case .opening: isInUse && openingResult == nil
            case .open: isInUse && openingResult == true
            case .atEnd: isInUse && openingResult == true && isInput
            case .error: isInUse && openingResult != nil
            case .closed: isClosed
            case .reading, .writing: false
            }
        let result = openingResult.map { $0 ? "success" : "failure" } ?? "none"
        try require(isExpected, "the \(name) is \(status); opened: \(isOpened), closed: \(isClosed), result of opening: \(result)")
        if status == .error || status != .closed && error != nil {
            try require(status == .error && error != nil, "the \(name) is \(status), and its error is \(String(describing: error))")
        }
        if let endpoint {
            let (closeCount, finishCount) = (isClosed ? 1 : 0, isClosed && wasClosedCompletely && !isInput ? 1 : 0)
            try require(endpoint.closeCount == closeCount, "the endpoint of the \(name) was closed \(endpoint.closeCount) times")
            try require(endpoint.finishCount == finishCount, "the sink was finished \(endpoint.finishCount) times")
        }
    }

    var name: String { isInput ? "input" : "output" }
}
