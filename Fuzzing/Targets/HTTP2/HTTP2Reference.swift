// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanHTTP
import PortolanHTTPSyntax

/// Interprets a server's bytes for the requests on streams 1, 3, 5…, frame by frame as RFC 9113 describes it.
///
/// As long as every frame certainly follows the rules of the connection (``isSound``), the fuzz target compares
/// complete results. After that, it checks only what holds for any bytes.
struct HTTP2Reference {
    /// Whether all frames certainly follow the rules, so that the result of each stream is known.
    private(set) var isSound = true
    /// Whether the results can depend on the division into pieces: Invalid frames came on a stream that has ended, and
    /// are an error only if the client has not released the stream. Or there are two errors, and the client may find
    /// either of them first.
    private(set) var dependsOnTiming = false
    private(set) var streams: [HTTP2StreamReference]
    private(set) var frameCount = 0
    /// The number of frames without content, and the number of such frames that other frames permit.
    private(set) var (idleFrames, permittedIdleFrames) = (0, 0)

    private let decoder = FieldBlockDecoder()
    private var isDecodable = true
    private var hasSettings = false
    private var acknowledgementCount = 0
    private var (emptyFrames, lastProcessedStream) = (0, UInt32.max)
    /// The field block that continues in further CONTINUATION frames.
    private var openBlock: (stream: UInt32, endsStream: Bool, isPromise: Bool, block: [UInt8], parts: Int)?

    /// - Parameters:
    ///   - methods: the methods of the requests.
    ///   - stopped: the request whose load ends with the head of its response.
    init(_ bytes: [UInt8], methods: [HTTPRequest.Method], limits: HTTPLimits, stopped: Int?) {
        streams = methods.indices.map { HTTP2StreamReference(methods[$0], limits: limits, stopsAtHead: $0 == stopped) }
        var rest = bytes[...]
        while rest.count >= 9 {
            let header = Array(rest.prefix(9))
            let length = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
            let payload = Array(rest.dropFirst(9).prefix(length))
            let stream = Self.number(header[5...]) & 0x7FFF_FFFF
            interpret(HTTP2FrameReference(type: header[3], flags: header[4], stream: stream, payload: payload, length: length))
            rest = rest.dropFirst(9 + length)
        }
        // A flood is detected before other errors in the same read.
        if frameCount > 900 || emptyFrames > 32 { (isSound, dependsOnTiming) = (false, true) }
        if openBlock != nil { isSound = false }
    }

    static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }

    private mutating func interpret(_ frame: HTTP2FrameReference) {
        frameCount += 1
        count(frame)
        if frame.payload.count < frame.length || frame.length > 16_384 { isSound = false }
        if !hasSettings, frame.type != 4 || frame.flags & 1 != 0 { isSound = false }
        if openBlock != nil, frame.type != 9 || frame.stream != openBlock?.stream { (isSound, isDecodable) = (false, false) }
        let isCertainlyValid = isCertainlyValid(frame)
        if !isCertainlyValid { isSound = false }
        if let index = Self.index(of: frame.stream), streams.indices.contains(index) {
            if !streams[index].isOpenForServer || !isCertainlyValid && streams[index].isOver { dependsOnTiming = true }
        }
        switch frame.type {
        case 0: interpretData(frame)
        case 1: interpretHeaders(frame)
        case 3: withStream(frame.stream) { $0.interpretReset(HTTP2Reference.number(frame.payload[...])) }
        case 4: interpretSettings(frame)
        case 5: interpretPromise(frame)
        case 7: interpretGoAway(frame)
        case 9: interpretContinuation(frame)
        default: break
        }
    }

    /// Counts the frames without content, which are limited, and the frames that raise the limit. In a case of doubt,
    /// it counts in the server's favour.
    private mutating func count(_ frame: HTTP2FrameReference) {
        switch frame.type {
        case 0: permittedIdleFrames += 2 + frame.length / 64
        case 1: permittedIdleFrames += 10
        case 4, 6, 8, 10...: idleFrames += 1
        default: break
        }
    }

    /// Whether the frame follows the rules of its type, and does not come near any limit of the connection.
    private func isCertainlyValid(_ frame: HTTP2FrameReference) -> Bool {
        let index = Self.index(of: frame.stream)
        let belongsToRequest = index.map { streams.indices.contains($0) } ?? false
        let isOpen = belongsToRequest && index.map { streams[$0].isOpenForServer } ?? false
        switch frame.type {
        case 0: return isOpen && frame.content != nil
        case 1: return isOpen && frame.content != nil
        case 2: return frame.stream != 0 && frame.length == 5
        case 3: return belongsToRequest && frame.length == 4
        case 4: return frame.stream == 0 && (frame.flags & 1 == 0 ? frame.length % 6 == 0 : frame.length == 0)
        case 5: return false
        case 6: return frame.stream == 0 && frame.length == 8
        case 7:
            let last = Self.number(frame.payload[...]) & 0x7FFF_FFFF
            return frame.stream == 0 && frame.length >= 8 && last <= lastProcessedStream && (last == 0 || last & 1 == 1)
        case 8:
            let increment = Self.number(frame.payload[...]) & 0x7FFF_FFFF
            return frame.length == 4 && (1..<1 << 20).contains(increment) && (frame.stream == 0 || isOpen)
        case 9: return openBlock != nil
        case 10, 12, 16: return false
        default: return true
        }
    }

    private mutating func withStream(_ stream: UInt32, _ change: (inout HTTP2StreamReference) -> Void) {
        guard let index = Self.index(of: stream), streams.indices.contains(index) else { return }
        change(&streams[index])
    }

    private static func index(of stream: UInt32) -> Int? { stream & 1 == 1 ? Int(stream / 2) : nil }

    // MARK: Frame types

    private mutating func interpretData(_ frame: HTTP2FrameReference) {
        if frame.content?.isEmpty == true { emptyFrames += 1 }
        withStream(frame.stream) { $0.interpretData(frame) }
        if let index = Self.index(of: frame.stream), streams.indices.contains(index), streams[index].dataSize > 60_000 { isSound = false }
    }

    private mutating func interpretHeaders(_ frame: HTTP2FrameReference) {
        withStream(frame.stream) { $0.begin() }
        guard var block = frame.content, frame.flags & 0x20 == 0 || block.count >= 5 else { return (isSound, isDecodable) = (false, false) }
        if frame.flags & 0x20 != 0 { block.removeFirst(5) }
        openBlock = (frame.stream, frame.flags & 1 != 0, false, block, 0)
        if frame.flags & 4 != 0 { endBlock() }
    }

    /// Interprets PUSH_PROMISE, which is permitted until the client's settings are acknowledged (RFC 9113 §8.4). The
    /// fields of the promise change the HPACK table.
    private mutating func interpretPromise(_ frame: HTTP2FrameReference) {
        guard let block = frame.content, block.count >= 4 else { return isDecodable = false }
        openBlock = (frame.stream, false, true, Array(block.dropFirst(4)), 0)
        if frame.flags & 4 != 0 { endBlock() }
    }

    private mutating func interpretContinuation(_ frame: HTTP2FrameReference) {
        guard openBlock != nil else { return }
        openBlock?.block += frame.payload
        openBlock?.parts += 1
        if let openBlock, openBlock.parts > 4 { isSound = false }
        if frame.flags & 4 != 0 { endBlock() }
    }

    private mutating func endBlock() {
        guard let block = openBlock else { return }
        openBlock = nil
        guard isDecodable, let fields = decoder.decode(block.block) else { return (isSound, isDecodable) = (false, false) }
        if fields.contains(where: { $0[0].unicodeScalars.count + $0[1].unicodeScalars.count > 60_000 }) { isSound = false }
        if !block.isPromise { withStream(block.stream) { $0.interpretSection(fields, endsStream: block.endsStream) } }
    }

    private mutating func interpretSettings(_ frame: HTTP2FrameReference) {
        if frame.flags & 1 != 0 {
            acknowledgementCount += 1
            if acknowledgementCount > 1 { isSound = false }
            return
        }
        hasSettings = true
        for start in stride(from: 0, to: frame.payload.count - 5, by: 6) {
            let parameter = Int(frame.payload[start]) << 8 | Int(frame.payload[start + 1])
            let value = Self.number(frame.payload[(start + 2)...])
            switch parameter {
            case 2: if value != 0 { isSound = false }
            case 4: if value > 1 << 30 { isSound = false }
            case 5: if !(16_384...16_777_215).contains(value) { isSound = false }
            case 8, 9: isSound = false
            default: break
            }
        }
    }

    private mutating func interpretGoAway(_ frame: HTTP2FrameReference) {
        lastProcessedStream = Self.number(frame.payload[...]) & 0x7FFF_FFFF
        for index in streams.indices where UInt32(2 * index + 1) > lastProcessedStream { streams[index].interpretGoAway() }
    }
}

struct HTTP2FrameReference {
    let type: UInt8
    let flags: UInt8
    let stream: UInt32
    /// The received part of the payload.
    let payload: [UInt8]
    /// The length of the payload as the frame header announces it.
    let length: Int

    /// The content of DATA and HEADERS without padding; `nil` if the padding exceeds the payload.
    var content: [UInt8]? {
        guard flags & 8 != 0 else { return payload }
        guard let padding = payload.first, length > Int(padding), payload.count == length else { return nil }
        return Array(payload.dropFirst().dropLast(Int(padding)))
    }

    /// The largest part of the payload that can be content.
    var largestContent: [UInt8] { content ?? Array(payload.dropFirst(flags & 8 == 0 ? 0 : 1)) }
}
