// SPDX-License-Identifier: Apache-2.0

internal import CPortolanNGHTTP2

/// The client's side of an HTTP/2 connection as a state machine on bytes. No I/O, no clock, no threads: the caller feeds it with what the peer sent
/// and takes what is to be sent.
///
/// Memory across the C boundary:
/// - nghttp2 owns the session from `init` to `deinit`; nobody else has the pointer.
/// - nghttp2 keeps a pointer to this object as user data. It is not retained: nghttp2 uses it only inside calls that this object makes.
/// - The delegate is retained for the length of ``receive(_:for:)`` and ``send(into:atMost:for:)``, the only calls that call back.
/// - Bytes that come in, and names and values of submitted fields, are copied or processed before the call returns.
/// - Bytes that nghttp2 lends (fields, data, output) are valid inside the callback, or until the next call; they go on as borrowed spans, or are copied.
///
/// Source: nghttp2.h
@safe
final class HTTP2Session {  // … because it owns the session, and every pointer that nghttp2 lends ends with the call that got it
    struct Options {
        var settings: [HTTP2Setting] = []
        /// CONTINUATION frames that one field section may take.
        var continuations = 8
    }

    private let session: OpaquePointer
    /// While the session is fed or drained.
    private(set) var delegate: (any HTTP2SessionDelegate)?
    /// Whether a stream was reset since the session was last drained.
    private var hasQueuedReset = false

    /// - Returns: `nil` where there is no memory.
    init?(_ options: Options) {
        guard let session = unsafe Self.makeSession(options) else { return nil }
        unsafe self.session = session
        unsafe nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
        submit(options.settings)
    }

    deinit { unsafe nghttp2_session_del(session) }

    private static func makeSession(_ options: Options) -> OpaquePointer? {
        var option: OpaquePointer?
        var callbacks: OpaquePointer?
        defer {
            unsafe nghttp2_option_del(option)
            unsafe nghttp2_session_callbacks_del(callbacks)
        }
        guard unsafe nghttp2_option_new(&option) == 0, let option = unsafe option,
            unsafe nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks = unsafe callbacks
        else { return nil }
        unsafe nghttp2_option_set_no_auto_window_update(option, 1)
        // Responses are checked where they are read, with an error of its own for each rule.
        unsafe nghttp2_option_set_no_http_messaging(option, 1)
        // Closed streams are kept for the priorities of RFC 7540 only.
        unsafe nghttp2_option_set_no_closed_streams(option, 1)
        unsafe nghttp2_option_set_max_reserved_remote_streams(option, 0)
        unsafe nghttp2_option_set_max_send_header_block_length(option, largestFieldBlock)
        _ = unsafe portolan_nghttp2_option_set_max_continuations(option, options.continuations)
        unsafe setCallbacks(callbacks)
        var session: OpaquePointer?
        guard unsafe nghttp2_session_client_new2(&session, callbacks, nil, option) == 0 else { return nil }
        return unsafe session
    }

    /// More than any server takes; nghttp2's own limit is 64 KiB.
    private static let largestFieldBlock = 16 << 20

    private func submit(_ settings: [HTTP2Setting]) {
        let entries = settings.map { nghttp2_settings_entry(settings_id: Int32($0.parameter.rawValue), value: $0.value) }
        // Fails only where a value is not allowed, or without memory.
        _ = unsafe nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
    }

    // MARK: Bytes

    /// Feeds the session with bytes of the peer.
    ///
    /// - Returns: why it can take no more; `nil` where it can. After a violation of the protocol it ignores what it is fed, and that is no error.
    func receive(_ bytes: borrowing RawSpan, for delegate: any HTTP2SessionDelegate) -> HTTP2LibraryError? {
        precondition(self.delegate == nil, "nghttp2 forbids nghttp2_session_mem_recv inside a callback")
        self.delegate = delegate
        defer { self.delegate = nil }
        let taken = unsafe bytes.withUnsafeBytes { bytes in
            unsafe nghttp2_session_mem_recv(session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
        return taken < 0 ? HTTP2LibraryError(Int32(clamping: taken)) : nil
    }

    /// Appends whole frames to `output` until it holds `limit` bytes or more, or nothing is left to send.
    ///
    /// - Returns: why the session can send no more; `nil` where it can.
    func send(into output: inout [UInt8], atMost limit: Int, for delegate: any HTTP2SessionDelegate) -> HTTP2LibraryError? {
        precondition(self.delegate == nil, "nghttp2 forbids nghttp2_session_mem_send inside a callback")
        self.delegate = delegate
        hasQueuedReset = false
        defer { self.delegate = nil }
        while output.count < limit {
            var frame: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(session, &frame)
            guard count >= 0 else { return HTTP2LibraryError(Int32(clamping: count)) }
            guard count > 0 else { break }
            unsafe output.append(contentsOf: UnsafeBufferPointer(start: frame, count: count))
        }
        return nil
    }

    /// Whether the session has to be drained before it judges another frame.
    ///
    /// - Until a reset has been sent, nghttp2 takes the stream for an open one.
    /// - After a violation, or ``terminate(_:)``, it sends GOAWAY. Once the peer's GOAWAY has arrived, only draining shows whether it will.
    var owesVerdict: Bool { unsafe hasQueuedReset || nghttp2_session_check_request_allowed(session) == 0 }

    // MARK: Requests

    /// - Returns: the number of the request's stream; `nil` where there can be no more streams.
    func submit(_ fields: HTTP2FieldBlock, hasBody: Bool) -> Int32? {
        let number = unsafe fields.bytes.withUnsafeBufferPointer { bytes in
            unsafe withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: fields.entries.count) { vector in
                // nghttp2 copies what these point to, though it does not declare them as constant.
                var next = unsafe UnsafeMutablePointer(mutating: bytes.baseAddress)
                for (index, entry) in fields.entries.enumerated() {
                    let value = unsafe next.map { unsafe $0 + entry.nameCount }
                    let flags = entry.isNeverIndexed ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE
                    unsafe vector.initializeElement(
                        at: index,
                        to: nghttp2_nv(
                            name: next, value: value, namelen: entry.nameCount, valuelen: entry.valueCount, flags: UInt8(flags.rawValue)))
                    unsafe next = value.map { unsafe $0 + entry.valueCount }
                }
                guard hasBody else {
                    return unsafe nghttp2_submit_request(session, nil, vector.baseAddress, fields.entries.count, nil, nil)
                }
                var provider = unsafe nghttp2_data_provider(source: nghttp2_data_source(), read_callback: Self.readBody)
                return unsafe nghttp2_submit_request(session, nil, vector.baseAddress, fields.entries.count, &provider, nil)
            }
        }
        return number > 0 ? number : nil
    }

    /// After ``HTTP2BodyRead/deferred``. Does nothing where the body was not deferred.
    func resumeBody(of stream: Int32) { _ = unsafe nghttp2_session_resume_data(session, stream) }

    /// Ends a stream; a request that was not sent is dropped.
    func reset(_ stream: Int32, _ code: HTTP2ErrorCode) {
        hasQueuedReset = true
        _ = unsafe nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code.rawValue)
    }

    /// Ends the connection: GOAWAY is sent, and what the peer sends is ignored.
    func terminate(_ code: HTTP2ErrorCode) { _ = unsafe nghttp2_session_terminate_session(session, code.rawValue) }

    // MARK: Windows

    /// How many bytes of content the peer may send on `stream`; on all of them, where that is 0.
    func receiveWindow(of stream: Int32) -> Int {
        let size =
            stream == 0
            ? unsafe nghttp2_session_get_local_window_size(session) : unsafe nghttp2_session_get_stream_local_window_size(session, stream)
        return Int(max(0, size))
    }

    /// Allows the peer to send more.
    func widenReceiveWindow(of stream: Int32, by increment: Int) {
        _ = unsafe nghttp2_submit_window_update(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, Int32(clamping: increment))
    }

    /// How many bytes of content the peer takes on `stream`.
    func sendWindow(of stream: Int32) -> Int { Int(unsafe nghttp2_session_get_stream_remote_window_size(session, stream)) }

    /// The window with which the peer has streams begin.
    var initialSendWindow: Int {
        Int(unsafe nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE))
    }
}
