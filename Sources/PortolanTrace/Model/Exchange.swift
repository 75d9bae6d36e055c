// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCore

/// One request of one handler, and what came of it: what a recording holds, however its file is written.
///
/// A load that is redirected consists of several.
package struct Exchange: Sendable {
    package enum Event: Sendable {
        case interim(Response)
        case redirect(to: URLRecord, Response)
        case response(Response)
        /// Body bytes: as many as were kept, and how many came.
        case data([UInt8], count: Int)
        case trailers(HTTPFields)
        case finished
        case failed(LoadError)
        /// The recording ends here, and the load did not: why, as a clause for a message.
        case brokenOff(String)
    }

    package struct Moment: Sendable {
        /// Since the exchange's start.
        package let time: Duration
        package let event: Event

        package init(_ event: Event, at time: Duration) { (self.event, self.time) = (event, time) }
    }

    package var method: HTTPRequest.Method
    /// With its fragment and user information, where the recording has them.
    package var url: URLRecord
    /// Those that the caller gave.
    package var fields: HTTPFields = [:]
    /// The bytes that were sent; `nil` where there were none, or they were not recorded.
    package var body: [UInt8]?
    /// How many bytes were sent; `nil`: not known.
    package var bodyLength: Int64? = 0
    /// Of a body that is too large to be recorded, or for which its file has no room.
    package var bodyDigest: SHA256Digest?
    /// Seconds since 1970.
    package var began: Double
    package var moments: [Moment] = []
    /// What went over the wire.
    package var timings: RequestTimings?
    /// Whether the request was sent again after this answer (a 401, 407 or 417), which nobody got: it is written, and not played.
    package var wasRepeated = false

    package init(_ method: HTTPRequest.Method, _ url: URLRecord, began: Double) {
        (self.method, self.url, self.began) = (method, url, began)
    }

    /// As `request`, without its body.
    package init(_ request: Request, began: Double) {
        self.init(request.method, request.url, began: began)
        (fields, bodyLength) = (request.fields, request.body.map(\.length) ?? 0)
    }

    package mutating func note(_ event: Event, at time: Duration) { moments.append(Moment(event, at: time)) }

    /// Moves the beginning, and leaves what happened at its time of day.
    package mutating func begin(later delay: Duration) {
        guard delay > .zero else { return }
        began += delay / .seconds(1)
        moments = moments.map { Moment($0.event, at: max(.zero, $0.time - delay)) }
    }

    /// What a request sent, where it is known.
    package mutating func note(sent: SentBody) {
        switch sent {
        case .bytes(let bytes): (body, bodyLength) = (bytes, Int64(bytes.count))
        case .large(let length, let digest): (bodyLength, bodyDigest) = (length, digest)
        case .unread: break
        }
    }

    /// The exchange without the bytes of bodies. Their numbers are left, so that it counts as recorded in part, and the digest of what was sent, by
    /// which it differs from other requests.
    package var withoutBodies: Exchange {
        var exchange = self
        if let body {
            exchange.note(sent: .large(length: Int64(body.count), SHA256.digest(of: body)))
            exchange.body = nil
        }
        exchange.moments = moments.map { moment in
            if case .data(_, let count) = moment.event { Moment(.data([], count: count), at: moment.time) } else { moment }
        }
        return exchange
    }

    /// No recording keeps more of one body.
    package static let largestBody = 16 << 20
    /// No recording keeps more events of one load.
    package static let largestEventCount = 100_000
}

extension Exchange {
    package var end: Duration { moments.last?.time ?? .zero }

    /// The first response; that of a redirect, where there is no other.
    package var response: Response? {
        var found: Response?
        for moment in moments {
            switch moment.event {
            case .response(let response): return response
            case .redirect(_, let response): found = response
            default: break
            }
        }
        return found
    }

    package var redirect: URLRecord? {
        for case .redirect(let url, _) in moments.map(\.event) { return url }
        return nil
    }

    package var failure: LoadError? {
        if case .failed(let error)? = moments.last?.event { error } else { nil }
    }

    /// How many bytes of body came, and those that were kept.
    package var payload: (bytes: [UInt8], count: Int) {
        moments.reduce(into: ([], 0)) { payload, moment in
            guard case .data(let kept, let count) = moment.event else { return }
            payload.0 += kept
            payload.1 = payload.1.addingSaturated(count)
        }
    }

    /// Why it can't be played to its end, as a clause for a message; `nil` where it can.
    package var gap: String? {
        let (bytes, count) = moments.reduce(into: (0, 0)) { sums, moment in
            if case .data(let kept, let count) = moment.event { sums = (sums.0 + kept.count, sums.1.addingSaturated(count)) }
        }
        switch moments.last?.event {
        case .brokenOff(let reason): return reason
        case .finished, .failed, .redirect: return bytes < count ? "it has the first \(bytes) bytes of \(count)" : nil
        case .interim, .response, .data, .trailers, nil: return "its end is missing"
        }
    }
}

extension Int {
    /// The sum, or the largest number where it is more than that.
    fileprivate func addingSaturated(_ other: Int) -> Int {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? .max : sum
    }
}
