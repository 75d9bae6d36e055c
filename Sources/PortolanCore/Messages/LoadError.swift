// SPDX-License-Identifier: Apache-2.0

/// Why a load, or the set-up of one, failed.
///
/// Branch on ``code``; show ``message`` to a person. The message is one line that says what happened, with values
/// quoted, and how to fix it. ``underlyingError`` is its cause, if there is one. At most eight causes are kept, one
/// below the other. Of a longer list, the nearest seven and the last are kept, and the message of the last begins with
/// the number of missing causes, as in `(3 causes left out)`. An error of another type that contains an error counts
/// with it. If causes are left out, only the names of such types are kept.
public struct LoadError: Error, Sendable {
    public var code: Code
    /// The reverse-DNS name of the party that defines `code`; `nil` for the published codes of ``Code``.
    public var domain: String?
    public var message: String
    public var underlyingError: (any Error)? {
        didSet { underlyingError = Self.limited(underlyingError) }
    }
    /// The contract rule that a handler violated. Not `nil` exactly if the core reports ``Code/protocolViolation``.
    package private(set) var rule: ContractRule?
    /// The setting that the last words of the message name.
    package var remedy: Remedy?

    public init(_ code: Code, domain: String? = nil, message: String, underlyingError: (any Error)? = nil) {
        self.code = code
        self.domain = domain
        self.message = message
        self.underlyingError = Self.limited(underlyingError)
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
    /// The message, then each cause after a colon, unless the message ends with the cause's words.
    public var description: String {
        guard let underlyingError else { return message }
        // Evaluated once: a second evaluation here and in each cause below would add up to 2^8.
        let phrase = String(describing: underlyingError)
        return message.hasSuffix(phrase) ? message : "\(message): \(phrase)"
    }
}
