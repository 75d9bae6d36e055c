// SPDX-License-Identifier: Apache-2.0

/// The reason why a load failed or a plugin did not start.
///
/// Write the message as one line: what happened, with values quoted, and how to fix it. Do not include user information
/// of a URL or a secret. The host accepts only valid messages (ERR-02). Therefore the kit cuts a message after 4096
/// bytes and replaces control characters.
///
/// An error keeps at most eight causes, so a loop can wrap its last error at every retry. If there are more, the error
/// keeps the nearest seven and the root cause. The message of the root cause then starts with the number of omitted
/// causes, as in `(3 causes left out)`.
public struct PluginError: Error, Hashable, Sendable {
    public let code: Code
    /// The domain of ``code`` in reverse DNS. `nil` for the published codes.
    public let domain: String?
    public let message: String
    /// All causes, the nearest first. A flat list, because Swift releases nested values recursively.
    private let causes: [Cause]

    /// The underlying error, such as the failure of a nested load.
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

    /// This error and its causes, each without causes, the root cause first.
    var fromRoot: [PluginError] {
        causes.reversed().map { PluginError($0, causes: []) } + [PluginError(code, domain: domain, message: message)]
    }
}

extension PluginError {
    /// An error that is the cause of another error.
    fileprivate struct Cause: Hashable, Sendable {
        let code: Code
        let domain: String?
        var message: String

        init(_ code: Code, _ domain: String?, _ message: String) {
            (self.code, self.domain, self.message) = (code, domain, message)
        }

        /// Returns at most as many causes as the host keeps.
        static func limited(_ causes: [Cause]) -> [Cause] {
            guard causes.count > 8, var last = causes.last else { return causes }
            last.addOmitted(causes.count - 8)
            return causes.prefix(7) + [last]
        }

        /// Adds the number of omitted causes above this one to the message, in the format that the host writes and
        /// parses.
        private mutating func addOmitted(_ count: Int) {
            var (total, text) = (count, message[...])
            if let end = message.firstIndex(of: ")"), message.first == "(" {
                let words = message[..<end].dropFirst().split(separator: " ", omittingEmptySubsequences: false)
                if words.count == 4, let oldCount = Int(words[0]), oldCount > 0, words[1].hasPrefix("cause"),
                    words[2...] == ["left", "out"]
                {
                    let (sum, overflows) = oldCount.addingReportingOverflow(count)
                    total = overflows ? .max : sum
                    text = message[message.index(after: end)...].drop { $0 == " " }
                }
            }
            message = "(\(total) cause\(total == 1 ? "" : "s") left out) \(text)"
        }
    }
}

extension PluginError {
    /// The code on which callers branch: a published code, or any number if the error has a domain.
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
        /// The published codes that only the host may use.
        static let hostOnly: ClosedRange<Int32> = -32 ... -30
    }
}

extension PluginError {
    /// Converts a thrown error: a ``PluginError`` stays as it is; a `CancellationError` becomes ``Code/cancelled``; any
    /// other error becomes ``Code/unknown`` with its description.
    init(_ error: any Error) {
        switch error {
        case let error as PluginError: self = error
        case is CancellationError:
            self.init(
                .cancelled, message: "the plugin's load function threw CancellationError, although nobody stopped the load; ask its author")
        default: self.init(.unknown, message: "the plugin's load function threw: \(error)")
        }
    }
}
