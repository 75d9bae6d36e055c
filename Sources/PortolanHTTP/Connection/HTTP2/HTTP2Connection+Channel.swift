// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP2
import PortolanCore

extension HTTP2Connection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    /// Puts the protocol's machine and the connection at the end of the channel.
    func add(to channel: any Channel) throws {
        var settings = NIOHTTP2Handler.ConnectionConfiguration()
        settings.initialSettings = [
            HTTP2Setting(parameter: .enablePush, value: 0),
            HTTP2Setting(parameter: .initialWindowSize, value: HTTP2ReceiveWindow.streamStart),
            HTTP2Setting(parameter: .maxHeaderListSize, value: largestFieldList),
        ]
        // Answers are checked where they are read: once, and each fault ends its stream with its own words.
        settings.headerBlockValidation = .disabled
        settings.contentLengthValidation = .disabled
        settings.maximumSequentialContinuationFrames = largestFieldList / (16 << 10) + 5
        // A server ends a stream with an empty frame, which does not count; others it has no use for.
        settings.maximumSequentialEmptyDataFrames = 32
        // What is under way on a stream that was cancelled is dropped as long as the stream is among these, and ends the connection after.
        settings.maximumRecentlyResetStreams = 4095
        settings.controlFrameRateLimit.maximumCount = 1000
        var streams = NIOHTTP2Handler.StreamConfiguration()
        // Each is about a stream that we opened: a server that answers uploads early sends one for each.
        streams.streamResetFrameRateLimit.maximumCount = 8000
        let machine = NIOHTTP2Handler(
            mode: .client, frameDelegate: SentFrames(of: self), connectionConfiguration: settings, streamConfiguration: streams)
        try channel.pipeline.syncOperations.addHandlers([machine, self])
    }

    /// The field section as HTTP/2 counts it: with 32 bytes more for each field (RFC 9113 §6.5.2).
    private var largestFieldList: Int {
        let (section, most) = (max(limits.fieldSection, limits.trailerSection), 16 << 20)
        return min(max(section, 1024), most) + 32 * min(max(limits.fieldCount, 1), 60_000)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        begin()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        ended()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { receive(unwrapInboundIn(data)) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let event as NIOHTTP2WindowUpdatedEvent:
            if let remaining = event.inboundWindowSize { windowChanged(Int32(event.streamID), remaining: remaining) }
        case let event as StreamClosedEvent: streamClosed(Int32(event.streamID), event.reason)
        case is NIOHTTP2BulkStreamWindowChangeEvent: unacknowledgedWindow = 0
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { failed(error) }

    func channelInactive(context: ChannelHandlerContext) {
        ended()
        context.fireChannelInactive()
    }
}

/// Tells the connection which frames leave it, its own and those of the machine.
private final class SentFrames: NIOHTTP2FrameDelegate {
    private weak var connection: HTTP2Connection?

    init(of connection: HTTP2Connection) { self.connection = connection }

    func wroteFrame(_ frame: HTTP2Frame) { connection?.wrote(frame) }
}
