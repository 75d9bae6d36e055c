// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

extension LoadError {
    /// The maximum number of causes to follow, because a plugin's list can be circular.
    private static let followedCauseLimit = 1024

    /// Decodes an error from a plugin, with its causes.
    ///
    /// - Throws: ORDER-11, DESC-05, ERR-02 or ERR-03.
    init(reading pointer: UnsafePointer<portolan_error>?) throws(ContractViolation) {
        guard let pointer = unsafe pointer else {
            throw ContractViolation(.failureCarriesError, "did_fail was called without an error; pass an error with a code and a message")
        }
        let error = unsafe try portolan_error.read(pointer)
        let domain = try unsafe Self.domain(of: error)
        let code = unsafe Code(rawValue: error.code)
        if domain == nil, !Self.isAllowedForPlugins(code) {
            throw ContractViolation(
                .codeIsPublished,
                "the code \(code.rawValue) is not published for plugins; use the nearest published code, or set a domain")
        }
        let message = try unsafe Self.message(of: error)
        self.init(code, domain: domain, message: message, underlyingError: unsafe Self.cause(at: error.cause))
    }

    /// Decodes the causes. Repairs invalid causes instead of rejecting them, because the plugin may have received them
    /// from a nested load. If there are too many causes, keeps the nearest ones and the last one.
    private static func cause(at first: UnsafePointer<portolan_error>?) -> LoadError? {
        var errors: [portolan_error] = unsafe []
        var next = unsafe first
        var followedCount = 0
        // `try?` because causes are optional: a malformed one ends the list.
        while followedCount < followedCauseLimit, let error = unsafe try? portolan_error.read(next) {
            if unsafe errors.count == causeLimit { unsafe errors.removeLast() }
            unsafe errors.append(error)
            unsafe next = error.cause
            followedCount += 1
        }
        var omittedCount = unsafe followedCount - errors.count
        var cause: LoadError?
        while let error = unsafe errors.popLast() {
            let message = unsafe OmittedCauses.adding(omittedCount, to: Text.oneLine(error.message.repairedText))
            cause = unsafe LoadError(Code(rawValue: error.code), domain: error.domain.text, message: message, underlyingError: cause)
            omittedCount = 0
        }
        return cause
    }

    private static func domain(of error: portolan_error) throws(ContractViolation) -> String? {
        guard unsafe error.domain.isPresent else { return nil }
        guard let domain = unsafe error.domain.text, Text.isReverseDNS(domain) else {
            throw ContractViolation(
                .codeIsPublished, "an error's domain is not a reverse DNS name; use the plugin's identifier, or no domain")
        }
        return domain
    }

    private static func message(of error: portolan_error) throws(ContractViolation) -> String {
        guard let message = unsafe error.message.text else {
            throw ContractViolation(.messageIsOneLine, "an error's message is absent or not UTF-8")
        }
        guard !message.isEmpty, message.utf8.count <= 4096 else {
            throw ContractViolation(.messageIsOneLine, "an error's message has \(message.utf8.count) bytes; 1 to 4096 are allowed")
        }
        guard !message.unicodeScalars.contains(where: Text.isBreaking) else {
            throw ContractViolation(.messageIsOneLine, "an error's message has a line break or a control character; keep it to one line")
        }
        return message
    }

    /// The codes for contract violations and for libraries that do not load are reserved for the host.
    private static func isAllowedForPlugins(_ code: Code) -> Bool {
        switch code {
        case .protocolViolation, .pluginNotLoadable, .pluginRefused: false
        default: Code.published.contains { $0.code == code }
        }
    }
}
