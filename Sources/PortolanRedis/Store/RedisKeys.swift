// SPDX-License-Identifier: Apache-2.0

#if Redis
    import FoundationEssentials
    import PortolanCache
    import PortolanURL

    /// The names of the keys on the server.
    ///
    /// - `e:URL`: a hash with the entries of a URL, in all partitions. `mID` is an entry without its body
    ///   (``RedisRecord``), `bID` its body, `v` the version of the hash, and `r` the mark of its last removal.
    /// - `all`, `writers`, `h:HOST`, `o:ORIGIN`: epochs. An entry counts only as long as the epochs are those with
    ///   which it was stored, so that a removal only changes an epoch. If the server loses an epoch, nothing counts.
    /// - `l:PARTITION URL`: a lease.
    struct RedisKeys: Sendable {
        /// With the version of what is stored.
        let prefix: String

        init(_ configuration: RedisCacheConfiguration) { prefix = configuration.keyPrefix + "1:" }

        var entriesPrefix: String { prefix + "e:" }
        var all: String { prefix + "all" }
        /// The epoch of the responses that are being stored.
        var writers: String { prefix + "writers" }

        func entries(of url: URLRecord) -> String { entriesPrefix + url.string }
        func host(_ host: some StringProtocol) -> String { "\(prefix)h:\(host)" }
        func origin(of url: URLRecord) -> String { "\(prefix)o:\(url.scheme)://\(url.host ?? ""):\(url.effectivePort ?? -1)" }
        func lease(_ key: CacheKey) -> String { "\(prefix)l:\(key.partition ?? "") \(key.url.string)" }

        /// The keys of ``RedisScripts``.
        func script(_ url: URLRecord) -> [String] { [entries(of: url), all, host(url.host ?? ""), origin(of: url), writers] }

        /// The URL whose entries a key has; `nil` for another key.
        func url(ofKey key: [UInt8]) -> URLRecord? {
            guard let text = String(validating: key, as: UTF8.self), text.hasPrefix(entriesPrefix) else { return nil }
            // `try?` because anybody can write keys.
            guard let url = try? URLRecord(parsing: String(text.dropFirst(entriesPrefix.count))), entries(of: url) == text else {
                return nil
            }
            return url
        }

        /// A pattern of all hashes of entries. The prefix stands for itself.
        var entriesPattern: String {
            entriesPrefix.reduce(into: "") { pattern, character in
                if "*?[]\\^".contains(character) { pattern.append("\\") }
                pattern.append(character)
            } + "*"
        }
    }

    /// Identifiers that no machine uses twice, in the order in which a machine makes them: the milliseconds since 1970,
    /// and random bits.
    struct RedisIdentifiers: Sendable {
        private var last: Int64 = 0

        mutating func next() -> CacheEntry.ID {
            let milliseconds = Int64(Date().timeIntervalSince1970 * 1000)
            last = max(last + 1, (milliseconds << 20) | Int64.random(in: 0..<1 << 20))
            return CacheEntry.ID(last)
        }
    }

    /// Texts that are used once: as epoch, version or mark.
    enum RedisMark {
        static func random() -> String { hexadecimal(UInt64.random(in: .min ... .max)) }

        static func hexadecimal(_ number: UInt64) -> String {
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }
    }

    /// The epochs with which an entry is stored: those of all entries, of its host, of its origin and of all writers.
    /// One that does not exist is empty.
    struct RedisEpochs: Hashable, Sendable {
        let texts: [[UInt8]]

        /// - Returns: `nil` if the reply is none of a script.
        init?(_ reply: RedisReply?) {
            guard let elements = reply?.elements, elements.count == 4 else { return nil }
            texts = elements.map { $0.octets ?? [] }
        }

        init?(_ texts: [[UInt8]]) {
            guard texts.count == 4 else { return nil }
            self.texts = texts
        }

        /// Whether an entry with these epochs counts: nothing that contains it was removed since.
        func allows(_ entry: RedisEpochs) -> Bool {
            texts.dropLast() == entry.texts.dropLast() && !texts.dropLast().contains([])
        }

        var writers: [UInt8] { texts.last ?? [] }
        var words: [RedisCommand.Word] { texts.map { RedisCommand.Word($0) } }
    }
#endif
