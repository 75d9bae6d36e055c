// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCore

/// A load that continues an earlier one: prepares the request, and decides whether the response fits.
struct Resume: Equatable, Sendable {
    /// The number of bytes that exist already.
    let offset: Int64
    /// The `If-Range` validator of the resource that the existing bytes belong to; `nil` if unknown.
    let validator: String?
    /// Whether the existing bytes are content-coded (`--raw`).
    var isCoded = false
    /// The number of bytes before the offset that the file does not have.
    var gap: Int64 = 0

    /// Requests the missing bytes without a content coding, because an offset in the decoded bytes means nothing in the
    /// coded ones.
    func requestRemainder(in request: inout Request) {
        if !request.fields.contains(.acceptEncoding) { request.fields[.acceptEncoding] = "identity" }
        guard offset > 0 else { return }
        request.fields[.range] = "bytes=\(offset)-"
        request.fields[.ifRange] = validator
    }

    /// Whether a response says only that there are no bytes from the offset on, which is no failure, as in curl.
    func isUnsatisfied(by response: Response) -> Bool {
        offset > 0 && response.status?.code == 416 && !response.fields.contains(.contentRange)
    }

    /// What to do with the body of a response.
    enum Decision: Equatable {
        /// The body is the missing part and has `count` bytes. The complete resource has `size` bytes.
        case append(count: Int64?, size: Int64?)
        /// The body is the complete resource, which replaces the existing bytes.
        case startOver
        /// No bytes are missing, so the body is ignored. It is not part of the resource.
        case complete
    }

    /// Decides what to do with the body of a response.
    ///
    /// - Throws: ``Failure`` with ``ExitStatus/badRange`` if the body does not continue the existing bytes, or with
    ///   ``ExitStatus/httpError`` for another status.
    func evaluate(_ response: Response) throws(Failure) -> Decision {
        let name = response.url.shortDescription
        // In protocols without a status, only the field marks a partial response.
        let code = response.status?.code ?? (response.fields.contains(.contentRange) ? 206 : 200)
        let range = ContentRange(in: response.fields)
        switch code {
        case 206 where offset > 0:
            try rejectCodings(of: response)
            return try checkRange(range, of: response)
        case 200..<300 where code != 206:
            try rejectCodings(of: response)
            // As in curl, Content-Range decides, and not the status.
            if offset > 0, Self.firstByte(of: response) == offset { return try checkRange(range, of: response) }
            guard offset > 0, validator == nil else { return .startOver }
            // The server sends no parts, and the existing bytes are as many as those of the resource.
            if !isCoded, response.expectedLength == offset { return .complete }
            throw Failure(
                .badRange,
                "\(name) came from its start, not from byte \(offset), because the server sends no parts of it; load it without -C")
        case 416 where offset > 0 && range?.size ?? offset == offset:
            try rejectOtherVersion(response)
            return .complete
        case 416:
            let size = range?.size.map { " (its size is \($0))" } ?? ""
            throw Failure(
                .badRange, "\(name) has no bytes from \(offset) on\(size), so it does not continue the existing bytes; load it without -C")
        default:
            throw Failure(
                .httpError, "\(name) cannot be continued: the response is \(response.status?.line ?? "a part that was not requested")")
        }
    }

    /// Rejects content codings. Coded bytes cannot follow decoded ones, and a part of coded bytes cannot be decoded
    /// without the others (RFC 9110 §14.2).
    private func rejectCodings(of response: Response) throws(Failure) {
        let codings = response.remainingContentCodings
        guard !isCoded, !codings.isEmpty else { return }
        throw Failure(
            .badRange,
            "\(response.url.shortDescription) came coded (\(QuotedText(codings.joined(separator: ", ")))), although it was requested uncoded; "
                + "load it without -C, or from its start with --coded")
    }

    private func checkRange(_ range: ContentRange?, of response: Response) throws(Failure) -> Decision {
        let name = response.url.shortDescription
        guard Self.firstByte(of: response) == offset else {
            throw Failure(
                .badRange, "the received part of \(name) does not begin at byte \(offset), where -C continues; load it without -C")
        }
        try rejectOtherVersion(response)
        return .append(count: range?.bytes.map { $0.upperBound - $0.lowerBound }, size: range?.size)
    }

    /// Rejects a response that names another version than that of the existing bytes. Some servers ignore `If-Range`.
    private func rejectOtherVersion(_ response: Response) throws(Failure) {
        guard let validator, let current = response.fields[validator.hasPrefix("\"") ? .eTag : .lastModified],
            !Self.isSame(current, validator)
        else { return }
        throw Failure(.badRange, "\(response.url.shortDescription) has changed since its first part was loaded; load it without -C")
    }

    /// A date can have another form.
    private static func isSame(_ current: String, _ validator: String) -> Bool {
        if current == validator { return true }
        guard let date = HTTPDate(parsing: current, now: SystemTime.secondsSince1970) else { return false }
        return date == HTTPDate(parsing: validator, now: SystemTime.secondsSince1970)
    }

    /// The position of a part's first byte. A field without the position of the last byte is accepted: `bytes 50-`.
    private static func firstByte(of response: Response) -> Int64? {
        if let range = ContentRange(in: response.fields) { return range.bytes?.lowerBound }
        guard let text = response.fields[.contentRange], text.hasPrefix("bytes "), text.hasSuffix("-") else { return nil }
        return Int64(text.dropFirst(6).dropLast())
    }

    /// Returns a strong validator of the response's content: the entity tag if it is strong, otherwise the date of the
    /// last change if RFC 9110 accepts it as strong.
    ///
    /// RFC 9110 §8.8.1, §8.8.2.2, §13.1.5
    static func validator(of response: Response) -> String? {
        if let tag = response.fields[.eTag] { return tag.hasPrefix("\"") && tag.hasSuffix("\"") && tag.utf8.count >= 2 ? tag : nil }
        guard let text = response.fields[.lastModified], let modified = HTTPDate(parsing: text, now: 0) else { return nil }
        // The content can change again within the second of its last change, and the two dates can come from different
        // clocks.
        guard let date = response.fields[.date] else { return response.status == nil ? text : nil }
        guard let sent = HTTPDate(parsing: date, now: 0), sent.secondsSince1970 - modified.secondsSince1970 >= 60 else { return nil }
        return text
    }
}
