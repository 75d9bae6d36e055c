// SPDX-License-Identifier: Apache-2.0

/// Why a load, or the set-up of a load, failed.
///
/// Branch on ``code``; show ``message`` to a person. The message is one line that says what happened, with values
/// quoted, and how to fix it. ``underlyingError`` is its cause, if there is one.
///
/// An error has at most eight causes, each the cause of the previous one. Of a longer list, the nearest seven and the
/// last are kept. The message of the last then begins with the number of missing causes, as in `(3 causes left out)`,
/// and an error of another type is replaced by the name of its type. Errors inside errors of other types count as
/// causes, too.
public struct LoadError: Error, Sendable {
    public var code: Code
    /// The reverse-DNS name of the party that defines `code`; `nil` for the published codes of ``Code``.
    public var domain: String?
    public var message: String
    public var underlyingError: (any Error)? {
        didSet { underlyingError = Self.withLimitedCauses(underlyingError) }
    }
    /// The contract rule that a handler violated. Set only if the core reports ``Code/protocolViolation``.
    package private(set) var rule: ContractRule?
    /// The remedy that the end of the message states.
    package var remedy: Remedy?
    /// Whether the system has no network that leads to the host.
    package var isForLackOfNetwork = false
    /// The value of `LoadError.resumeData` in PortolanDownloads.
    package var anyResumeData: (any Sendable)?

    public init(_ code: Code, domain: String? = nil, message: String, underlyingError: (any Error)? = nil) {
        self.code = code
        self.domain = domain
        self.message = message
        self.underlyingError = Self.withLimitedCauses(underlyingError)
    }

    package init(violating rule: ContractRule, _ detail: String? = nil) {
        self.init(.protocolViolation, message: "\(rule.id): \(detail ?? rule.sentence)")
        self.rule = rule
    }
}

extension LoadError: Equatable {
    /// Equal in code, domain and message; causes are not compared.
    public static func == (a: LoadError, b: LoadError) -> Bool {
        a.code == b.code && a.domain == b.domain && a.message == b.message
    }
}

extension LoadError: CustomStringConvertible {
    /// The message and, after colons, the causes. A cause whose description ends the message is not repeated.
    public var description: String {
        guard let underlyingError else { return message }
        // Evaluated only once: with two evaluations at each level, the last cause would be described 2^8 times.
        let causeDescription = String(describing: underlyingError)
        return message.hasSuffix(causeDescription) ? message : "\(message): \(causeDescription)"
    }
}
