// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins

/// A load whose response can be stored, and the stored responses that checks offer to further loads of its URL.
struct StorableLoad {
    /// A stored response, and how a finding names it.
    struct Offer {
        let phrase: String
        let stored: StoredResponse
    }

    let load: ConformanceLoad
    let request: Request
    /// The result without a stored response.
    let result: LoadResult
    let stored: StoredResponse

    /// The response as the load delivered it.
    var currentOffer: Offer { Offer(phrase: "its stored response", stored: stored) }

    /// Responses that the source has replaced since they were stored. A validator and the body differ from those of the
    /// current response. If the current response has no validator, the body differs, and there are no fields.
    var outdatedOffers: [Offer] {
        let (tag, date) = (stored.response.fields[.eTag], stored.response.fields[.lastModified])
        if let tag {
            return Self.otherTags(than: tag).map { other in
                outdatedOffer("a stored response with another ETag (\(Text.oneLine(other, limit: 80)))") { $0.fields[.eTag] = other }
            }
        }
        if let date {
            let otherDate = "Thu, 01 Jan 1970 00:00:00 GMT"
            let other = date == otherDate ? "Fri, 02 Jan 1970 00:00:00 GMT" : otherDate
            return [outdatedOffer("a stored response with another Last-Modified (\(other))") { $0.fields[.lastModified] = other }]
        }
        return [outdatedOffer("a stored response with another body") { $0.fields = HTTPFields() }]
    }

    private func outdatedOffer(_ phrase: String, _ change: (inout Response) -> Void) -> Offer {
        var stored = stored
        stored.body = Self.otherBytes(than: stored.body)
        if stored.response.expectedLength == 0 { stored.response.expectedLength = Int64(stored.body.count) }
        change(&stored.response)
        return Offer(phrase: phrase, stored: stored)
    }

    /// Entity tags (RFC 9110 section 8.8.3) that differ from `tag` even in a weak comparison: of the same length,
    /// longer, and shorter.
    static func otherTags(than tag: String) -> [String] {
        let opaqueEnd = tag.hasSuffix("\"") ? tag.index(before: tag.endIndex) : tag.endIndex
        let (start, end) = (tag[..<opaqueEnd], tag[opaqueEnd...])
        let longer = "\(start)0\(end)"
        guard let last = start.last, last != "\"" else { return [longer] }
        return ["\(start.dropLast())\(last == "0" ? "1" : "0")\(end)", longer, "\(start.dropLast())\(end)"]
    }

    private static func otherBytes(than bytes: [UInt8]) -> [UInt8] { bytes.isEmpty ? [0] : bytes.map { ~$0 } }

    /// Stored responses with damage that a store can have.
    var damagedOffers: [Offer] {
        let length = Int64(stored.body.count)
        let longText = String(repeating: "x", count: 65_536)
        return [
            damagedOffer("a stored response without a body") { $0.body = [] },
            damagedOffer("a stored response with half of its body") { $0.body = Array($0.body.prefix($0.body.count / 2)) },
            damagedOffer("a stored response with other bytes") { $0.body = Self.otherBytes(than: $0.body) },
            damagedOffer("a stored response with a longer body") { $0.body += [UInt8](repeating: 0x20, count: 4096) },
            damagedOffer("a stored response without fields") { $0.response.fields = HTTPFields() },
            damagedOffer("a stored response with empty fields") { $0.mapFields { _ in "" } },
            damagedOffer("a stored response with fields of 64 KiB") { $0.mapFields { _ in longText } },
            damagedOffer("a stored response with doubled fields") { [fields = stored.response.fields] in $0.response.fields += fields },
            damagedOffer("a stored response with the length \(Int64.max)") { $0.response.expectedLength = .max },
            damagedOffer("a stored response with the length 2^40") { $0.response.expectedLength = 1 << 40 },
            damagedOffer("a stored response with a length that is too large") { $0.response.expectedLength = length + 1 },
            damagedOffer("a stored response with the length 0") { $0.response.expectedLength = 0 },
            damagedOffer("a stored response of unknown length") { $0.response.expectedLength = nil },
            damagedOffer("a stored response without a media type") { ($0.response.mimeType, $0.response.textEncodingName) = (nil, nil) },
            damagedOffer("a stored response with the status 999") { $0.response.status = HTTPResponse.Status(code: 999) },
            damagedOffer("a stored response that is read byte by byte") { $0.reading = .byteByByte },
            damagedOffer("a stored response that cannot be read") { $0.reading = .failing(at: 0) },
            damagedOffer("a stored response of which only the first byte can be read") { $0.reading = .failing(at: 1) },
        ]
    }

    private func damagedOffer(_ phrase: String, _ damage: (inout StoredResponse) -> Void) -> Offer {
        var stored = stored
        damage(&stored)
        return Offer(phrase: phrase, stored: stored)
    }
}

extension StoredResponse {
    fileprivate mutating func mapFields(_ value: (String) -> String) {
        var fields = HTTPFields()
        for field in response.fields { fields.append(HTTPField(name: field.name, value: value(field.value))) }
        response.fields = fields
    }
}

extension CheckContext {
    /// Calls `body` with each load of the manifest whose response can be stored, in one new instance.
    ///
    /// - Throws: If there is none.
    func eachStorableLoad(_ body: (StorableLoad, ProbedInstance) throws(CheckSkipped) -> Void) throws(CheckSkipped) {
        var hasStorableLoad = false
        do throws(CheckSkipped) {
            try eachLoad(.storable) { load, request, instance throws(CheckSkipped) in
                let record = try perform(request, of: instance, Self.script(for: load))
                let responses = record.responses.compactMap(\.value)
                guard record.didFinish, responses.count == 1,
                    let stored = responses.first.flatMap({ StoredResponse($0, body: record.body, of: request) })
                else { throw CheckSkipped.notApplicable("the response of '\(load.url)' can't be stored") }
                hasStorableLoad = true
                try body(StorableLoad(load: load, request: request, result: LoadResult(record), stored: stored), instance)
            }
        } catch {
            guard error.isNotApplicable, !hasStorableLoad else { throw error }
            throw CheckSkipped("it does not apply: no URL of the manifest has a response that can be stored (portolan_response.storage)")
        }
    }

    /// Performs a load of the same URL that receives a stored response. Returns `nil` if it does not become idle.
    func recordWhenIdle(
        _ load: StorableLoad, offering offer: StorableLoad.Offer, pausing: Bool = false, of instance: ProbedInstance
    ) throws(CheckSkipped) -> LoadRecord? {
        var script = Self.script(for: load.load)
        script.stored = offer.stored
        if pausing { script.pauses = .each }
        return try recordWhenIdle(load.request, of: instance, script)
    }

    /// Does the same as ``recordWhenIdle(_:offering:pausing:of:)``, but throws if the load does not become idle.
    func record(
        of load: StorableLoad, offering offer: StorableLoad.Offer, pausing: Bool = false, by instance: ProbedInstance
    ) throws(CheckSkipped) -> LoadRecord {
        guard let record = try recordWhenIdle(load, offering: offer, pausing: pausing, of: instance) else {
            throw CheckSkipped("'\(load.load.url)', offered \(offer.phrase), did not end (CACHE-04, FLOW-02, LIFE-02)")
        }
        return record
    }
}
