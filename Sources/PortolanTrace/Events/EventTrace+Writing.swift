// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
package import PortolanJSON

/// Writes each transaction as a load: the date and time of its start, and its events as in `get --events`.
///
///     {"creator":{"name":"Portolan","version":"0.1.0"},"loads":[
///         {"began":"2026-01-31T12:00:00.000Z","events":[{"event":"started","time":0.000,"url":"data:,x", …}, …],
///          "lostEvents":0}]}
package enum EventTrace {
    /// - Parameter loads: results of ``load(began:events:lostEvents:)``.
    package static func document(_ loads: [JSONValue]) -> JSONValue {
        ["creator": ["name": "Portolan", "version": .string(portolanVersion)], "loads": .array(loads)]
    }

    /// - Parameters:
    ///   - began: the start in seconds since 1970.
    ///   - events: objects made by ``EventJSON``.
    ///   - lostEvents: the number of events that are missing at the end.
    package static func load(began: Double, events: [JSONValue], lostEvents: Int) -> JSONValue {
        ["began": .string(began.timestamp), "events": .array(events), "lostEvents": .integer(lostEvents)]
    }

    static func load(_ transaction: Transaction) -> JSONValue {
        var events = [EventJSON.line("started", .zero, started(transaction))]
        let hasResponse = transaction.moments.contains { if case .response = $0.event { true } else { false } }
        for moment in transaction.moments {
            // Omit a redirect that was not followed: the response after it has the same information.
            if case .redirect = moment.event, hasResponse { continue }
            events.append(line(moment, of: transaction))
        }
        return load(began: transaction.began, events: events, lostEvents: 0)
    }

    private static func started(_ transaction: Transaction) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init(name: "url", value: .string(transaction.url.description)),
            .init(name: "method", value: .string(transaction.method.rawValue)),
            .init(name: "handler", value: .null),
        ]
        if let body = transaction.body { members.append(.init(name: "body", value: .string(Data(body).base64EncodedString()))) }
        members.append(.init(name: "bodyBytes", value: .count(transaction.bodyLength)))
        if let digest = transaction.bodyDigest { members.append(.init(name: "bodySHA256", value: .string(digest.text))) }
        return .object(members)
    }

    private static func line(_ moment: Transaction.Moment, of transaction: Transaction) -> JSONValue {
        func line(_ name: String, _ members: JSONValue) -> JSONValue { EventJSON.line(name, moment.time, members) }
        return switch moment.event {
        case .interim(let response): line("interim", EventJSON.interim(response))
        case .redirect(let url, let response): line("redirect", EventJSON.redirect(to: url, response))
        case .response(let response): line("response", EventJSON.response(response))
        case .data(let recordedBytes, let count): line("data", EventJSON.data(recordedBytes, count: count))
        case .trailers(let fields): line("trailers", ["headers": FieldList(fields).json])
        case .finished: line("finished", EventJSON.finished(bytes: Int64(transaction.receivedBody.count), redirects: 0))
        case .failed(let error): line("failed", ["code": .string(error.name), "message": .string(error.description)])
        case .interrupted(let reason): line("failed", ["code": .null, "message": .string(reason)])
        }
    }
}
