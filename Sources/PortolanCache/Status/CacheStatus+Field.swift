// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
import PortolanHTTPSyntax
import RawStructuredFieldValues

extension CacheStatus {
    private static let fieldName = "Cache-Status"
    /// The largest number of octets in the fields of a response. Longer ones are ignored.
    package static let limit = 16384

    /// The caches on the way of a response, the one next to the origin server first.
    ///
    /// - Returns: no caches if the field is absent or malformed. Parameters that are unknown, or that have another type
    ///   than they should, are ignored.
    public static func statuses(in fields: HTTPFields) -> [CacheStatus] {
        guard let name = HTTPField.Name(fieldName) else { return [] }
        var value: [UInt8] = []
        fields.forEachValue(of: name) { line in
            if !value.isEmpty { value += [.listComma, UInt8(ascii: " ")] }
            value += line.octets(0..<line.count)
        }
        guard !value.isEmpty, value.count <= limit else { return [] }
        var parser = StructuredFieldValueParser(value)
        do {
            return try parser.parseListFieldValue().compactMap(CacheStatus.init)
        } catch {
            // RFC 9651 §4.2: a field that is no structured field is ignored as a whole.
            return []
        }
    }

    /// The value of a `Cache-Status` field with these caches, the one next to the origin server first.
    ///
    /// Replaces each character that the field can't contain by a question mark.
    public static func fieldValue(_ statuses: [CacheStatus]) -> String {
        var serializer = StructuredFieldValueSerializer()
        do {
            return try String(decoding: serializer.writeListFieldValue(statuses.map { .item($0.item) }), as: UTF8.self)
        } catch {
            // Not reached, because the items have only values that can be written.
            return ""
        }
    }

    private init?(_ member: ItemOrInnerList) {
        guard case .item(let item) = member, let cacheName = item.rfc9651BareItem.text else { return nil }
        self.init(cacheName: cacheName)
        let parameters = item.rfc9651Parameters
        if case .bool(true) = parameters["hit"] {
            source = .hit
        } else if case .token(let reason) = parameters["fwd"] {
            var forward = Forward(ForwardReason(rawValue: reason))
            if case .integer(let status) = parameters["fwd-status"] { forward.status = Int(exactly: status) }
            if case .bool(true) = parameters["stored"] { forward.isStored = true }
            if case .bool(true) = parameters["collapsed"] { forward.isCollapsed = true }
            source = .forward(forward)
        }
        if case .integer(let seconds) = parameters["ttl"] { timeToLive = seconds }
        if case .string(let text) = parameters["key"] { key = text }
        detail = parameters["detail"]?.text
    }

    private var item: Item {
        var parameters = OrderedMap<String, RFC9651BareItem>()
        switch source {
        case .hit: parameters["hit"] = true
        case .forward(let forward):
            parameters["fwd"] = .token(forward.reason.rawValue.structuredHeadersIsValidToken ? forward.reason.rawValue : "miss")
            if let status = forward.status { parameters["fwd-status"] = .integer(Self.clamped(Int64(status))) }
            if forward.isStored { parameters["stored"] = true }
            if forward.isCollapsed { parameters["collapsed"] = true }
        case nil: break
        }
        if let timeToLive { parameters["ttl"] = .integer(Self.clamped(timeToLive)) }
        if let key { parameters["key"] = .string(Self.printable(key)) }
        if let detail { parameters["detail"] = Self.item(detail) }
        return Item(bareItem: Self.item(cacheName), parameters: parameters)
    }

    /// A token if the text can be one, or else a string.
    private static func item(_ text: String) -> RFC9651BareItem {
        text.structuredHeadersIsValidToken ? .token(text) : .string(printable(text))
    }

    /// The largest integers have 15 digits (RFC 9651 §3.3.1).
    private static func clamped(_ number: Int64) -> Int64 { min(max(number, -999_999_999_999_999), 999_999_999_999_999) }

    /// RFC 9651 §3.3.3
    private static func printable(_ text: String) -> String {
        String(decoding: text.unicodeScalars.map { (0x20..<0x7F).contains($0.value) ? UInt8($0.value) : UInt8(ascii: "?") }, as: UTF8.self)
    }
}

extension RFC9651BareItem {
    /// The text of a string or a token.
    fileprivate var text: String? {
        switch self {
        case .string(let text), .token(let text): text
        case .bool, .integer, .decimal, .undecodedByteSequence, .date, .displayString: nil
        }
    }
}
