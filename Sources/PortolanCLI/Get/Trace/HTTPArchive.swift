// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Portolan
import PortolanCore
import PortolanJSON

/// A trace as HAR 1.2: an entry for each request, those that were redirected among them. Loads of other protocols have the status 0.
///
/// Source: HTTP Archive 1.2 Spec (Jan Odvarko). What says who the caller is (`Authorization`, `Cookie`, `Proxy-Authorization`) is left out; the
/// fields of a request are those that the caller gave it.
struct HTTPArchive {
    private var entries: [JSONValue] = []

    init(_ trace: Trace) {
        for load in trace.loads {
            let exchanges = Self.exchanges(of: load)
            entries += exchanges.map { Self.entry($0, began: load.began) }
        }
    }

    var value: JSONValue {
        [
            "log": [
                "version": "1.2", "creator": ["name": "Portolan", "version": .string(portolanVersion)], "entries": .array(entries),
            ]
        ]
    }

    /// A request and what came of it.
    private struct Exchange {
        let request: Request
        let start: Duration
        var end: Duration
        var response: Response?
        var body: [UInt8] = []
        var size = 0
        var redirectsTo: String?
        var failure: String?
        var timings: RequestTimings?
    }

    private static func exchanges(of load: TracedLoad) -> [Exchange] {
        var exchanges: [Exchange] = []
        for happening in load.events {
            let last = exchanges.indices.last
            if let last { exchanges[last].end = happening.time }
            switch (happening.what, last) {
            case (.event(.started(let request, _)), _):
                exchanges.append(Exchange(request: request, start: happening.time, end: happening.time))
            case (.event(.redirected(let request, let response)), let last?):
                (exchanges[last].response, exchanges[last].redirectsTo) = (response, request.url.redacted)
                exchanges.append(Exchange(request: request, start: happening.time, end: happening.time))
            case (.event(.response(let response)), let last?): exchanges[last].response = response
            case (.event(.failed(let failure)), let last?), (.event(.retrying(let failure, _, _)), let last?):
                exchanges[last].failure = failure.message
            case (.data(let kept, let count), let last?):
                exchanges[last].body += kept
                exchanges[last].size += count
            case (.event(.metrics(let metrics)), _):
                // A question for a password is a request more, and comes before the one that was answered.
                for (index, timings) in zip(exchanges.indices.reversed(), metrics.timings.reversed()) { exchanges[index].timings = timings }
            default: break
            }
        }
        return exchanges
    }

    private static func entry(_ exchange: Exchange, began: Double) -> JSONValue {
        let report = exchange.timings?.report
        let start = began + exchange.start / .seconds(1)
        let version = report.map { $0.networkProtocol == "h2" ? "HTTP/2" : $0.networkProtocol.uppercased() } ?? ""
        var members: [JSONValue.Member] = [
            .init(name: "startedDateTime", value: .string(start.timestamp)),
            .init(name: "time", value: .milliseconds(exchange.end - exchange.start)),
            .init(name: "request", value: request(exchange, version, report)),
            .init(name: "response", value: response(exchange, version, report)),
            .init(name: "cache", value: .object([])),
            .init(name: "timings", value: timings(exchange)),
        ]
        if let address = report?.remoteAddress?.split(separator: ":").dropLast().joined(separator: ":") {
            members.append(.init(name: "serverIPAddress", value: .string(address.trimming(["[", "]"]))))
        }
        if let failure = exchange.failure { members.append(.init(name: "comment", value: .string(PlainText.line(failure)))) }
        return .object(members)
    }

    private static func request(_ exchange: Exchange, _ version: String, _ report: TransferReport?) -> JSONValue {
        let request = exchange.request
        let query = (request.url.query ?? "").split(separator: "&").map { pair -> JSONValue in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(PercentEncoding.decode)
            return ["name": .string(parts.first ?? ""), "value": .string(parts.count > 1 ? parts[1] : "")]
        }
        return [
            "method": .string(request.method.rawValue), "url": .string(request.url.withoutFragment.redacted),
            "httpVersion": .string(version),
            "cookies": [], "headers": fields(FieldList(request.fields)), "queryString": .array(query), "headersSize": .integer(-1),
            "bodySize": .integer(request.body.map { $0.length ?? -1 } ?? 0),
        ]
    }

    private static func response(_ exchange: Exchange, _ version: String, _ report: TransferReport?) -> JSONValue {
        let response = exchange.response
        let isText = String(validating: exchange.body, as: UTF8.self)
        var content: [JSONValue.Member] = [
            .init(name: "size", value: .integer(exchange.size)),
            .init(name: "mimeType", value: .string(response?.mimeType?.description ?? "")),
        ]
        if let isText {
            content.append(.init(name: "text", value: .string(isText)))
        } else {
            content.append(.init(name: "text", value: .string(Data(exchange.body).base64EncodedString())))
            content.append(.init(name: "encoding", value: "base64"))
        }
        if exchange.body.count < exchange.size {
            content.append(.init(name: "comment", value: .string("the first \(exchange.body.count) bytes")))
        }
        return [
            "status": .integer(response?.status?.code ?? 0), "statusText": .string(response?.status?.reasonPhrase ?? ""),
            "httpVersion": .string(version), "cookies": [], "headers": fields(response.map { FieldList(of: $0) } ?? FieldList([:])),
            "content": .object(content), "redirectURL": .string(exchange.redirectsTo ?? ""), "headersSize": .integer(-1),
            "bodySize": .integer(-1),
        ]
    }

    private static let credentials: Set<String> = ["authorization", "cookie", "proxy-authorization", "set-cookie"]

    private static func fields(_ list: FieldList) -> JSONValue {
        .array(list.pairs.filter { !credentials.contains($0.name) }.map { ["name": .string($0.name), "value": .string($0.value)] })
    }

    /// In milliseconds; -1: the phase was not gone through.
    private static func timings(_ exchange: Exchange) -> JSONValue {
        func time(_ duration: Duration?) -> JSONValue { duration.map { .milliseconds($0) } ?? .integer(-1) }
        guard let timings = exchange.timings else {
            return ["send": .integer(0), "wait": .milliseconds(exchange.end - exchange.start), "receive": .integer(0)]
        }
        let connecting = timings.connecting.map { $0 + (timings.securing ?? .zero) }
        return [
            "blocked": time(timings.waiting), "dns": time(timings.nameLookUp), "connect": time(connecting), "ssl": time(timings.securing),
            "send": .milliseconds(timings.sending ?? .zero), "wait": .milliseconds(timings.answering ?? .zero),
            "receive": .milliseconds(timings.receiving ?? .zero),
        ]
    }
}

extension String {
    fileprivate func trimming(_ marks: Set<Character>) -> String { filter { !marks.contains($0) } }
}
