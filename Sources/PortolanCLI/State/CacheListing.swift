// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import FoundationEssentials
    import HTTPTypes
    import Portolan
    import PortolanCache
    import PortolanJSON
    import PortolanStore
    import PortolanTrace

    /// A stored response as text and as JSON.
    struct CacheListing {
        let url: String
        let partition: String?
        let stored: StoredResponse
        /// The number of stored octets of the body.
        let bodyLength: Int64
        /// Seconds since 1970.
        let lastUse: Int64
        let useCount: Int64
        private let now: Int64
        private let freshness: Freshness

        /// - Parameter now: in seconds since 1970.
        init(url: String, partition: String?, _ stored: StoredResponse, bodyLength: Int64, lastUse: Int64, useCount: Int64, now: Int64) {
            (self.url, self.partition, self.stored, self.bodyLength) = (url, partition, stored, bodyLength)
            (self.lastUse, self.useCount, self.now) = (lastUse, useCount, now)
            freshness = Freshness(of: stored, now: now)
        }

        init(_ item: DiskCacheStore.Item, now: Int64) {
            self.init(
                url: item.key.url.string, partition: item.key.partition, item.stored, bodyLength: item.bodyLength,
                lastUse: Int64(item.lastUse.timeIntervalSince1970), useCount: item.useCount, now: now)
        }

        // MARK: Use

        /// What the cache does with a request that selects this response and has no other conditions.
        private var decision: CacheDecision {
            var fields = HTTPFields()
            for selector in stored.selectingFields.selectors {
                if let name = HTTPField.Name(selector.name), let value = selector.value {
                    fields.append(HTTPField(name: name, lenientValue: value))
                }
            }
            return CacheLookup(method: .get, fields: fields, now: now).decide([stored])
        }

        /// Until when the response may be used without a request, in seconds since 1970; `nil` if it may not.
        private var usableUntil: Int64? {
            guard freshness.isFresh, stored.directives.noCache != .always, stored.content.isComplete else { return nil }
            return now + freshness.lifetime - freshness.age
        }

        /// Whether a request is needed, and why.
        private var use: (name: String, reason: CacheReason, text: String) {
            switch decision {
            case .use(let use) where use.needsRevalidation: ("revalidate", use.reason, "is used, and the server is asked in the background")
            case .use(let use): ("use", use.reason, "is used without asking the server")
            case .validate(_, let reason): ("validate", reason, "is used if the server confirms it")
            case .complete: ("complete", .incomplete, "is used if the server sends the rest")
            case .load(let reason), .fail(let reason): ("load", reason, "is not used for the whole resource")
            }
        }

        // MARK: The list

        /// Returns one line for each response, with aligned columns.
        static func table(of entries: [CacheListing]) -> String {
            let rows = entries.map(\.columns)
            let widths = rows.reduce([]) { widths, row in row.enumerated().map { max($1.count, $0 < widths.count ? widths[$0] : 0) } }
            return rows.map { row in
                let cells = zip(row, widths).map { text, width in text + String(repeating: " ", count: width - text.count) }
                // The URL comes last, because it can have any length.
                return PlainText.line((cells.dropLast() + row.suffix(1)).joined(separator: "  ")) + "\n"
            }.joined()
        }

        private var columns: [String] {
            [
                "\(stored.status.code)", sizeText, "stored \(Duration.text(ofSeconds: now - stored.responseTime)) ago", freshnessText,
                useText, url + (partition.map { " (for \($0))" } ?? ""),
            ]
        }

        private var useText: String { useCount > 0 ? "used \(Duration.text(ofSeconds: now - lastUse)) ago" : "not used" }

        private var sizeText: String {
            let size = ProgressBar.size(Double(bodyLength))
            guard !stored.content.isComplete else { return size }
            return "\(size) of \(stored.content.completeLength.map { ProgressBar.size(Double($0)) } ?? "?")"
        }

        private var freshnessText: String {
            if stored.directives.noCache == .always { return "validated at each use" }
            return freshness.isFresh
                ? "fresh for \(Duration.text(ofSeconds: -freshness.staleness))"
                : "stale for \(Duration.text(ofSeconds: freshness.staleness))"
        }

        var json: JSONValue { .object(members) }

        private var members: [JSONValue.Member] {
            [
                .init(name: "url", value: .string(url)), .init(name: "partition", value: .text(partition)),
                .init(name: "status", value: .integer(stored.status.code)), .init(name: "bytes", value: .integer(bodyLength)),
                .init(name: "length", value: .count(stored.content.completeLength)),
                .init(name: "complete", value: .bool(stored.content.isComplete)),
                .init(name: "stored", value: .integer(stored.responseTime)), .init(name: "age", value: .integer(freshness.age)),
                .init(name: "lifetime", value: .integer(freshness.lifetime)), .init(name: "lifetimeSource", value: .text(lifetimeSource)),
                .init(name: "fresh", value: .bool(freshness.isFresh)), .init(name: "lastUsed", value: .integer(lastUse)),
                .init(name: "uses", value: .integer(useCount)),
            ]
        }

        // MARK: The details

        /// The field that says how long the response is fresh.
        private var lifetimeSource: String? {
            switch freshness.source {
            case .maxAge: "max-age"
            case .expires: "expires"
            case .heuristic: "last-modified"
            case .none: nil
            }
        }

        var detailLines: [String] {
            let fields = FieldList(stored.fields).pairs.map { VerboseLines.hidingCookieValue(of: "\($0.name): \($0.value)") }
            return ["* \(url)"] + ([stored.status.line] + fields).map { "< \($0)" } + (notes + limits + variants).map { "* \($0)" }
        }

        private var notes: [String] {
            let size = String(bodyLength, of: "byte")
            let decoded = stored.isDecoded ? ", without its content coding" : ""
            var lines = ["body: \(size)\(decoded)"]
            if case .partial(let set, let length) = stored.content {
                let ranges = set.ranges.map { "\($0.lowerBound)-\($0.upperBound - 1)" }.joined(separator: ", ")
                lines = ["body: incomplete, bytes \(ranges.isEmpty ? "none" : ranges) of \(length.map { "\($0)" } ?? "an unknown length")"]
            }
            let count = useCount > 1 ? ", \(useCount) times" : ""
            lines.append(
                "stored: \(Self.date(stored.responseTime)), \(Duration.text(ofSeconds: now - stored.responseTime)) ago; \(useText)\(count)")
            if let partition { lines.append("only for documents of \(partition)") }
            return lines
        }

        private var limits: [String] {
            let origin =
                switch freshness.source {
                case .maxAge: "max-age of Cache-Control"
                case .expires: "Expires"
                case .heuristic: "a tenth of the time from Last-Modified to Date, at most a day, because no field gives the lifetime"
                case .none: "no field says how long it is fresh"
                }
            var lines = ["lifetime: \(freshness.lifetime) s (\(origin))", "age: \(freshness.age) s"]
            let use = use
            lines.append("the response \(use.text): \(use.reason.text)")
            if let usableUntil { lines.append("until: \(Self.date(usableUntil)), \(Duration.text(ofSeconds: usableUntil - now)) from now") }
            if let window = stored.directives.staleWhileRevalidate, window > 0 {
                lines.append("then for \(window) s while the server is asked in the background (stale-while-revalidate)")
            }
            if let window = stored.directives.staleIfError, window > 0 {
                lines.append("for \(window) s after its lifetime in place of an error (stale-if-error)")
            }
            return lines
        }

        private var variants: [String] {
            stored.selectingFields.selectors.map { selector in
                "only for requests \(selector.value.map { "with \(selector.name): \(Self.value($0, of: selector.name))" } ?? "without \(selector.name)")"
            }
        }

        /// The value of a selecting field; `…` for a field that can contain a secret.
        private static func value(_ octets: [UInt8], of name: String) -> String {
            ["authorization", "cookie", "proxy-authorization"].contains(name) ? "…" : String(decoding: octets, as: UTF8.self)
        }

        /// The value of a field. In `Set-Cookie`, the value of the cookie is hidden.
        private static func shown(_ field: FieldList.Pair) -> String {
            String(VerboseLines.hidingCookieValue(of: "\(field.name): \(field.value)").dropFirst(field.name.count + 2))
        }

        private static func date(_ seconds: Int64) -> String { Date(timeIntervalSince1970: Double(seconds)).ISO8601Format() }

        var detailedJSON: JSONValue {
            let use = use
            return .object(
                members + [
                    .init(name: "reason", value: .string(stored.status.reasonPhrase)),
                    .init(
                        name: "headers", value: .array(FieldList(stored.fields).pairs.map { [.string($0.name), .string(Self.shown($0))] })),
                    .init(
                        name: "ranges",
                        value: .array(stored.content.ranges.ranges.map { [.integer($0.lowerBound), .integer($0.upperBound - 1)] })),
                    .init(name: "decoded", value: .bool(stored.isDecoded)),
                    .init(
                        name: "vary",
                        value: .array(
                            stored.selectingFields.selectors.map { selector in
                                [.string(selector.name), .text(selector.value.map { Self.value($0, of: selector.name) })]
                            })),
                    .init(name: "use", value: .string(use.name)),
                    .init(name: "useReason", value: .string(use.reason.text)),
                    .init(name: "usableUntil", value: .count(usableUntil)),
                ])
        }
    }
#endif
