// SPDX-License-Identifier: Apache-2.0

internal import CPortolanNGHTTP2

/// The client's side of an HTTP/2 connection: a state machine without I/O, clock or threads. The caller passes the
/// peer's bytes to ``receive(_:for:)``, and sends the bytes that ``send(into:atMost:for:)`` appends.
///
/// Memory across the C boundary:
/// - nghttp2 owns the session from `init` to `deinit`. Only this object has the pointer.
/// - nghttp2 stores an unretained pointer to this object as user data. It uses the pointer only inside calls that this
///   object makes.
/// - The delegate is retained during ``receive(_:for:)`` and ``send(into:atMost:for:)``. nghttp2 calls back only during
///   these two.
/// - Received bytes, and names and values of submitted fields, are copied or processed before the call returns.
/// - Bytes of nghttp2 (fields, data, output) are valid inside the callback, or until the next call. They are passed to
///   the delegate as borrowed spans, or copied.
///
/// Source: nghttp2.h
@safe
final class HTTP2Session {  // … because it owns the session, and pointers borrowed from nghttp2 end with the call that got them
    struct Options {
        var settings: [HTTP2Setting] = []
        /// How many CONTINUATION frames one field section can have.
        var maximumContinuations = 8
    }

    private let session: OpaquePointer
    /// Set during ``receive(_:for:)`` and ``send(into:atMost:for:)``.
    private(set) var delegate: (any HTTP2SessionDelegate)?
    /// Whether a stream was reset after the last ``send(into:atMost:for:)``.
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
        // nghttp2 keeps closed streams only for the priorities of RFC 7540.
        unsafe nghttp2_option_set_no_closed_streams(option, 1)
        unsafe nghttp2_option_set_max_reserved_remote_streams(option, 0)
        unsafe nghttp2_option_set_max_send_header_block_length(option, maximumFieldBlockSize)
        _ = unsafe portolan_nghttp2_option_set_max_continuations(option, options.maximumContinuations)
        unsafe setCallbacks(callbacks)
        var session: OpaquePointer?
        guard unsafe nghttp2_session_client_new2(&session, callbacks, nil, option) == 0 else { return nil }
        return unsafe session
    }

    /// Larger than any server accepts. The default of nghttp2 is 64 KiB.
    private static let maximumFieldBlockSize = 16 << 20

    private func submit(_ settings: [HTTP2Setting]) {
        let entries = settings.map { nghttp2_settings_entry(settings_id: Int32($0.parameter.rawValue), value: $0.value) }
        // Fails only for an invalid value, or if there is no memory.
        _ = unsafe nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
    }

    // MARK: Bytes

    /// Processes bytes of the peer.
    ///
    /// - Returns: the error if the session can't continue. After a violation, the session ignores further bytes without
    ///   an error.
    func receive(_ bytes: borrowing RawSpan, for delegate: any HTTP2SessionDelegate) -> HTTP2LibraryError? {
        precondition(self.delegate == nil, "nghttp2 forbids nghttp2_session_mem_recv inside a callback")
        self.delegate = delegate
        defer { self.delegate = nil }
        let consumedCount = unsafe bytes.withUnsafeBytes { bytes in
            unsafe nghttp2_session_mem_recv(session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
        return consumedCount < 0 ? HTTP2LibraryError(Int32(clamping: consumedCount)) : nil
    }

    /// Appends whole frames to `output`, until it has `limit` bytes or more, or the session has no more frames.
    ///
    /// - Returns: the error if the session can't continue.
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

    /// Whether ``send(into:atMost:for:)`` must be called before the session processes another frame.
    ///
    /// There are two reasons:
    /// - nghttp2 treats a stream as open until its reset was sent.
    /// - After a violation, nghttp2 sends GOAWAY. If the peer has sent GOAWAY before, only the sent frames show a
    ///   violation.
    var mustDrain: Bool { unsafe hasQueuedReset || nghttp2_session_check_request_allowed(session) == 0 }

    // MARK: Requests

    /// - Returns: the number of the request's stream; `nil` if there can be no more streams.
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

    /// Ends the connection. The session sends GOAWAY, and ignores all later frames of the peer.
    func terminate(_ code: HTTP2ErrorCode) { _ = unsafe nghttp2_session_terminate_session(session, code.rawValue) }

    // MARK: Windows

    /// How many bytes of content the peer can send on `stream`, or on all streams together if `stream` is 0.
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

    /// The initial window in bytes that the peer allows on new streams.
    var initialSendWindow: Int {
        Int(unsafe nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE))
    }
}
