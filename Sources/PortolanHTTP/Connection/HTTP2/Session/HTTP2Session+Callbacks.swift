// SPDX-License-Identifier: Apache-2.0

internal import CPortolanNGHTTP2

/// A C function for each callback of nghttp2. Each finds the session through the user data, and calls the session's
/// delegate.
extension HTTP2Session {
    static func setCallbacks(_ callbacks: OpaquePointer) {
        unsafe nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, didBeginFrame)
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, didBeginFields)
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, didReceiveField)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, didReceiveData)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, didReceiveFrame)
        unsafe nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, didReceiveInvalidFrame)
        unsafe nghttp2_session_callbacks_set_error_callback2(callbacks, didReportError)
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, didSendFrame)
        unsafe nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, didNotSendFrame)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, didCloseStream)
    }

    /// `nil` outside `receive` and `send`. nghttp2 calls back only during these two.
    private static func delegate(of userData: UnsafeMutableRawPointer?) -> (any HTTP2SessionDelegate)? {
        unsafe session(of: userData)?.delegate
    }

    private static func session(of userData: UnsafeMutableRawPointer?) -> HTTP2Session? {
        unsafe userData.map { unsafe Unmanaged<HTTP2Session>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: Receiving

    private static let didBeginFrame: nghttp2_on_begin_frame_callback = { _, header, userData in
        guard let header = unsafe header else { return 0 }
        unsafe delegate(of: userData)?.didBegin(HTTP2Frame(header.pointee))
        return 0
    }

    private static let didBeginFields: nghttp2_on_begin_headers_callback = { _, frame, userData in
        guard let frame = unsafe frame else { return 0 }
        unsafe delegate(of: userData)?.didBeginFields(on: frame.pointee.hd.stream_id)
        return 0
    }

    private static let didReceiveField: nghttp2_on_header_callback = { _, frame, name, nameCount, value, valueCount, _, userData in
        guard let frame = unsafe frame, let name = unsafe name, let value = unsafe value, let delegate = unsafe delegate(of: userData)
        else { return 0 }
        let shouldContinue = unsafe delegate.didReceiveField(
            Span(_unsafeStart: name, count: nameCount), Span(_unsafeStart: value, count: valueCount), on: frame.pointee.hd.stream_id)
        return shouldContinue ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
    }

    private static let didReceiveData: nghttp2_on_data_chunk_recv_callback = { _, flags, stream, bytes, count, userData in
        unsafe delegate(of: userData)?.didReceiveData(
            RawSpan(_unsafeBytes: UnsafeRawBufferPointer(start: bytes, count: count)), on: stream,
            endsStream: flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0)
        return 0
    }

    private static let didReceiveFrame: nghttp2_on_frame_recv_callback = { _, frame, userData in
        guard let session = unsafe session(of: userData), let frame = unsafe frame else { return 0 }
        unsafe session.report(frame.pointee)
        return 0
    }

    private func report(_ frame: nghttp2_frame) {
        guard let delegate else { return }
        let header = unsafe HTTP2Frame(frame.hd)
        switch header.type {
        case .data: delegate.didReceiveDataFrame(on: header.stream, endsStream: header.endsStream)
        case .headers: delegate.didReceiveFields(on: header.stream, endsStream: header.endsStream)
        case .resetStream:
            delegate.didReceiveReset(of: header.stream, HTTP2ErrorCode(rawValue: unsafe frame.rst_stream.error_code))
        case .settings where header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0: delegate.didReceiveSettingsAcknowledgement()
        case .settings:
            let entries = unsafe UnsafeBufferPointer(start: frame.settings.iv, count: frame.settings.niv)
            delegate.didReceive(
                unsafe entries.map {
                    HTTP2Setting(parameter: HTTP2Setting.Parameter(rawValue: UInt16(truncatingIfNeeded: $0.settings_id)), value: $0.value)
                })
        case .goAway:
            delegate.didReceiveGoAway(
                lastStream: unsafe frame.goaway.last_stream_id, HTTP2ErrorCode(rawValue: unsafe frame.goaway.error_code))
        default: break
        }
    }

    private static let didReceiveInvalidFrame: nghttp2_on_invalid_frame_recv_callback = { _, frame, error, userData in
        let header = unsafe frame.map { unsafe HTTP2Frame($0.pointee.hd) }
        unsafe delegate(of: userData)?.didReceive(
            HTTP2Violation(error: HTTP2LibraryError(error), frameType: header?.type, stream: header?.stream ?? 0))
        return 0
    }

    /// nghttp2 reports a missing SETTINGS frame only through this informational callback.
    private static let didReportError: nghttp2_error_callback2 = { _, error, _, _, userData in
        guard HTTP2LibraryError(error) == .settingsExpected else { return 0 }
        unsafe delegate(of: userData)?.didReceive(HTTP2Violation(error: .settingsExpected))
        return 0
    }

    // MARK: Sending

    private static let didSendFrame: nghttp2_on_frame_send_callback = { _, frame, userData in
        guard let frame = unsafe frame else { return 0 }
        let header = unsafe HTTP2Frame(frame.pointee.hd)
        let code: UInt32? =
            switch header.type {
            case .resetStream: unsafe frame.pointee.rst_stream.error_code
            case .goAway: unsafe frame.pointee.goaway.error_code
            default: nil
            }
        unsafe delegate(of: userData)?.didSend(header, code.map(HTTP2ErrorCode.init))
        return 0
    }

    private static let didNotSendFrame: nghttp2_on_frame_not_send_callback = { _, frame, error, userData in
        guard let frame = unsafe frame else { return 0 }
        let header = unsafe HTTP2Frame(frame.pointee.hd)
        if header.type == .headers { unsafe delegate(of: userData)?.didNotSendRequest(on: header.stream, HTTP2LibraryError(error)) }
        return 0
    }

    static let readBody: nghttp2_data_source_read_callback = { _, stream, buffer, count, flags, _, userData in
        guard let delegate = unsafe delegate(of: userData), let flags = unsafe flags else { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
        switch unsafe delegate.readBody(of: stream, into: UnsafeMutableRawBufferPointer(start: buffer, count: count)) {
        case .bytes(let count, let isLast):
            if isLast { unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
            return count
        case .deferred: return Int(NGHTTP2_ERR_DEFERRED.rawValue)
        case .failed: return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
    }

    // MARK: Both

    private static let didCloseStream: nghttp2_on_stream_close_callback = { _, stream, code, userData in
        unsafe delegate(of: userData)?.didClose(stream, HTTP2ErrorCode(rawValue: code))
        return 0
    }
}

extension HTTP2Frame {
    fileprivate init(_ header: nghttp2_frame_hd) {
        self.init(type: FrameType(rawValue: header.type), flags: header.flags, stream: header.stream_id, length: header.length)
    }
}
