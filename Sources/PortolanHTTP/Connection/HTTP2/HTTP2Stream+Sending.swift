// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

extension HTTP2Stream {
    func send(_ head: HTTP2RequestHead) {
        guard let transaction else { return }
        let hasBody = transaction.preparedRequest.framing.hasBody && transaction.upload != nil
        if hasBody { sending = transaction.preparedRequest.expectsContinue ? .expecting : .body }
        guard let number = connection.open(self, head.block, hasBody: hasBody) else { return failNotOpened() }
        didOpen(number)
        sentByteCount += Int64(head.byteCount)
        guard case .expecting = sending else { return }
        timer = connection.transport?.loop.schedule(after: connection.expectContinue.timeout) { [call = StreamCall(self)] in
            call.run { $0.sendExpectedBody() }
        }
    }

    /// Ends the wait for `100 (Continue)`, and starts to send the body.
    func sendExpectedBody() {
        guard case .expecting = sending else { return }
        stopTimer()
        sending = .body
        resumeBody()
    }

    private func resumeBody() {
        guard case .body = sending, let number else { return }
        connection.session?.resumeBody(of: number)
        connection.scheduleFlush()
    }

    /// Writes the next part of the body into a DATA frame. The server's windows limit its size. nghttp2 calls this only
    /// when the transport accepts bytes.
    func readBody(into buffer: UnsafeMutableRawBufferPointer) -> HTTP2BodyRead {
        guard case .body = sending, !isWaitingForBody, let upload = transaction?.upload else { return .deferred }
        var count = 0
        while count < buffer.count {
            switch unsafe readNext(of: upload, into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...])) {
            case .bytes(let read): count += read
            case .wait: return count > 0 ? .bytes(count, isLast: false) : .deferred
            case .end: return .bytes(count, isLast: true)
            case .failed: return .failed
            }
        }
        // The frame is full. Check for the end of the body now, because the window can be too small for another frame.
        guard upload.isAllRead else { return .bytes(count, isLast: false) }
        return unsafe withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { spare in
            switch unsafe readNext(of: upload, into: spare) {
            case .bytes, .wait: .bytes(count, isLast: false)
            case .end: .bytes(count, isLast: true)
            case .failed: .failed
            }
        }
    }

    private func readNext(of upload: RequestBodySource, into buffer: UnsafeMutableRawBufferPointer) -> RequestBodySource.ReadResult {
        guard let loop = connection.transport?.loop else { return .wait }
        isWaitingForBody = true
        let result = unsafe upload.next(into: buffer) { [call = StreamCall(self)] in
            loop.execute { call.run { $0.bodyIsReady() } }
        }
        switch result {
        case .wait: break
        case .bytes, .end: isWaitingForBody = false
        case .failed(let error): bodyFailure = error
        }
        return result
    }

    private func bodyIsReady() {
        isWaitingForBody = false
        resumeBody()
    }

    /// Counts a DATA frame with `count` bytes that was passed to the transport.
    func didSendBody(_ count: Int, isLast: Bool) {
        sentByteCount += Int64(count)
        if isLast { sending = .done }
    }
}

/// A weak reference to a stream, for closures that other threads hold. Call ``run(_:)`` on the event loop only.
private final class StreamCall: @unchecked Sendable {  // … because the stream is used on its event loop only
    private weak var stream: HTTP2Stream?

    init(_ stream: HTTP2Stream) { self.stream = stream }

    func run(_ operation: (HTTP2Stream) -> Void) {
        if let stream { operation(stream) }
    }
}
