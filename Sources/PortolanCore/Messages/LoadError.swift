// SPDX-License-Identifier: Apache-2.0

/// Why a load, or the set-up of one, failed.
///
/// Branch on ``code``; show ``message`` to a person. The message is one line that says what happened, with values quoted,
/// and how to mend it. ``cause`` leads to the error underneath, where there is one. At most eight causes are kept, one below the other: of a longer list
/// the nearest seven and the last, whose message then begins with how many are missing, as in `(3 causes left out)`.
/// Errors of other types that hold another one are counted with it; where causes are left out, only their types' names are kept of them.
public struct LoadError: Error, Sendable {
    public var code: Code
    /// The reverse-DNS name of whoever defines `code`; `nil` for the published codes of ``Code``.
    public var domain: String?
    public var message: String
    public var cause: (any Error)? {
        didSet { cause = Self.limited(cause) }
    }
    /// The rule of the contract that a handler broke; not `nil` exactly where the core says ``Code/protocolViolation``.
    public private(set) var rule: ContractRule?
    /// The setting of which the message's last words speak.
    package var remedy: Remedy?

    public init(_ code: Code, domain: String? = nil, message: String, cause: (any Error)? = nil) {
        self.code = code
        self.domain = domain
        self.message = message
        self.cause = Self.limited(cause)
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
    /// The message, then each cause after a colon, unless the message ends with its words.
    public var description: String {
        guard let cause else { return message }
        // Once: what is done twice here, and in each cause below, is done 2^8 times there.
        let words = String(describing: cause)
        return message.hasSuffix(words) ? message : "\(message): \(words)"
    }
}
