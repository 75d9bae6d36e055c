// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// Receives the events of a load, and serves its requests for bodies, credentials and nested loads.
///
/// Each call returns when the consumer is ready for the next event, so a load that awaits its calls is never faster
/// than its consumer. From the load's own task and its child tasks, a call costs little more than the host's function.
/// Other tasks may call, too; their calls run in the next host call into the load.
///
/// Every call throws `CancellationError` once the load was stopped. It throws a ``PluginError`` if the call breaks the
/// order of events: a second response, data before the response or after the trailers, more bytes than announced. The
/// host does not receive such an event.
public struct PluginClient: Sendable {
    let running: RunningLoad

    /// Whether the load was stopped; for loops that deliver nothing. Any thread.
    public var isStopped: Bool { running.executor.isStopped }

    /// The host, for logging.
    public var host: PluginHost { PluginHost(running.instance) }

    // MARK: The response

    /// Delivers an interim response, status 100 to 199, before the response.
    public func didReceiveInterim(_ response: PluginResponse) async throws {
        try response.check(isInterim: true)
        try await running.perform { load, client in
            try load.order.preliminary("an interim response")
            let arena = Arena()
            var lent = unsafe arena.response(response)
            unsafe client.pointer.pointee.did_receive_interim(client.pointer, &lent)
            return withExtendedLifetime(arena) { .done(()) }
        }
    }

    /// Delivers the response. A multipart plugin delivers one for each part.
    public func didReceive(_ response: PluginResponse) async throws {
        try response.check(isInterim: false)
        try await running.deliver { load, client in
            try load.order.response(expecting: response.expectedLength)
            let arena = Arena()
            var lent = unsafe arena.response(response)
            defer { withExtendedLifetime(arena) {} }
            return unsafe client.pointer.pointee.did_receive_response(client.pointer, &lent)
        }
    }

    /// Delivers body bytes, which are read in place before this returns. Runs of 4 KiB to 1 MiB are the most efficient.
    public func didLoad(_ bytes: borrowing RawSpan) async throws {
        guard running.executor.isInHostCall, !running.isPaused else {
            // The caller keeps the bytes alive until this function returns, so the address stays valid while it waits.
            nonisolated(unsafe) let lent = unsafe bytes.withUnsafeBytes { unsafe $0 }
            return try await running.deliver { load, _ in unsafe try load.deliverAny(lent) }
        }
        if try unsafe bytes.withUnsafeBytes({ unsafe try running.deliverNow($0) }) { return }
        try await running.waitAfterDelivery()
    }

    /// Same as `didLoad` with a span.
    public func didLoad(_ bytes: ArraySlice<UInt8>) async throws {
        guard running.executor.isInHostCall, !running.isPaused else {
            return try await running.deliver { load, _ in try unsafe bytes.withUnsafeBytes { unsafe try load.deliverAny($0) } }
        }
        if try unsafe bytes.withUnsafeBytes({ unsafe try running.deliverNow($0) }) { return }
        try await running.waitAfterDelivery()
    }

    /// Same as `didLoad` with a span.
    public func didLoad(_ bytes: [UInt8]) async throws { try await didLoad(bytes[...]) }

    /// Same as `didLoad` with a span, in UTF-8.
    public func didLoad(_ text: String) async throws { try await didLoad(Array(text.utf8)[...]) }

    /// Delivers the results of `next` in order, until it returns `nil`.
    ///
    /// For a body in many small runs, this costs a fraction of as many calls of `didLoad`: it suspends only if the
    /// consumer is slow.
    public func didLoad(each next: () throws -> ArraySlice<UInt8>?) async throws {
        while let bytes = try next() {
            guard running.executor.isInHostCall, !running.isPaused else {
                try await didLoad(bytes)
                continue
            }
            if try unsafe !bytes.withUnsafeBytes({ unsafe try running.deliverNow($0) }) { try await running.waitAfterDelivery() }
        }
    }

    /// Delivers the parts of `bytes` that `next` returns, in order, until it returns `nil`.
    ///
    /// For bodies that consist of parts of one array. Parts cause no reference counting.
    ///
    /// - Throws: a ``PluginError`` for a range outside `bytes`.
    public func didLoad(partsOf bytes: [UInt8], each next: () throws -> Range<Int>?) async throws {
        while let part = try next() {
            guard part.lowerBound >= 0, part.upperBound <= bytes.count else {
                throw PluginError(.unknown, message: "the range \(part) is outside of the \(bytes.count) bytes to deliver")
            }
            guard running.executor.isInHostCall, !running.isPaused else {
                try await didLoad(bytes[part])
                continue
            }
            let isAllSaid = try unsafe bytes.withUnsafeBytes { bytes in
                unsafe try running.deliverNow(UnsafeRawBufferPointer(rebasing: bytes[part]))
            }
            if !isAllSaid { try await running.waitAfterDelivery() }
        }
    }

    /// Delivers the trailer fields. At most once, after the body.
    public func didReceiveTrailers(_ fields: [PluginField]) async throws {
        try fields.check()
        try await running.perform { load, client -> RunningLoad.Attempt<Void> in
            guard !load.isPaused else { return .wait(.resume) }
            try load.order.trailers()
            let arena = Arena()
            unsafe client.pointer.pointee.did_receive_trailers(client.pointer, arena.fields(fields), fields.count)
            return withExtendedLifetime(arena) { .done(()) }
        }
    }

    /// Redirects the request to another URL.
    ///
    /// Returns if the caller does not follow the redirect; then deliver this response and its body as usual. If the
    /// caller follows it, the load ends and this throws `CancellationError`.
    ///
    /// - Throws: ``PluginError/Code/badRedirect`` if the redirect is not followed and there is no response to deliver.
    public func wasRedirected(to change: PluginChange, response: PluginResponse? = nil) async throws {
        try change.check()
        try response?.check(isInterim: false)
        guard let url = change.url else {
            throw PluginError(.badRedirect, message: "a redirect has no target; give an absolute URL")
        }
        guard Syntax.isAbsolute(url) else {
            throw PluginError(.badRedirect, message: "the target of a redirect is not an absolute URL of printable ASCII")
        }
        try await running.deliver { load, client in
            try load.order.preliminary("a redirect")
            let arena = Arena()
            var to = unsafe arena.change(change)
            defer { withExtendedLifetime(arena) {} }
            guard let response else { return unsafe client.pointer.pointee.was_redirected(client.pointer, &to, nil) }
            var lent = unsafe arena.response(response)
            return unsafe client.pointer.pointee.was_redirected(client.pointer, &to, &lent)
        }
        if response == nil { throw PluginError(.badRedirect, message: "the redirect was not followed, and it has no response to deliver") }
    }

    // MARK: Progress

    /// Reports that the load reached a step, for the metrics.
    public func didReach(_ step: PluginStep) async throws {
        try await running.perform { _, client in
            unsafe client.pointer.pointee.did_reach(client.pointer, portolan_step(rawValue: step.rawValue))
            return .done(())
        }
    }

    /// Reports the total number of upload body bytes sent to the peer.
    public func didSend(total: Int64) async throws {
        try await running.perform { load, client in
            try load.order.sent(total)
            unsafe client.pointer.pointee.did_send(client.pointer, total)
            return .done(())
        }
    }
}

extension RunningLoad {
    /// Delivers bytes inside a host call.
    ///
    /// - Returns: the host's flow decision.
    func deliverAny(_ bytes: UnsafeRawBufferPointer) throws -> portolan_flow {
        if try unsafe deliverNow(bytes) { return PORTOLAN_CONTINUE }
        return isPaused ? PORTOLAN_PAUSE : PORTOLAN_CONTINUE
    }
}
