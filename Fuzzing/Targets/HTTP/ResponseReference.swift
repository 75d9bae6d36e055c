// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanHTTP
import PortolanHTTPSyntax

/// Parses a complete response as RFC 9112 describes it, slowly, for comparison with the parsers.
///
/// Source: RFC 9112, sections 2 to 7 and 9.3; RFC 9110, section 5.
struct ResponseReference {
    private(set) var outcome: ResponseOutcome

    /// - Parameter bytes: all bytes before the end of the connection.
    init(_ bytes: [UInt8], method: HTTPRequest.Method, limits: HTTPLimits) {
        var reading = Reading(rest: bytes[...], limits: limits)
        do throws(ResponseOutcome) {
            outcome = .response(try reading.response(to: method))
        } catch {
            outcome = error
        }
    }
}

/// Reads the remaining bytes.
struct Reading {
    var rest: ArraySlice<UInt8>
    let limits: HTTPLimits
    var extensionBytes = 0

    init(rest: ArraySlice<UInt8>, limits: HTTPLimits) {
        self.rest = rest
        self.limits = limits
    }

    /// Reads the response, and the interim responses before it.
    mutating func response(to method: HTTPRequest.Method) throws(ResponseOutcome) -> ResponseMeaning {
        let count = rest.count
        var meaning = ResponseMeaning()
        var hasCloseOption = false
        while true {
            let (status, isHTTP10) = try statusLine()
            let (fields, isAmbiguous) = try section(limits.maximumFieldSectionBytes)
            if 100 <= status, status <= 199, status != 101 {
                meaning.interim.append(status)
                hasCloseOption = hasCloseOption || FramingReference(fields).connectionOptions.contains("close")
                guard meaning.interim.count <= limits.maximumInterimResponsesPerResponse else { throw .failure(.limitExceeded) }
                continue
            }
            (meaning.status, meaning.fields) = (status, fields)
            guard status != 101 else { throw .failure(.badResponse) }
            try readBody(of: &meaning, method, FramingReference(fields), isHTTP10: isHTTP10, isAmbiguous: isAmbiguous)
            if hasCloseOption { meaning.isReusable = false }
            meaning.byteCount = count - rest.count
            return meaning
        }
    }

    // MARK: Section 6.3

    private mutating func readBody(
        of meaning: inout ResponseMeaning, _ method: HTTPRequest.Method, _ framing: FramingReference, isHTTP10: Bool, isAmbiguous: Bool
    ) throws(ResponseOutcome) {
        let status = meaning.status
        let isBodiless = method == .head || status == 204 || status == 304
        let isTunnel = !isBodiless && method == .connect && status / 100 == 2
        let isFaulty = framing.transferCodings == .invalid || framing.transferCodings == .unknown || framing.contentLength == .invalid
        var isReusable = !isAmbiguous && !isFaulty && !isTunnel && !framing.connectionOptions.contains("close")
        if isHTTP10, !framing.connectionOptions.contains("keep-alive") { isReusable = false }
        if framing.transferCodings != .absent, isHTTP10 || framing.contentLength != .absent { isReusable = false }
        if status == 204, framing.transferCodings != .absent || framing.contentLength != .absent && framing.contentLength != .length(0) {
            isReusable = false
        }
        if framing.hasEmptyTransferEncoding { isReusable = false }
        meaning.isReusable = isReusable
        if isBodiless || isTunnel { return }

        switch (framing.transferCodings, framing.contentLength) {
        case (.chunked, _):
            (meaning.body, meaning.trailers) = try chunks()
        case (.invalid, _), (.absent, .invalid):
            throw .failure(.badResponse)
        case (.unknown, _):
            throw .failure(.decodingFailed)
        case (.absent, .length(let length)):
            guard length <= rest.count else { throw .failure(.truncated) }
            meaning.body = Array(rest.prefix(length))
            rest = rest.dropFirst(length)
        case (.others, _), (.absent, .absent):
            (meaning.body, rest, meaning.endsAtClose, meaning.isReusable) = (Array(rest), [], true, false)
        }
    }

    // MARK: Lines

    /// - Parameter limit: the largest permitted length of the line in bytes, without its line end.
    mutating func line(atMost limit: Int) throws(ResponseOutcome) -> ArraySlice<UInt8> {
        let end = rest.firstIndex(of: 10)
        var line = rest[..<(end ?? rest.endIndex)]
        if line.last == 13 { line.removeLast() }
        guard line.count <= max(0, limit) else { throw .failure(.limitExceeded) }
        guard let end else { throw .failure(.truncated) }
        rest = rest[(end + 1)...]
        return line
    }

    private mutating func statusLine() throws(ResponseOutcome) -> (status: Int, isHTTP10: Bool) {
        guard !rest.isEmpty else { throw .failure(.emptyResponse) }
        guard Array("HTTP/".utf8).starts(with: rest.prefix(5)) else { throw .failure(.badResponse) }
        let line = try line(atMost: limits.maximumStatusLineBytes)
        let words = line.split { $0 == 32 || $0 == 9 }
        guard words.count >= 2, words[0].count == 8, words[1].count == 3, words[1].allSatisfy({ (48...57).contains($0) }) else {
            throw .failure(.badResponse)
        }
        let version = Array(words[0].dropFirst(5))
        guard version[0] == 49, version[1] == 46, (48...57).contains(version[2]) else { throw .failure(.badResponse) }
        guard words.dropFirst(2).joined().allSatisfy({ $0 != 0 && $0 != 13 }) else { throw .failure(.badResponse) }
        return (words[1].reduce(0) { $0 * 10 + Int($1) - 48 }, version[2] == 48)
    }

    /// - Returns: The name and value of each field, and whether other recipients may interpret a line differently.
    mutating func section(_ limit: Int) throws(ResponseOutcome) -> (fields: [[String]], isAmbiguous: Bool) {
        var (names, values, usedBytes, isAmbiguous): ([String], [[UInt8]], Int, Bool) = ([], [], 0, false)
        while true {
            let line = try line(atMost: min(limits.maximumFieldLineBytes, limit - usedBytes - 2))
            if line.isEmpty { break }
            usedBytes += line.count + 2
            if line.first == 32 || line.first == 9 {
                let continuation = Text.trimmed(line)
                guard let lastValue = values.last, Self.isValue(continuation) else { throw .failure(.badResponse) }
                guard lastValue.count + 1 + continuation.count <= limits.maximumFieldLineBytes else { throw .failure(.limitExceeded) }
                values[values.count - 1] = lastValue + [32] + continuation
                if FramingReference.names.contains(names[names.count - 1].lowercased()) { isAmbiguous = true }
                continue
            }
            guard let colon = line.firstIndex(of: 58) else { throw .failure(.badResponse) }
            var name = line[..<colon]
            while name.last == 32 || name.last == 9 {
                name.removeLast()
                isAmbiguous = true
            }
            guard Text.isToken(name) else { throw .failure(.badResponse) }
            guard names.count < limits.maximumFieldCount else { throw .failure(.limitExceeded) }
            let value = Text.trimmed(line[(colon + 1)...])
            guard Self.isValue(value) else { throw .failure(.badResponse) }
            names.append(Text.latin1(name))
            values.append(Array(value))
        }
        return (zip(names, values).map { [$0, Text.latin1(Text.trimmed($1[...]))] }, isAmbiguous)
    }

    private static func isValue(_ value: ArraySlice<UInt8>) -> Bool { value.allSatisfy { $0 != 0 && $0 != 13 } }
}

enum Text {
    static func trimmed(_ octets: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = octets.drop { $0 == 32 || $0 == 9 }
        while rest.last == 32 || rest.last == 9 { rest.removeLast() }
        return rest
    }

    static func isToken(_ octets: ArraySlice<UInt8>) -> Bool {
        !octets.isEmpty && octets.allSatisfy { MIMEReference.isToken(Unicode.Scalar($0)) }
    }

    static func latin1(_ octets: some Sequence<UInt8>) -> String {
        String(octets.map { Character(Unicode.Scalar($0)) })
    }
}
