// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCore

/// One request to one handler and its result, independent of the recording's file format.
///
/// A redirected load consists of several transactions.
package struct Transaction: Sendable {
    package enum Event: Sendable {
        case interim(Response)
        case redirect(to: URLRecord, Response)
        case response(Response)
        /// Body bytes: the recorded ones, and the number of received ones.
        case data([UInt8], count: Int)
        case trailers(HTTPFields)
        case finished
        case failed(LoadError)
        /// The recording ended before the load did. The value is the reason, as a clause for a message.
        case interrupted(String)
    }

    /// An event and its time.
    package struct Moment: Sendable {
        /// The time since the start of the transaction.
        package let time: Duration
        package let event: Event

        package init(_ event: Event, at time: Duration) { (self.event, self.time) = (event, time) }
    }

    package var method: HTTPRequest.Method
    /// The URL with fragment and user information, if the recording has them.
    package var url: URLRecord
    /// The fields from the caller.
    package var fields: HTTPFields = [:]
    /// The sent bytes; `nil` if there were none or they were not recorded.
    package var body: [UInt8]?
    /// The number of sent bytes; `nil` if unknown.
    package var bodyLength: Int64? = 0
    /// The digest of a body that is too large to record or does not fit in the file.
    package var bodyDigest: SHA256Digest?
    /// The start in seconds since 1970.
    package var began: Double
    package var moments: [Moment] = []
    /// The timings and sizes of the transfer; `nil` if they were not measured.
    package var timings: RequestTimings?
    /// What the cache had for the request; `nil` if it was not asked.
    package var cache: ArchivedCache?
    /// Whether the request was sent again after this response (a 401, 407 or 417), which the caller never received. It
    /// is recorded but not replayed.
    package var wasRepeated = false

    package init(_ method: HTTPRequest.Method, _ url: URLRecord, began: Double) {
        (self.method, self.url, self.began) = (method, url, began)
    }

    /// Makes a transaction from `request`, without its body.
    package init(_ request: Request, began: Double) {
        self.init(request.method, request.url, began: began)
        (fields, bodyLength) = (request.fields, request.body.map(\.length) ?? 0)
    }

    package mutating func append(_ event: Event, at time: Duration) { moments.append(Moment(event, at: time)) }

    /// Moves the start to a later time. The events keep their time of day.
    package mutating func moveStart(by delay: Duration) {
        guard delay > .zero else { return }
        began += delay / .seconds(1)
        moments = moments.map { Moment($0.event, at: max(.zero, $0.time - delay)) }
    }

    /// Records the sent body, as far as it is known.
    package mutating func setBody(_ sent: SentBody) {
        switch sent {
        case .bytes(let bytes): (body, bodyLength) = (bytes, Int64(bytes.count))
        case .large(let length, let digest): (bodyLength, bodyDigest) = (length, digest)
        case .unread: break
        }
    }

    /// The transaction without body bytes. The numbers of received bytes stay, so the transaction counts as partly
    /// recorded. A digest replaces the sent body, because it distinguishes the transaction from other requests.
    package var withoutBodies: Transaction {
        var transaction = self
        if let body {
            transaction.setBody(.large(length: Int64(body.count), SHA256.digest(of: body)))
            transaction.body = nil
        }
        transaction.moments = moments.map { moment in
            if case .data(_, let count) = moment.event { Moment(.data([], count: count), at: moment.time) } else { moment }
        }
        return transaction
    }

    /// The maximum number of bytes of one body that a recording keeps.
    package static let maximumBodySize = 16 << 20
    /// The maximum number of events of one load that a recording keeps.
    package static let maximumEventCount = 100_000
}

extension Transaction {
    /// The time of the last event since the start of the transaction.
    package var end: Duration { moments.last?.time ?? .zero }

    /// The first response; otherwise the response of a redirect.
    package var response: Response? {
        var redirectResponse: Response?
        for moment in moments {
            switch moment.event {
            case .response(let response): return response
            case .redirect(_, let response): redirectResponse = response
            default: break
            }
        }
        return redirectResponse
    }

    /// The target of the redirect, if there was one.
    package var redirect: URLRecord? {
        for case .redirect(let url, _) in moments.map(\.event) { return url }
        return nil
    }

    package var failure: LoadError? {
        if case .failed(let error)? = moments.last?.event { error } else { nil }
    }

    /// The recorded body bytes, and the number of received ones.
    package var receivedBody: (bytes: [UInt8], count: Int) {
        moments.reduce(into: ([], 0)) { body, moment in
            guard case .data(let recordedBytes, let count) = moment.event else { return }
            body.0 += recordedBytes
            body.1 = body.1.addingSaturated(count)
        }
    }

    /// The reason why the transaction cannot be replayed to its end, as a clause for a message; `nil` if it can.
    package var incompleteness: String? {
        let (bytes, count) = moments.reduce(into: (0, 0)) { sums, moment in
            if case .data(let recordedBytes, let count) = moment.event {
                sums = (sums.0 + recordedBytes.count, sums.1.addingSaturated(count))
            }
        }
        switch moments.last?.event {
        case .interrupted(let reason): return reason
        case .finished, .failed, .redirect: return bytes < count ? "it has the first \(bytes) bytes of \(count)" : nil
        case .interim, .response, .data, .trailers, nil: return "its end is missing"
        }
    }
}

extension Int {
    /// The sum, or the largest number on overflow.
    fileprivate func addingSaturated(_ other: Int) -> Int {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? .max : sum
    }
}
