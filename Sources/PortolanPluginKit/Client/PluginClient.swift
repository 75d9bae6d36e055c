// SPDX-License-Identifier: Apache-2.0

import CPortolan

/// What a load reports to, and asks.
///
/// Each call returns when the reader is ready for the next: a load that awaits its calls is never faster than who reads it. From the load's
/// own task (and its children) a call costs little more than the host's function; any other task may call, too, and waits for its turn.
///
/// Every call throws `CancellationError` once nobody wants the rest, and a ``PluginError`` where the call breaks the order of events: a
/// second response, data before one or after the trailers, more bytes than were announced. The host then never hears of it.
public struct PluginClient: Sendable {
    let running: RunningLoad

    /// Nobody wants the rest; for loops that deliver nothing. Any thread.
    public var isStopped: Bool { running.executor.isStopped }

    /// The host, for its log.
    public var host: PluginHost { PluginHost(running.instance) }

    // MARK: The answer

    /// An interim response, status 100 to 199, before the response.
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

    /// The response; again for each part, where the plugin's description says that it is multipart.
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

    /// Body bytes, read where they lie before this returns. Runs of 4 KiB to 1 MiB travel best.
    public func didLoad(_ bytes: borrowing RawSpan) async throws {
        guard running.executor.isInTurn, !running.isPaused else {
            // The caller lends the bytes until this function returns, so the address holds across the wait.
            nonisolated(unsafe) let lent = unsafe bytes.withUnsafeBytes { unsafe $0 }
            return try await running.deliver { load, _ in unsafe try load.deliverAny(lent) }
        }
        if try unsafe bytes.withUnsafeBytes({ unsafe try running.deliverNow($0) }) { return }
        try await running.waitAfterDelivery()
    }

    /// As `didLoad` of a span.
    public func didLoad(_ bytes: ArraySlice<UInt8>) async throws {
        guard running.executor.isInTurn, !running.isPaused else {
            return try await running.deliver { load, _ in try unsafe bytes.withUnsafeBytes { unsafe try load.deliverAny($0) } }
        }
        if try unsafe bytes.withUnsafeBytes({ unsafe try running.deliverNow($0) }) { return }
        try await running.waitAfterDelivery()
    }

    /// As `didLoad` of a span.
    public func didLoad(_ bytes: [UInt8]) async throws { try await didLoad(bytes[...]) }

    /// As `didLoad` of a span, in UTF-8.
    public func didLoad(_ text: String) async throws { try await didLoad(Array(text.utf8)[...]) }

    /// Delivers what `next` gives, one after the other, until that is `nil`.
    ///
    /// Where a body comes in many small runs this costs a fraction of as many calls of `didLoad`: it suspends only for a reader who is slow.
    public func didLoad(each next: () throws -> ArraySlice<UInt8>?) async throws {
        while let bytes = try next() {
            guard running.executor.isInTurn, !running.isPaused else {
                try await didLoad(bytes)
                continue
            }
            if try unsafe !bytes.withUnsafeBytes({ unsafe try running.deliverNow($0) }) { try await running.waitAfterDelivery() }
        }
    }

    /// Delivers the parts of `bytes` that `next` names, one after the other, until that is `nil`.
    ///
    /// For bodies that are made of parts of one array: no part counts a reference.
    ///
    /// - Throws: a ``PluginError`` for a part that `bytes` does not have.
    public func didLoad(partsOf bytes: [UInt8], each next: () throws -> Range<Int>?) async throws {
        while let part = try next() {
            guard part.lowerBound >= 0, part.upperBound <= bytes.count else {
                throw PluginError(.unknown, message: "the bytes \(part) were to be delivered of \(bytes.count)")
            }
            guard running.executor.isInTurn, !running.isPaused else {
                try await didLoad(bytes[part])
                continue
            }
            let isAllSaid = try unsafe bytes.withUnsafeBytes { bytes in
                unsafe try running.deliverNow(UnsafeRawBufferPointer(rebasing: bytes[part]))
            }
            if !isAllSaid { try await running.waitAfterDelivery() }
        }
    }

    /// Fields that came after the body. Once at most, and last.
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

    /// The resource is elsewhere.
    ///
    /// Returns where the caller does not follow: then deliver this response and its body as any other. Where it does, that is the end, and
    /// this throws `CancellationError`.
    ///
    /// - Throws: ``PluginError/Code/badRedirect`` where it is not followed and there is no response to deliver.
    public func wasRedirected(to change: PluginChange, response: PluginResponse? = nil) async throws {
        try change.check()
        try response?.check(isInterim: false)
        guard let url = change.url else {
            throw PluginError(.badRedirect, message: "a redirect does not say where to; give an absolute URL")
        }
        guard Syntax.isAbsolute(url) else {
            throw PluginError(.badRedirect, message: "a redirect leads to no absolute URL of printable ASCII")
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
        if response == nil { throw PluginError(.badRedirect, message: "the redirect was not followed, and there is nothing else here") }
    }

    // MARK: Progress

    /// A step of the metrics is reached now.
    public func didReach(_ step: PluginStep) async throws {
        try await running.perform { _, client in
            unsafe client.pointer.pointee.did_reach(client.pointer, portolan_step(rawValue: step.rawValue))
            return .done(())
        }
    }

    /// That many bytes of the upload body have been sent to the peer, in all.
    public func didSend(total: Int64) async throws {
        try await running.perform { load, client in
            try load.order.sent(total)
            unsafe client.pointer.pointee.did_send(client.pointer, total)
            return .done(())
        }
    }
}

extension RunningLoad {
    /// In a turn; the answer is the host's.
    func deliverAny(_ bytes: UnsafeRawBufferPointer) throws -> portolan_flow {
        if try unsafe deliverNow(bytes) { return PORTOLAN_CONTINUE }
        return isPaused ? PORTOLAN_PAUSE : PORTOLAN_CONTINUE
    }
}
