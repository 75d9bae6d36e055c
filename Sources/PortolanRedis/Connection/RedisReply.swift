// SPDX-License-Identifier: Apache-2.0

#if Redis
    /// A value that the server sent.
    enum RedisReply: Hashable, Sendable {
        case status(String)
        case integer(Int64)
        case octets([UInt8])
        case array([RedisReply])
        case error(String)
        case null

        var octets: [UInt8]? {
            if case .octets(let octets) = self { octets } else { nil }
        }

        var elements: [RedisReply]? {
            if case .array(let elements) = self { elements } else { nil }
        }

        var isError: Bool {
            if case .error = self { true } else { false }
        }

        /// A status, or octets that are UTF-8, because scripts return both. `nil` for other replies.
        var text: String? {
            switch self {
            case .status(let text): text
            case .octets(let octets): String(validating: octets, as: UTF8.self)
            case .integer, .array, .error, .null: nil
            }
        }
    }

    /// A command as it is sent: an array of bulk strings in the Redis protocol.
    struct RedisCommand: Sendable {
        let octets: [UInt8]

        init(_ words: [Word]) {
            var octets = Array("*\(words.count)\r\n".utf8)
            octets.reserveCapacity(words.reduce(16) { $0 + $1.octets.count + 24 })
            for word in words {
                octets.append(contentsOf: "$\(word.octets.count)\r\n".utf8)
                octets.append(contentsOf: word.octets)
                octets.append(contentsOf: "\r\n".utf8)
            }
            self.octets = octets
        }

        struct Word: Sendable, ExpressibleByStringInterpolation {
            let octets: [UInt8]

            init(_ octets: [UInt8]) { self.octets = octets }
            init(_ text: String) { octets = Array(text.utf8) }
            init(stringLiteral text: String) { self.init(text) }
            init(_ number: Int64) { self.init(String(number)) }
        }
    }
#endif
