// SPDX-License-Identifier: Apache-2.0

#if Redis
    import FoundationEssentials
    import PortolanCache
    import PortolanURL

    /// The names of the keys on the server.
    ///
    /// - `e:URL`: a hash with the entries of a URL, in all partitions. `mID` is an entry without its body
    ///   (``RedisRecord``), `bID` its body, `v` the version of the hash, and `r` the mark of its last removal.
    /// - `all`, `writers`, `h:HOST`, `o:ORIGIN`: epochs. A response is stored only if its four epochs have not changed
    ///   since its writer was opened. The entry is valid while these epochs, except for `writers`, stay the same. So a
    ///   removal only changes or deletes an epoch. If the server loses an epoch, the entries with it are invalid.
    /// - `l:PARTITION URL`: a lease.
    struct RedisKeys: Sendable {
        /// The prefix of the configuration, and the version of the format.
        let prefix: String

        init(_ configuration: RedisCacheConfiguration) { prefix = configuration.keyPrefix + "1:" }

        var entriesPrefix: String { prefix + "e:" }
        var all: String { prefix + "all" }
        /// The key of the epoch of all writers. When it changes, responses that are being received are not stored.
        var writers: String { prefix + "writers" }

        func entries(of url: URLRecord) -> String { entriesPrefix + url.string }
        func host(_ host: some StringProtocol) -> String { "\(prefix)h:\(host)" }
        func origin(of url: URLRecord) -> String { "\(prefix)o:\(url.scheme)://\(url.host ?? ""):\(url.effectivePort ?? -1)" }
        func lease(_ key: CacheKey) -> String { "\(prefix)l:\(key.partition ?? "") \(key.url.string)" }

        /// The keys of a script, in the order of ``RedisScripts``.
        func scriptKeys(for url: URLRecord) -> [String] { [entries(of: url), all, host(url.host ?? ""), origin(of: url), writers] }

        /// The URL in the key of a hash of entries; `nil` for another key.
        func url(ofKey key: [UInt8]) -> URLRecord? {
            guard let text = String(validating: key, as: UTF8.self), text.hasPrefix(entriesPrefix) else { return nil }
            // `try?` because other programs can write keys.
            guard let url = try? URLRecord(parsing: String(text.dropFirst(entriesPrefix.count))), entries(of: url) == text else {
                return nil
            }
            return url
        }

        /// A pattern that matches the keys of all hashes of entries. Escapes the special characters of the prefix.
        var entriesPattern: String {
            entriesPrefix.reduce(into: "") { pattern, character in
                if "*?[]\\^".contains(character) { pattern.append("\\") }
                pattern.append(character)
            } + "*"
        }
    }

    /// Makes identifiers that increase on each machine, and that other machines do not use: the milliseconds since
    /// 1970, and 20 random bits.
    struct RedisIdentifiers: Sendable {
        private var last: Int64 = 0

        mutating func next() -> CacheEntry.ID {
            let milliseconds = Int64(Date().timeIntervalSince1970 * 1000)
            last = max(last + 1, (milliseconds << 20) | Int64.random(in: 0..<1 << 20))
            return CacheEntry.ID(last)
        }
    }

    /// Random texts for epochs, versions and marks: 16 hexadecimal digits.
    enum RedisMark {
        static func random() -> String { hexadecimal(UInt64.random(in: .min ... .max)) }

        static func hexadecimal(_ number: UInt64) -> String {
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }
    }

    /// The epochs with which an entry is stored: those of all entries, of its host, of its origin and of all writers.
    /// An epoch that does not exist is empty.
    struct RedisEpochs: Hashable, Sendable {
        let texts: [[UInt8]]

        /// - Returns: `nil` if the reply is missing, an error, or malformed.
        init?(_ reply: RedisReply?) {
            guard let elements = reply?.elements, elements.count == 4 else { return nil }
            texts = elements.map { $0.octets ?? [] }
        }

        init?(_ texts: [[UInt8]]) {
            guard texts.count == 4 else { return nil }
            self.texts = texts
        }

        /// Whether an entry that was stored with `storedEpochs` is valid. A removal of all entries, of its host or its
        /// origin makes it invalid.
        func allows(_ storedEpochs: RedisEpochs) -> Bool {
            texts.dropLast() == storedEpochs.texts.dropLast() && !texts.dropLast().contains([])
        }

        var writers: [UInt8] { texts.last ?? [] }
        var words: [RedisCommand.Word] { texts.map { RedisCommand.Word($0) } }
    }
#endif
