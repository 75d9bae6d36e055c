// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCore
import PortolanJSON

/// The values of the variables of `-w`, which are those of curl. Times are those of the last request, in seconds since
/// the start of the load.
struct WriteOutValues: Sendable {
    /// The URL as it was given.
    var url = ""
    /// The position of the URL among those of the command, from 0.
    var urlNumber = 0
    /// The condition of `-z`.
    var timeCondition: TimeCondition?
    /// The last request.
    var request: Request?
    /// The URL of the last request or response.
    var effectiveURL: URLRecord?
    /// The last response; `nil` if there is none.
    var response: Response?
    var metrics: LoadMetrics?
    /// The number of bytes of the heads of all responses.
    var headSize = 0
    /// The number of body bytes that were sent.
    var uploadSize: Int64 = 0
    /// The number of received body bytes, after decoding.
    var bodySize: Int64 = 0
    var retryCount = 0
    var failure: Failure?
    /// The path of the file of the body.
    var path: String?

    enum Value: Equatable {
        case text(String?)
        case number(Int64)
        /// A number that is printed with at least three digits.
        case code(Int)
        case time(Duration)

        var text: String {
            switch self {
            case .text(let text): text ?? ""
            case .number(let number): String(number)
            case .code(let code): String(repeating: "0", count: max(0, 3 - String(code).count)) + String(code)
            case .time(let duration): Self.seconds(duration)
            }
        }

        /// A number with six decimals.
        private static func seconds(_ duration: Duration) -> String {
            let (seconds, attoseconds) = duration.components
            let micros = String(attoseconds / 1_000_000_000_000)
            return "\(seconds).\(String(repeating: "0", count: max(0, 6 - micros.count)))\(micros)"
        }

        var json: JSONValue {
            switch self {
            case .text(let text): .text(text)
            case .number(let number): .integer(number)
            case .code(let code): .integer(code)
            case .time: .number(text)
            }
        }
    }

    private typealias Variable = (name: String, value: @Sendable (WriteOutValues) -> Value)

    /// The variables in lexical order.
    private static let variables: [Variable] = [
        ("certs", { _ in .text("") }),
        ("conn_id", { _ in .number(0) }),
        ("content_type", { .text($0.response?.fields[.contentType]) }),
        ("errormsg", { .text($0.failure.map { $0.message ?? $0.status.meaning }) }),
        ("exitcode", { .number(Int64($0.failure?.status.code ?? 0)) }),
        ("filename_effective", { .text($0.path) }),
        ("ftp_entry_path", { _ in .text(nil) }),
        ("http_code", { .code($0.statusCode) }),
        ("http_connect", { _ in .code(0) }),
        ("http_version", { .text($0.httpVersion) }),
        ("local_ip", { .text($0.endpoints.local.address) }),
        ("local_port", { .number($0.endpoints.local.port) }),
        ("method", { .text($0.request?.method.rawValue) }),
        ("num_certs", { _ in .number(0) }),
        ("num_connects", { .number(Int64($0.transfers.filter { !$0.isReused }.count)) }),
        ("num_headers", { .number(Int64($0.response?.fields.count ?? 0)) }),
        ("num_redirects", { .number(Int64($0.metrics?.redirectCount ?? 0)) }),
        ("num_retries", { .number(Int64($0.retryCount)) }),
        ("proxy_ssl_verify_result", { _ in .number(0) }),
        ("proxy_used", { .number($0.transfers.last?.proxy == nil ? 0 : 1) }),
        ("redirect_url", { .text($0.redirectURL) }),
        ("referer", { .text($0.request?.fields[.referer]) }),
        ("remote_ip", { .text($0.endpoints.remote.address) }),
        ("remote_port", { .number($0.endpoints.remote.port) }),
        ("response_code", { .code($0.statusCode) }),
        // As in curl, in capitals.
        ("scheme", { .text($0.effectiveURL.map { $0.scheme.uppercased() }) }),
        ("size_delivered", { .number($0.bodySize) }),
        ("size_download", { .number($0.bodySize) }),
        ("size_header", { .number(Int64($0.headSize)) }),
        ("size_request", { .number(max(0, $0.transfers.reduce(0) { $0 + $1.bytesSent } - $0.uploadSize)) }),
        ("size_upload", { .number($0.uploadSize) }),
        ("speed_download", { .number($0.speed(of: $0.bodySize)) }),
        ("speed_upload", { .number($0.speed(of: $0.uploadSize)) }),
        ("ssl_verify_result", { _ in .number(0) }),
        ("time_appconnect", { .time($0.phases.tls) }),
        ("time_connect", { .time($0.phases.connect) }),
        ("time_namelookup", { .time($0.phases.lookup) }),
        ("time_pretransfer", { .time($0.phases.ready) }),
        ("time_redirect", { .time($0.metrics?.redirectCount ?? 0 > 0 ? $0.timings.last?.start ?? .zero : .zero) }),
        ("time_starttransfer", { .time($0.phases.firstByte) }),
        ("time_total", { .time($0.metrics?.timeToEnd ?? .zero) }),
        ("tls_earlydata", { _ in .number(0) }),
        ("url", { .text($0.url) }),
        ("url_effective", { .text($0.effectiveURL?.string) }),
        ("urlnum", { .number(Int64($0.urlNumber)) }),
        ("xfer_id", { .number(Int64($0.urlNumber)) }),
    ]

    /// The names of the variables, without `json`, `header_json`, and the variables for the parts of a URL.
    static var names: [String] { variables.map(\.name) }

    static func isVariable(_ name: String) -> Bool {
        name == "json" || name == "header_json" || urlPart(name) != nil || variables.contains { $0.name == name }
    }

    /// The value of a variable as text; `nil` for an unknown one.
    func text(of name: String) -> String? {
        switch name {
        case "json": return json
        case "header_json": return fieldsJSON
        default: break
        }
        if let (part, isEffective) = Self.urlPart(name) {
            // `try?` because an invalid URL has no parts.
            return (isEffective ? effectiveURL : try? Request(argument: url).url).flatMap { Self.text(of: part, in: $0) } ?? ""
        }
        return Self.variables.first { $0.name == name }?.value(self).text
    }

    /// As with curl, a successful response that does not meet the condition of `-z` has the status 304.
    private var statusCode: Int {
        guard let response, let status = response.status else { return 0 }
        return status.kind == .successful && timeCondition?.isUnmet(by: response) == true ? 304 : status.code
    }

    /// `1`, `1.1` or `2`; `0` without a response of HTTP.
    private var httpVersion: String {
        guard let response, response.status != nil else { return "0" }
        guard let version = response.httpVersion else { return "1.1" }
        return version == "1.0" ? "1" : version
    }

    /// The value of the first field with this name in the last response; empty if there is none.
    func text(ofField name: String) -> String {
        guard let name = HTTPField.Name(name) else { return "" }
        return response?.fields.first { $0.name == name }?.value ?? ""
    }

    // MARK: JSON

    /// All variables as one JSON object.
    private var json: String {
        var members: [(String, JSONValue)] = Self.variables.map { ($0.name, $0.value(self).json) }
        members.append(("curl_version", .string("Portolan/\(portolanVersion)")))
        return "{"
            + members.sorted { $0.0 < $1.0 }.map { "\"\($0.0)\":\(String(decoding: $0.1.bytes, as: UTF8.self))" }.joined(separator: ",")
            + "}"
    }

    /// The fields of the last response: each name in lower case with the list of its values.
    private var fieldsJSON: String {
        var names: [String] = []
        var values: [String: [JSONValue]] = [:]
        for field in response?.fields ?? [:] {
            let name = field.name.canonicalName
            if values[name] == nil { names.append(name) }
            values[name, default: []].append(.string(field.value))
        }
        let lines = names.map { name in
            "\(String(decoding: JSONValue.string(name).bytes, as: UTF8.self)):"
                + String(decoding: JSONValue.array(values[name] ?? []).bytes, as: UTF8.self)
        }
        return "{" + lines.joined(separator: ",\n") + "\n}"
    }

    // MARK: URLs

    /// The target of a redirect that was not followed.
    private var redirectURL: String? {
        guard let response, case .url(let url) = RedirectTarget(of: response) else { return nil }
        return url.string
    }

    /// `url.PART` and `urle.PART`, a part of the given URL and of the effective one.
    private static func urlPart(_ name: String) -> (part: String, isEffective: Bool)? {
        for (prefix, isEffective) in [("url.", false), ("urle.", true)] where name.hasPrefix(prefix) {
            let part = String(name.dropFirst(prefix.count))
            return urlParts.contains(part) ? (part, isEffective) : nil
        }
        return nil
    }

    private static let urlParts: Set<String> = [
        "scheme", "user", "password", "options", "host", "port", "path", "query", "fragment", "zoneid",
    ]

    private static func text(of part: String, in url: URLRecord) -> String? {
        switch part {
        case "scheme": String(url.scheme)
        case "user": url.username.isEmpty ? nil : String(url.username)
        case "password": url.password.isEmpty ? nil : String(url.password)
        case "host": url.host.map { String($0) }
        case "port": url.effectivePort.map { String($0) }
        case "path": String(url.path)
        case "query": url.query.map { String($0) }
        case "fragment": url.fragment.map { String($0) }
        default: nil
        }
    }

    // MARK: The network

    private var timings: [RequestTimings] { metrics?.timings ?? [] }
    private var transfers: [TransferReport] { timings.compactMap(\.transfer) }

    /// Bytes per second; 0 if the duration of the load is unknown.
    private func speed(of count: Int64) -> Int64 {
        let seconds = (metrics?.timeToEnd ?? .zero) / .seconds(1)
        return seconds > 0 ? Int64(Double(count) / seconds) : 0
    }

    /// When each phase of the last request ended, since the start of the load. `tls` is zero without a TLS handshake.
    private var phases: (lookup: Duration, connect: Duration, tls: Duration, ready: Duration, firstByte: Duration) {
        guard let last = timings.last else { return (.zero, .zero, .zero, .zero, .zero) }
        let lookup = last.start + (last.waiting ?? .zero) + (last.domainLookup ?? .zero)
        let connect = lookup + (last.connecting ?? .zero)
        let tls = connect + (last.tlsHandshake ?? .zero)
        let firstByte = tls + (last.sending ?? .zero) + (last.awaitingResponse ?? .zero)
        return (lookup, connect, last.tlsHandshake == nil ? .zero : tls, tls, firstByte)
    }

    private typealias Address = (address: String?, port: Int64)

    private var endpoints: (local: Address, remote: Address) {
        let last = transfers.last
        return (Self.parts(of: last?.localAddress), Self.parts(of: last?.remoteAddress))
    }

    /// Splits `127.0.0.1:80` or `[::1]:80`.
    private static func parts(of text: String?) -> Address {
        guard let text, let colon = text.lastIndex(of: ":") else { return (nil, 0) }
        let address = text[..<colon].filter { $0 != "[" && $0 != "]" }
        return (address, Int64(text[text.index(after: colon)...]) ?? 0)
    }
}
