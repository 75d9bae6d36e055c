// SPDX-License-Identifier: Apache-2.0

internal import CPortolanNGHTTP2

/// The client's side of an HTTP/2 connection as a state machine on bytes, without I/O, clock or threads. The caller
/// feeds it with the peer's bytes and takes the bytes to send.
///
/// Memory across the C boundary:
/// - nghttp2 owns the session from `init` to `deinit`. Only this object has the pointer.
/// - nghttp2 stores a pointer to this object as user data, without retaining it. nghttp2 uses it only inside calls that
///   this object makes.
/// - The delegate is retained for the length of ``receive(_:for:)`` and ``send(into:atMost:for:)``, the only calls that
///   call back.
/// - Received bytes, and names and values of submitted fields, are copied or processed before the call returns.
/// - Bytes that are borrowed from nghttp2 (fields, data, output) are valid inside the callback, or until the next call.
///   They are passed on as borrowed spans, or copied.
///
/// Source: nghttp2.h
@safe
final class HTTP2Session {  // … because it owns the session, and pointers borrowed from nghttp2 end with the call that got them
    struct Options {
        var settings: [HTTP2Setting] = []
        /// How many CONTINUATION frames one field section may have.
        var continuations = 8
    }

    private let session: OpaquePointer
    /// Set while the session is fed or drained.
    private(set) var delegate: (any HTTP2SessionDelegate)?
    /// Whether a stream was reset since the session was last drained.
    private var hasQueuedReset = false

    /// - Returns: `nil` if there is no memory.
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
        // The response parser checks responses, with a separate error for each rule.
        unsafe nghttp2_option_set_no_http_messaging(option, 1)
        // Closed streams serve only the priorities of RFC 7540.
        unsafe nghttp2_option_set_no_closed_streams(option, 1)
        unsafe nghttp2_option_set_max_reserved_remote_streams(option, 0)
        unsafe nghttp2_option_set_max_send_header_block_length(option, largestFieldBlock)
        _ = unsafe portolan_nghttp2_option_set_max_continuations(option, options.continuations)
        unsafe setCallbacks(callbacks)
        var session: OpaquePointer?
        guard unsafe nghttp2_session_client_new2(&session, callbacks, nil, option) == 0 else { return nil }
        return unsafe session
    }

    /// Larger than any server accepts. nghttp2's own limit is 64 KiB.
    private static let largestFieldBlock = 16 << 20

    private func submit(_ settings: [HTTP2Setting]) {
        let entries = settings.map { nghttp2_settings_entry(settings_id: Int32($0.parameter.rawValue), value: $0.value) }
        // Fails only for a value that is not allowed, or without memory.
        _ = unsafe nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
    }

    // MARK: Bytes

    /// Feeds the session with bytes of the peer.
    ///
    /// - Returns: the reason why it can accept no more; `nil` if it can. After a violation of the protocol it ignores
    ///   further bytes, which is no error.
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
    /// - Returns: the reason why the session can send no more; `nil` if it can.
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

    /// Whether the session has to be drained before it checks another frame.
    ///
    /// - Until a reset has been sent, nghttp2 treats the stream as open.
    /// - After a violation, or ``terminate(_:)``, it sends GOAWAY. Once the peer's GOAWAY has arrived, only draining
    ///   shows whether it will.
    var owesVerdict: Bool { unsafe hasQueuedReset || nghttp2_session_check_request_allowed(session) == 0 }

    // MARK: Requests

    /// - Returns: the number of the request's stream; `nil` where there can be no more streams.
    func submit(_ fields: HTTP2FieldBlock, hasBody: Bool) -> Int32? {
        let number = unsafe fields.bytes.withUnsafeBufferPointer { bytes in
            unsafe withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: fields.entries.count) { vector in
                // nghttp2 copies the bytes, although it does not declare the pointers as constant.
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

    /// Resumes a body after ``HTTP2BodyRead/deferred``. Does nothing if the body was not deferred.
    func resumeBody(of stream: Int32) { _ = unsafe nghttp2_session_resume_data(session, stream) }

    /// Resets a stream. A request that was not sent is dropped.
    func reset(_ stream: Int32, _ code: HTTP2ErrorCode) {
        hasQueuedReset = true
        _ = unsafe nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code.rawValue)
    }

    /// Ends the connection. The session sends GOAWAY and ignores what the peer sends.
    func terminate(_ code: HTTP2ErrorCode) { _ = unsafe nghttp2_session_terminate_session(session, code.rawValue) }

    // MARK: Windows

    /// How many bytes of content the peer may send on `stream`, or on all streams together if `stream` is 0.
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

    /// How many bytes of content the peer accepts on `stream`.
    func sendWindow(of stream: Int32) -> Int { Int(unsafe nghttp2_session_get_stream_remote_window_size(session, stream)) }

    /// The initial window that the peer allows on new streams.
    var initialSendWindow: Int {
        Int(unsafe nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE))
    }
}
