// SPDX-License-Identifier: Apache-2.0

/// Receives the events of an ``HTTP2Session``.
///
/// All calls come from inside ``HTTP2Session/receive(_:for:)`` and ``HTTP2Session/send(into:atMost:for:)``. A method
/// can submit frames (requests, resets, window updates). It must not call these two methods, because nghttp2 forbids
/// that. Spans are borrowed during the call.
protocol HTTP2SessionDelegate: AnyObject {
    // MARK: Receiving

    /// The header of a frame has arrived.
    func didBegin(_ frame: HTTP2Frame)
    /// A field section begins.
    func didBeginFields(on stream: Int32)
    /// - Returns: `false` to end the session. ``HTTP2Session/receive(_:for:)`` then fails with
    ///   ``HTTP2LibraryError/callback``.
    func didReceiveField(_ name: Span<UInt8>, _ value: Span<UInt8>, on stream: Int32) -> Bool
    func didReceiveFields(on stream: Int32, endsStream: Bool)
    /// A part of a DATA frame's content has arrived.
    ///
    /// - Parameter endsStream: whether the stream ends with the frame.
    func didReceiveData(_ bytes: borrowing RawSpan, on stream: Int32, endsStream: Bool)
    /// A DATA frame is complete.
    func didReceiveDataFrame(on stream: Int32, endsStream: Bool)
    func didReceiveReset(of stream: Int32, _ code: HTTP2ErrorCode)
    func didReceiveGoAway(lastStream: Int32, _ code: HTTP2ErrorCode)
    /// The peer has sent settings. They already apply.
    func didReceive(_ settings: [HTTP2Setting])
    /// The peer has applied the session's settings.
    func didReceiveSettingsAcknowledgement()
    /// The peer broke a rule. The session resets the frame's stream, or terminates the connection.
    func didReceive(_ violation: HTTP2Violation)

    // MARK: Sending

    /// The frame was appended to the output. `code` is the error code of RST_STREAM and GOAWAY.
    func didSend(_ frame: HTTP2Frame, _ code: HTTP2ErrorCode?)
    /// The HEADERS frame of a request was dropped.
    func didNotSendRequest(on stream: Int32, _ error: HTTP2LibraryError)
    /// Writes the next part of a request's body to `buffer`.
    func readBody(of stream: Int32, into buffer: UnsafeMutableRawBufferPointer) -> HTTP2BodyRead

    // MARK: Both

    func didClose(_ stream: Int32, _ code: HTTP2ErrorCode)
}

/// The result of ``HTTP2SessionDelegate/readBody(of:into:)``.
enum HTTP2BodyRead: Sendable {
    case bytes(Int, isLast: Bool)
    /// No bytes are available now. The delegate calls ``HTTP2Session/resumeBody(of:)`` later.
    case deferred
    /// The session resets the stream with `INTERNAL_ERROR`.
    case failed
}
