// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
import PortolanCore
public import PortolanURL

/// Functions of this module for the fuzzers of the cache's rules. Not a part of the API.
@_spi(Fuzzing) public enum CacheFuzzing {
    /// Parses `Cache-Control`, and returns the seconds in it: those of a response, then those of a request.
    public static func seconds(inDirectives value: [UInt8]) -> [Int64?] {
        let fields = HTTPFields([HTTPField(name: .cacheControl, value: value)])
        let (response, request) = (ResponseDirectives(fields), RequestDirectives(fields))
        return [
            response.maxAge, response.staleWhileRevalidate, response.staleIfError, request.maxAge, request.minFresh, request.maxStale,
            request.staleIfError,
        ]
    }

    /// Stores a response to a GET request, applies the rules to a second request, and lets a second response update the
    /// stored one.
    ///
    /// - Returns: why the first response is not stored, or why the second request is, or is not, answered.
    public static func exchange(
        _ first: (request: HTTPFields, response: HTTPFields, status: Int),
        _ second: (request: HTTPFields, response: HTTPFields, status: Int),
        now: Int64
    ) throws(URLSyntaxError) -> String {
        let url = try URLRecord(parsing: "https://example.org/a")
        let status = HTTPResponse.Status(code: min(max(0, first.status), 999))
        do throws(Storability.Refusal) {
            try Storability.check(method: .get, request: first.request, status: status, fields: first.response, now: now)
        } catch {
            return error.rawValue
        }
        let fields = StoredFields.storable(first.response)
        guard let selectingFields = SelectingFields(vary: fields, request: first.request) else { return "'Vary' was changed" }
        let part = ContentRange(in: fields)
        let content =
            status == .partialContent
            ? part?.bytes.map { StoredContent(ByteRangeSet($0), completeLength: part?.size) } : .complete(length: 10)
        guard let content else { return "no range" }
        let stored = StoredResponse(
            url: url, status: status, fields: fields, requestTime: now, responseTime: now, selectingFields: selectingFields,
            content: content)
        let lookup = CacheLookup(method: .get, fields: second.request, now: DeltaSeconds.sum(now, 10))
        let conditional = Validation.request(lookup, [stored], chosen: lookup.choose([stored]))
        _ = Validation.outcome(of: second.response, conditional, lookup, [stored])
        let newer = stored.updated(by: second.response, request: second.request, requestTime: now, responseTime: now).response
        _ = stored.combined(with: newer)
        _ = Invalidation.urls(method: .post, url: url, status: .ok, fields: second.response)
        _ = Invalidation.clearsCache(second.response, of: url)
        return switch lookup.decide([stored]) {
        case .use(let use): use.reason.text
        case .validate(_, let reason), .load(let reason), .fail(let reason): reason.text
        case .complete: CacheReason.incomplete.text
        }
    }
}
