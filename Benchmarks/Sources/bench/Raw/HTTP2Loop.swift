// SPDX-License-Identifier: Apache-2.0

// The raw loop "raw" of the HTTP/2 rows: one connection, with nghttp2 on OpenSSL as a C program uses them. The output
// of nghttp2_session_mem_send(3) is joined and written with one SSL_write_ex(3). SSL_read_ex(3) reads from a blocking
// socket into one buffer of 512 KiB, and the bytes go to nghttp2_session_mem_recv(3). The end of a stream submits the
// next request. The windows have 16 MiB, and nghttp2 keeps them open. The tally is taken of each borrowed piece
// in place.

import CPortolanNGHTTP2
import CTally

enum HTTP2Loop {
    static func competitor(_ target: HTTPTarget, times: Int, inFlight count: Int = 1, amount: Int) throws -> Competitor {
        let connection = try RawHTTP2(target, streams: count)
        return Competitor(RawSocketLoop.name, amount: amount) { try connection.load(times: times) }
    }
}

@safe
private final class RawHTTP2: @unchecked Sendable {  // … because the runs of a competitor are sequential
    /// The data for nghttp2's callbacks.
    @unsafe
    private struct State {
        var total = bench_tally()
        var remainingCount = 0
        var runningCount = 0
        var hasFailed = false
        let fields: UnsafeMutableBufferPointer<nghttp2_nv>
        let send: UnsafeMutableBufferPointer<UInt8>
    }

    private static let window: Int32 = 16 << 20

    private let tls: RawTLS
    private let buffer = ReceiveBuffer(RawSocketLoop.bufferSize)
    private let session: OpaquePointer
    private let state: UnsafeMutablePointer<State>
    /// One tally for each stream.
    private let tallies: UnsafeMutableBufferPointer<bench_tally>

    init(_ target: HTTPTarget, streams count: Int) throws {
        let (port, path) = try target.portAndPath()
        tls = try RawTLS(target)
        unsafe tallies = .allocate(capacity: count)
        unsafe tallies.initialize(repeating: bench_tally())
        unsafe state = .allocate(capacity: 1)
        let fields = unsafe Self.copyFields([
            (":method", "GET"), (":scheme", "https"), (":authority", "127.0.0.1:\(port)"), (":path", path), ("user-agent", "raw"),
            ("accept", "*/*"),
        ])
        unsafe state.initialize(to: State(fields: fields, send: .allocate(capacity: 64 << 10)))
        var callbacks: OpaquePointer?
        var session: OpaquePointer?
        unsafe nghttp2_session_callbacks_new(&callbacks)
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Self.didReceive)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Self.didClose)
        guard unsafe nghttp2_session_client_new(&session, callbacks, state) == 0, let session = unsafe session else {
            throw MeasurementError("raw: nghttp2_session_client_new failed")
        }
        unsafe self.session = session
        let settings = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: UInt32(Self.window))
        ]
        unsafe nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
        unsafe nghttp2_session_set_local_window_size(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, Self.window)
    }

    deinit {
        unsafe nghttp2_session_del(session)
        unsafe state.pointee.fields.first?.name.deallocate()
        unsafe state.pointee.fields.deallocate()
        unsafe state.pointee.send.deallocate()
        unsafe state.deallocate()
        unsafe tallies.deallocate()
    }

    /// Copies the fields. Names and values are stored one after another, starting at the first name.
    private static func copyFields(_ fields: [(String, String)]) -> UnsafeMutableBufferPointer<nghttp2_nv> {
        let text = fields.flatMap { Array($0.utf8) + Array($1.utf8) }
        let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.count)
        _ = unsafe bytes.initialize(fromContentsOf: text)
        let vector = UnsafeMutableBufferPointer<nghttp2_nv>.allocate(capacity: fields.count)
        var next = bytes.baseAddress
        for (index, (name, value)) in fields.enumerated() {
            let (nameCount, valueCount) = (name.utf8.count, value.utf8.count)
            let start = unsafe next.map { unsafe $0 + nameCount }
            unsafe vector.initializeElement(
                at: index, to: nghttp2_nv(name: next, value: start, namelen: nameCount, valuelen: valueCount, flags: 0))
            unsafe next = start.map { unsafe $0 + valueCount }
        }
        return unsafe vector
    }

    func load(times: Int) throws -> bench_tally {
        unsafe state.pointee.total = bench_tally()
        unsafe state.pointee.remainingCount = times
        for index in unsafe tallies.indices where unsafe state.pointee.remainingCount > 0 {
            unsafe Self.submit(session, state, tallies.baseAddress.map { unsafe $0 + index })
        }
        while unsafe state.pointee.runningCount > 0 {
            try send()
            let count = unsafe try tls.read(into: buffer.bytes)
            let consumedCount = unsafe nghttp2_session_mem_recv(
                session, buffer.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), count)
            guard consumedCount == count, unsafe !state.pointee.hasFailed else {
                throw MeasurementError("raw: a stream of HTTP/2 has failed")
            }
        }
        return unsafe state.pointee.total
    }

    private func send() throws {
        let output = unsafe state.pointee.send
        var filled = 0
        while true {
            var frame: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(session, &frame)
            guard count >= 0, filled + count <= output.count else { throw MeasurementError("raw: nghttp2_session_mem_send: \(count)") }
            guard count > 0, let frame = unsafe frame else { break }
            unsafe output.baseAddress?.advanced(by: filled).update(from: frame, count: count)
            filled += count
        }
        if filled > 0 { unsafe try tls.write(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(output)[..<filled])) }
    }

    private static func submit(
        _ session: OpaquePointer?, _ state: UnsafeMutablePointer<State>, _ tally: UnsafeMutablePointer<bench_tally>?
    ) {
        unsafe state.pointee.remainingCount -= 1
        unsafe state.pointee.runningCount += 1
        let fields = unsafe state.pointee.fields
        let stream = unsafe nghttp2_submit_request(session, nil, fields.baseAddress, fields.count, nil, tally)
        if stream < 0 { unsafe state.pointee.hasFailed = true }
    }

    private static let didReceive: nghttp2_on_data_chunk_recv_callback = { session, _, stream, bytes, count, _ in
        let tally = unsafe nghttp2_session_get_stream_user_data(session, stream)
        unsafe bench_tally_add(tally?.assumingMemoryBound(to: bench_tally.self), bytes, count)
        return 0
    }

    private static let didClose: nghttp2_on_stream_close_callback = { session, stream, code, userData in
        guard let state = unsafe userData?.assumingMemoryBound(to: State.self) else { return 0 }
        unsafe state.pointee.runningCount -= 1
        guard code == 0,
            let tally = unsafe nghttp2_session_get_stream_user_data(session, stream)?.assumingMemoryBound(to: bench_tally.self)
        else {
            unsafe state.pointee.hasFailed = true
            return 0
        }
        unsafe state.pointee.total += tally.pointee
        unsafe tally.pointee = bench_tally()
        if unsafe state.pointee.remainingCount > 0 { unsafe submit(session, state, tally) }
        return 0
    }
}
