// SPDX-License-Identifier: Apache-2.0

// The peer "libcurl multi": one multi handle that keeps a connection for each of its easy handles, driven by
// curl_multi_socket_action and epoll(7). A finished easy handle is added again. "libcurl poll" is the same, driven by
// curl_multi_perform and curl_multi_poll. Each call checks all handles, but handles many responses.

import CCurl
import CLinux
import CTally
import Glibc

enum LibCurlMulti {
    static let name = "libcurl multi"
    static let nameOfPolling = "libcurl poll"

    /// - Parameter polls: whether to use curl_multi_perform and curl_multi_poll, under the name "libcurl poll".
    static func competitor(
        loading url: String, _ options: CurlHandle.Options = CurlHandle.Options(), times: Int, inFlight count: Int, amount: Int,
        polls: Bool = false
    ) throws -> Competitor {
        let multiHandle = try CurlMultiHandle(url, options, count: count)
        if polls { return Competitor(nameOfPolling, amount: amount) { try multiHandle.load(times: times, drivenBy: CurlMultiHandle.poll) } }
        let sockets = try CurlSockets(multiHandle)
        return Competitor(name, amount: amount) { try multiHandle.load(times: times, drivenBy: sockets.drive) }
    }
}

/// The easy handles of a multi handle.
@safe
final class CurlMultiHandle: @unchecked Sendable {  // … because the runs of a competitor are sequential
    let multi: UnsafeMutableRawPointer
    private let handles: [CurlHandle]
    private let indices: [UnsafeMutableRawPointer: Int]
    /// Retained, because libcurl also calls it during the cleanup of the multi handle.
    fileprivate var sockets: CurlSockets?

    init(_ url: String, _ options: CurlHandle.Options, count: Int) throws {
        guard let multi = unsafe curl_multi_init() else { throw MeasurementError("curl_multi_init gave no handle") }
        unsafe self.multi = multi
        let handles = try (0..<count).map { _ in try CurlHandle(url, options) }
        self.handles = handles
        unsafe indices = Dictionary(uniqueKeysWithValues: handles.indices.map { unsafe (handles[$0].handle, $0) })
        try Self.check(unsafe bench_curl_multi_set_number(multi, CURLMOPT_MAXCONNECTS, count))
    }

    deinit { unsafe curl_multi_cleanup(multi) }

    /// - Parameter drive: runs libcurl once. It returns when a transfer can have finished.
    func load(times: Int, drivenBy drive: (CurlMultiHandle) throws -> Void) throws -> bench_tally {
        var (tally, addedCount, doneCount) = (bench_tally(), min(handles.count, times), 0)
        for handle in handles.prefix(addedCount) { try Self.check(unsafe curl_multi_add_handle(multi, handle.handle)) }
        while doneCount < times {
            try drive(self)
            var waiting: Int32 = 0
            while let message = unsafe curl_multi_info_read(multi, &waiting) {
                guard unsafe message.pointee.msg == CURLMSG_DONE, let handle = unsafe message.pointee.easy_handle else { continue }
                try CurlHandle.check(unsafe message.pointee.data.result)
                try Self.check(unsafe curl_multi_remove_handle(multi, handle))
                guard let index = unsafe indices[handle] else { continue }
                tally += handles[index].resetTally()
                doneCount += 1
                guard addedCount < times else { continue }
                try Self.check(unsafe curl_multi_add_handle(multi, handle))
                addedCount += 1
            }
        }
        return tally
    }

    static func poll(_ multiHandle: CurlMultiHandle) throws {
        var running: Int32 = 0
        try check(unsafe curl_multi_perform(multiHandle.multi, &running))
        guard running > 0 else { return }
        try check(unsafe curl_multi_poll(multiHandle.multi, nil, 0, 1000, nil))
    }

    static func check(_ code: CURLMcode) throws {
        guard code == CURLM_OK else { throw unsafe MeasurementError("libcurl: " + String(cString: curl_multi_strerror(code))) }
    }
}

/// Waits for the sockets and the timeout that libcurl requests.
@safe
private final class CurlSockets: @unchecked Sendable {  // … because the runs of a competitor are sequential
    private let poller: Poller
    private var watchedSockets: Set<Int32> = []
    /// The time until libcurl needs a call without a socket event, in milliseconds. Negative if it needs none.
    private var timeout = -1

    init(_ multiHandle: CurlMultiHandle) throws {
        poller = try Poller()
        multiHandle.sockets = self
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        try CurlMultiHandle.check(
            unsafe bench_curl_multi_set_callbacks(
                multiHandle.multi,
                { _, socket, pollMode, context, _ in
                    guard let context = unsafe context else { return -1 }
                    unsafe Unmanaged<CurlSockets>.fromOpaque(context).takeUnretainedValue().watch(socket, pollMode)
                    return 0
                },
                { _, timeout, context in
                    guard let context = unsafe context else { return -1 }
                    unsafe Unmanaged<CurlSockets>.fromOpaque(context).takeUnretainedValue().timeout = timeout
                    return 0
                }, context))
    }

    private func watch(_ socket: Int32, _ pollMode: Int32) {
        guard pollMode != CURL_POLL_REMOVE else {
            if watchedSockets.remove(socket) != nil { _ = poller.control(EPOLL_CTL_DEL, socket, 0, 0) }
            return
        }
        let interest = (pollMode & CURL_POLL_IN != 0 ? bench_epoll_in : 0) | (pollMode & CURL_POLL_OUT != 0 ? bench_epoll_out : 0)
        let isNew = watchedSockets.insert(socket).inserted
        _ = poller.control(isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, interest, UInt64(socket))
    }

    func drive(_ multiHandle: CurlMultiHandle) throws {
        guard timeout != 0 else { return try performAction(multiHandle, timeoutSocket, 0) }
        var isIdle = true
        try poller.wait(atMost: Int32(clamping: timeout)) { socket, events in
            isIdle = false
            let bits = (events & bench_epoll_in != 0 ? CURL_CSELECT_IN : 0) | (events & bench_epoll_out != 0 ? CURL_CSELECT_OUT : 0)
            try performAction(multiHandle, Int32(socket), bits)
        }
        if isIdle { try performAction(multiHandle, timeoutSocket, 0) }
    }

    private func performAction(_ multiHandle: CurlMultiHandle, _ socket: Int32, _ bits: Int32) throws {
        if socket == timeoutSocket { timeout = -1 }
        var running: Int32 = 0
        try CurlMultiHandle.check(unsafe curl_multi_socket_action(multiHandle.multi, socket, bits, &running))
    }
}

/// CURL_SOCKET_TIMEOUT, which Swift does not import because it is a macro with a cast.
private let timeoutSocket: Int32 = -1
