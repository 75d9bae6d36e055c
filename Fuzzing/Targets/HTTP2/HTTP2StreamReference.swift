// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
@_spi(Fuzzing) import PortolanHTTP

/// Interprets the frames of one stream for its request.
///
/// Source: RFC 9113, sections 8.1 to 8.3; RFC 9110, sections 5, 8.6 and 15.
struct HTTP2StreamReference {
    private enum Stage { case head, body, over }

    private let method: HTTPRequest.Method
    private let limits: HTTPLimits
    private let stopsAtHead: Bool
    private var stage = Stage.head
    /// The number of content bytes that must still come, if the length is known.
    private var remainingContent: Int?

    // These are valid until the first error.
    private(set) var result = HTTP2Result()
    /// Whether the server may send more frames.
    private(set) var isOpenForServer = true
    /// Whether the load has ended, so that further frames do not affect it.
    var isOver: Bool { stage == .over }
    /// The size of all DATA so far, including padding.
    private(set) var dataSize = 0

    // These are valid also after an error.
    /// The statuses and fields of all sections.
    private(set) var heads: [(status: Int?, fields: [[String]])] = []
    /// The content of all DATA frames.
    private(set) var content: [UInt8] = []
    private(set) var hasBegun = false
    private(set) var resets: [UInt32] = []
    private(set) var isAboveGoAway = false

    init(_ method: HTTPRequest.Method, limits: HTTPLimits, stopsAtHead: Bool) {
        (self.method, self.limits, self.stopsAtHead) = (method, limits, stopsAtHead)
    }

    mutating func begin() { hasBegun = true }

    private mutating func fail(_ code: LoadError.Code, eligibility: InMemoryHTTP2.Eligibility = .possiblyProcessed) {
        guard stage != .over else { return }
        stage = .over
        result.end = .failed(code, hasBegun ? .possiblyProcessed : eligibility)
    }

    /// The result if the connection ends now.
    var resultAtEnd: HTTP2Result {
        var stream = self
        stream.fail(.connectionLost, eligibility: .noResponse)
        return stream.result
    }

    mutating func interpretReset(_ code: UInt32) {
        resets.append(code)
        isOpenForServer = false
        fail(.connectionLost, eligibility: code == 7 ? .refused : code == 13 ? .needsHTTP1 : .possiblyProcessed)
    }

    mutating func interpretGoAway() {
        isAboveGoAway = true
        isOpenForServer = false
        fail(.connectionLost, eligibility: .notProcessed)
    }

    mutating func interpretData(_ frame: HTTP2FrameReference) {
        hasBegun = true
        content += frame.largestContent
        dataSize += frame.length
        if frame.flags & 1 != 0 { isOpenForServer = false }
        guard stage != .over else { return }
        guard stage == .body, let bytes = frame.content else { return fail(.badResponse) }
        if let remainingContent {
            guard bytes.count <= remainingContent else { return fail(.badResponse) }
            self.remainingContent = remainingContent - bytes.count
        }
        result.body += bytes
        if frame.flags & 1 != 0 { end() }
    }

    private mutating func end() {
        if let remainingContent, remainingContent > 0 { return fail(.truncated) }
        guard stage != .over else { return }
        stage = .over
        result.end = .finished
    }

    mutating func interpretSection(_ fields: [[String]], endsStream: Bool) {
        hasBegun = true
        heads.append((status: fields.first { $0[0] == ":status" }.flatMap { Int($0[1]) }, fields: fields.filter { $0[0].first != ":" }))
        if endsStream { isOpenForServer = false }
        switch stage {
        case .head: interpretHead(fields, endsStream)
        case .body:
            guard endsStream else { return fail(.badResponse) }
            if let code = errorCode(of: fields, isHead: false) { return fail(code) }
            end()
            if result.end == .finished { result.trailers = fields }
        case .over: break
        }
    }

    private mutating func interpretHead(_ allFields: [[String]], _ endsStream: Bool) {
        if let code = errorCode(of: allFields, isHead: true) { return fail(code) }
        guard let status = allFields.first.flatMap({ $0[0] == ":status" ? Int($0[1]) : nil }), status != 101 else {
            return fail(.badResponse)
        }
        let fields = Array(allFields.dropFirst())
        if (100..<200).contains(status) {
            guard !endsStream else { return fail(.badResponse) }
            guard result.interim.count < limits.maximumInterimResponsesPerResponse else { return fail(.limitExceeded) }
            return result.interim.append(status)
        }
        switch FramingReference(fields).contentLength {
        case .absent: remainingContent = nil
        case .invalid: return fail(.badResponse)
        case .length(let length): remainingContent = length
        }
        if method == .head || status == 204 || status == 304 { remainingContent = 0 }
        if endsStream, let remainingContent, remainingContent > 0 { return fail(.truncated) }
        (result.status, result.fields) = (status, fields)
        stage = .body
        if stopsAtHead { stage = .over } else if endsStream { end() }
    }

    // MARK: Sections 8.2 and 8.3

    /// Returns the error of an invalid field section; `nil` if the section is valid.
    private func errorCode(of fields: [[String]], isHead: Bool) -> LoadError.Code? {
        var (count, bytes, hasStatus) = (0, 0, false)
        for field in fields {
            let (name, value) = (field[0].unicodeScalars.map(\.value), field[1].unicodeScalars.map(\.value))
            if name.first == 0x3A {
                let isStatus = value.count == 3 && value.allSatisfy { (0x30...0x39).contains($0) } && value.first != 0x30
                guard isHead, field[0] == ":status", count == 0, !hasStatus, isStatus else { return .badResponse }
                hasStatus = true
                continue
            }
            guard name.count + value.count + 2 <= limits.maximumFieldLineBytes else { return .limitExceeded }
            bytes += name.count + value.count + 4
            guard bytes <= (isHead ? limits.maximumFieldSectionBytes : limits.maximumTrailerSectionBytes) else { return .limitExceeded }
            count += 1
            guard count <= limits.maximumFieldCount else { return .limitExceeded }
            let isName =
                !name.isEmpty && field[0].unicodeScalars.allSatisfy { MIMEReference.isToken($0) && !("A"..."Z").contains($0) }
            guard isName, !Self.connectionFieldNames.contains(field[0]) else { return .badResponse }
            guard !value.contains(where: { $0 == 0 || $0 == 10 || $0 == 13 }) else { return .badResponse }
            for edge in [value.first, value.last] where edge == 0x20 || edge == 0x09 { return .badResponse }
        }
        return !isHead || hasStatus ? nil : .badResponse
    }

    private static let connectionFieldNames = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]
}

/// The result of a request.
struct HTTP2Result: Equatable {
    enum End: Equatable {
        case finished
        case failed(LoadError.Code, InMemoryHTTP2.Eligibility)
    }

    var interim: [Int] = []
    var status: Int?
    var fields: [[String]] = []
    var body: [UInt8] = []
    var trailers: [[String]] = []
    var end: End?

    /// Compares results. If the request failed, the received part of the body does not matter.
    func isSame(as other: Self) -> Bool {
        guard case .failed? = end else { return self == other }
        var (comparedSelf, comparedOther) = (self, other)
        comparedSelf.body = []
        comparedOther.body = []
        return comparedSelf == comparedOther
    }
}
