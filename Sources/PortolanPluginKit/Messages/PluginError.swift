// SPDX-License-Identifier: Apache-2.0

/// Why a load fails, or a plugin refuses to start.
///
/// The message is one line that says what happened, with values quoted, and what to do about it. No user information of a URL and no secret
/// stands in it. A longer one is cut at 4096 bytes, and control characters are replaced, for the host takes no others (ERR-02).
///
/// At most eight causes are kept, one below the other, so that a loop may wrap its last error as often as it retries. Of more, the nearest seven and the
/// last are kept, and the message of the last begins with how many are missing, as in `(3 causes left out)`.
public struct PluginError: Error, Hashable, Sendable {
    public let code: Code
    /// Reverse DNS, where ``code`` is a number of somebody's own; `nil` for the published codes.
    public let domain: String?
    public let message: String
    /// All of them, the nearest first. They have none of their own: a list of values inside of values is released one inside of the other.
    private let causes: [Cause]

    /// What brought it about, such as the failure of a load inside.
    public var cause: PluginError? {
        causes.first.map { PluginError($0, causes: Array(causes.dropFirst())) }
    }

    public init(_ code: Code, domain: String? = nil, message: String, cause: PluginError? = nil) {
        self.code = code
        self.domain = domain
        self.message = message
        causes = cause.map { Cause.limited([Cause($0.code, $0.domain, $0.message)] + $0.causes) } ?? []
    }

    private init(_ error: Cause, causes: [Cause]) {
        (code, domain, message) = (error.code, error.domain, error.message)
        self.causes = causes
    }

    /// This error and its causes, each without causes, the last one first.
    var fromRoot: [PluginError] {
        causes.reversed().map { PluginError($0, causes: []) } + [PluginError(code, domain: domain, message: message)]
    }
}

extension PluginError {
    /// An error below another one.
    fileprivate struct Cause: Hashable, Sendable {
        let code: Code
        let domain: String?
        var message: String

        init(_ code: Code, _ domain: String?, _ message: String) {
            (self.code, self.domain, self.message) = (code, domain, message)
        }

        /// As many as the host keeps.
        static func limited(_ causes: [Cause]) -> [Cause] {
            guard causes.count > 8, var last = causes.last else { return causes }
            last.addOmitted(causes.count - 8)
            return causes.prefix(7) + [last]
        }

        /// Says in the message that causes above this one are left out, in the words that the host uses and reads.
        private mutating func addOmitted(_ count: Int) {
            var (total, text) = (count, message[...])
            if let end = message.firstIndex(of: ")"), message.first == "(" {
                let words = message[..<end].dropFirst().split(separator: " ", omittingEmptySubsequences: false)
                if words.count == 4, let known = Int(words[0]), known > 0, words[1].hasPrefix("cause"), words[2...] == ["left", "out"] {
                    let (sum, overflows) = known.addingReportingOverflow(count)
                    total = overflows ? .max : sum
                    text = message[message.index(after: end)...].drop { $0 == " " }
                }
            }
            message = "(\(total) cause\(total == 1 ? "" : "s") left out) \(text)"
        }
    }
}

extension PluginError {
    /// What callers branch on: the published codes, or with a domain any number.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int32
        public init(rawValue: Int32) { self.rawValue = rawValue }

        public static let unknown = Self(rawValue: -1)
        public static let badURL = Self(rawValue: -2)
        public static let unsupportedScheme = Self(rawValue: -3)
        public static let badRequest = Self(rawValue: -4)
        public static let notFound = Self(rawValue: -5)
        public static let accessDenied = Self(rawValue: -6)
        public static let isDirectory = Self(rawValue: -7)
        public static let notRegularFile = Self(rawValue: -8)
        public static let rangeNotSatisfiable = Self(rawValue: -9)
        public static let cancelled = Self(rawValue: -10)
        public static let timedOut = Self(rawValue: -11)
        public static let tooManyRedirects = Self(rawValue: -12)
        public static let badRedirect = Self(rawValue: -13)
        public static let authenticationRequired = Self(rawValue: -14)
        public static let authenticationCancelled = Self(rawValue: -15)
        public static let bodyFailed = Self(rawValue: -16)
        public static let nameNotFound = Self(rawValue: -17)
        public static let cannotConnect = Self(rawValue: -18)
        public static let connectionLost = Self(rawValue: -19)
        public static let secureConnectionFailed = Self(rawValue: -20)
        public static let badResponse = Self(rawValue: -21)
        public static let truncated = Self(rawValue: -22)
        public static let decodingFailed = Self(rawValue: -23)
        public static let limitExceeded = Self(rawValue: -24)
        public static let nestedTooDeep = Self(rawValue: -25)
        public static let ioFailed = Self(rawValue: -26)
        public static let noMemory = Self(rawValue: -27)
        public static let noResources = Self(rawValue: -28)
        public static let notOffered = Self(rawValue: -29)
        public static let certificateNotTrusted = Self(rawValue: -33)
        public static let trustRootsUnusable = Self(rawValue: -34)
        public static let clientCertificateUnusable = Self(rawValue: -35)
        public static let emptyResponse = Self(rawValue: -36)
        public static let proxyNotFound = Self(rawValue: -37)
        public static let tunnelFailed = Self(rawValue: -38)
        public static let socksFailed = Self(rawValue: -39)

        /// The published codes.
        static let published: ClosedRange<Int32> = -39 ... -1
        /// Those of them that are the host's to give.
        static let hostOnly: ClosedRange<Int32> = -32 ... -30
    }
}

extension PluginError {
    /// What a thrown error is to the caller: itself where it is of this type, else ``Code/unknown`` with its description.
    init(_ error: any Error) {
        switch error {
        case let error as PluginError: self = error
        case is CancellationError:
            self.init(.cancelled, message: "the plugin cancelled its own load; ask its author, for nobody else had")
        default: self.init(.unknown, message: "the plugin's load threw: \(error)")
        }
    }
}
