// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// Receives the events of a load, and serves its requests for bodies, credentials and nested loads.
///
/// Each call returns when the reader is ready for the next event, so a load that awaits its calls is never faster than
/// its reader. Calls from the load's task and its child tasks go to the host directly. Calls from other tasks wait
/// until the host next calls the load.
///
/// After the load was stopped, every call throws `CancellationError`. A call that breaks the order of events throws a
/// ``PluginError``: for example a second response, data before the response or after the trailers, or more bytes than
/// announced. The error names the broken rule, and the host does not receive the event.
public struct PluginClient: Sendable {
    let runningLoad: RunningLoad

    /// Whether the load was stopped. Check it in loops that call no other method. Can be read on any thread.
    public var isStopped: Bool { runningLoad.executor.isStopped }

    /// The host, for logging.
    public var host: PluginHost { PluginHost(runningLoad.instance) }

    // MARK: The response

    /// Delivers an interim response, status 100 to 199, before the response.
    public func didReceiveInterim(_ response: PluginResponse) async throws {
        try response.check(isInterim: true)
        try await runningLoad.perform { load, client in
            try load.order.checkBeforeResponse("didReceiveInterim")
            let arena = Arena()
            var cValue = unsafe arena.response(response)
            unsafe client.pointer.pointee.did_receive_interim(client.pointer, &cValue)
            return withExtendedLifetime(arena) { .done(()) }
        }
    }

    /// Delivers the response. A multipart plugin delivers one for each part.
    public func didReceive(_ response: PluginResponse) async throws {
        try response.check(isInterim: false)
        try await runningLoad.deliver { load, client in
            try load.order.recordResponse(expectedLength: response.expectedLength)
            let arena = Arena()
            var cValue = unsafe arena.response(response)
            defer { withExtendedLifetime(arena) {} }
            return unsafe client.pointer.pointee.did_receive_response(client.pointer, &cValue)
        }
    }

    /// Delivers body bytes. The host reads them in place before this returns. Chunks of 4 KiB to 1 MiB are the most
    /// efficient.
    public func didLoad(_ bytes: borrowing RawSpan) async throws {
        guard runningLoad.executor.isInHostCall, !runningLoad.isPaused else {
            // The caller keeps the bytes alive until this function returns, so the address stays valid while it waits.
            nonisolated(unsafe) let buffer = unsafe bytes.withUnsafeBytes { unsafe $0 }
            return try await runningLoad.deliver { load, _ in unsafe try load.deliver(buffer) }
        }
        if try unsafe bytes.withUnsafeBytes({ unsafe try runningLoad.deliverNow($0) }) { return }
        try await runningLoad.waitAfterDelivery()
    }

    /// Same as `didLoad` with a span.
    public func didLoad(_ bytes: ArraySlice<UInt8>) async throws {
        guard runningLoad.executor.isInHostCall, !runningLoad.isPaused else {
            return try await runningLoad.deliver { load, _ in try unsafe bytes.withUnsafeBytes { unsafe try load.deliver($0) } }
        }
        if try unsafe bytes.withUnsafeBytes({ unsafe try runningLoad.deliverNow($0) }) { return }
        try await runningLoad.waitAfterDelivery()
    }

    /// Same as `didLoad` with a span.
    public func didLoad(_ bytes: [UInt8]) async throws { try await didLoad(bytes[...]) }

    /// Same as `didLoad` with a span of the text's UTF-8.
    public func didLoad(_ text: String) async throws { try await didLoad(Array(text.utf8)[...]) }

    /// Delivers the results of `next` in order, until it returns `nil`.
    ///
    /// For many small chunks, this is much faster than one `didLoad` call per chunk. It suspends only if the reader is
    /// slow.
    public func didLoad(each next: () throws -> ArraySlice<UInt8>?) async throws {
        while let bytes = try next() {
            guard runningLoad.executor.isInHostCall, !runningLoad.isPaused else {
                try await didLoad(bytes)
                continue
            }
            if try unsafe !bytes.withUnsafeBytes({ unsafe try runningLoad.deliverNow($0) }) { try await runningLoad.waitAfterDelivery() }
        }
    }

    /// Delivers the ranges of `bytes` that `next` returns, in order, until `next` returns `nil`.
    ///
    /// For bodies that consist of parts of one array. Ranges avoid retaining the array for each chunk.
    ///
    /// - Throws: a ``PluginError`` for a range outside `bytes`.
    public func didLoad(partsOf bytes: [UInt8], each next: () throws -> Range<Int>?) async throws {
        while let range = try next() {
            guard range.lowerBound >= 0, range.upperBound <= bytes.count else {
                throw PluginError(
                    .unknown, message: "didLoad(partsOf:each:) was given the range \(range), but there are only \(bytes.count) bytes")
            }
            guard runningLoad.executor.isInHostCall, !runningLoad.isPaused else {
                try await didLoad(bytes[range])
                continue
            }
            let canContinue = try unsafe bytes.withUnsafeBytes { bytes in
                unsafe try runningLoad.deliverNow(UnsafeRawBufferPointer(rebasing: bytes[range]))
            }
            if !canContinue { try await runningLoad.waitAfterDelivery() }
        }
    }

    /// Delivers the trailer fields, at most once, after the body.
    public func didReceiveTrailers(_ fields: [PluginField]) async throws {
        try fields.check()
        try await runningLoad.perform { load, client -> RunningLoad.AttemptResult<Void> in
            guard !load.isPaused else { return .wait(.pause) }
            try load.order.recordTrailers()
            let arena = Arena()
            unsafe client.pointer.pointee.did_receive_trailers(client.pointer, arena.fields(fields), fields.count)
            return withExtendedLifetime(arena) { .done(()) }
        }
    }

    /// Redirects the request to another URL.
    ///
    /// If the caller follows the redirect, the load ends, and this method throws `CancellationError`. If the caller
    /// does not follow the redirect, this method returns. Then deliver `response` and its body as usual.
    ///
    /// - Throws: ``PluginError/Code/badRedirect`` if the redirect is not followed and there is no response to deliver.
    public func wasRedirected(to change: PluginRequestChanges, response: PluginResponse? = nil) async throws {
        try change.check()
        try response?.check(isInterim: false)
        guard let url = change.url else {
            throw PluginError(
                .badRedirect,
                message: "wasRedirected was called without a URL, which breaks REDIR-01; set PluginRequestChanges.url to an absolute URL")
        }
        guard Syntax.isAbsolute(url) else {
            throw PluginError(
                .badRedirect,
                message:
                    "the target of a redirect is not an absolute URL of printable ASCII, which breaks REDIR-01; resolve and percent-encode it"
            )
        }
        try await runningLoad.deliver { load, client in
            try load.order.checkBeforeResponse("wasRedirected")
            let arena = Arena()
            var cChange = unsafe arena.changes(change)
            defer { withExtendedLifetime(arena) {} }
            guard let response else { return unsafe client.pointer.pointee.was_redirected(client.pointer, &cChange, nil) }
            var cValue = unsafe arena.response(response)
            return unsafe client.pointer.pointee.was_redirected(client.pointer, &cChange, &cValue)
        }
        if response == nil {
            throw PluginError(
                .badRedirect, message: "the caller did not follow the redirect, and the redirect has no response to deliver")
        }
    }

    // MARK: Progress

    /// Reports for the metrics that the load reached a step.
    public func didReach(_ step: PluginStep) async throws {
        try await runningLoad.perform { _, client in
            unsafe client.pointer.pointee.did_reach(client.pointer, portolan_step(rawValue: step.rawValue))
            return .done(())
        }
    }

    /// Reports the total number of upload body bytes sent to the peer.
    public func didSend(total: Int64) async throws {
        try await runningLoad.perform { load, client in
            try load.order.recordSent(total)
            unsafe client.pointer.pointee.did_send(client.pointer, total)
            return .done(())
        }
    }
}

extension RunningLoad {
    /// Delivers bytes. Only inside a host call.
    ///
    /// - Returns: the host's flow decision.
    func deliver(_ bytes: UnsafeRawBufferPointer) throws -> portolan_flow {
        if try unsafe deliverNow(bytes) { return PORTOLAN_CONTINUE }
        return isPaused ? PORTOLAN_PAUSE : PORTOLAN_CONTINUE
    }
}
