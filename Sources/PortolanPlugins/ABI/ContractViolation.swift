// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// A violation of the plugin contract.
struct ContractViolation: Error, Hashable {
    let rule: ContractRule
    /// What is wrong and how to fix it, on one line.
    let detail: String

    init(_ rule: ContractRule, _ detail: String) {
        self.rule = rule
        self.detail = detail
    }
}

extension LoadError {
    /// The error that ends a load after a violation by `handler`.
    init(_ violation: ContractViolation, by handler: String) {
        self.init(violating: violation.rule, "\(violation.detail) (handler \(handler))")
    }
}

/// The rules that the host checks when it opens a plugin's library, and when the plugin calls it. The core checks the
/// rules about the order of events.
extension ContractRule {
    static let libraryOpens = Self(id: "DESC-01")
    static let exportsEntry = Self(id: "DESC-02")
    static let sameMajorVersion = Self(id: "DESC-04")
    static let structsAreWhole = Self(id: "DESC-05")
    static let identifierIsReverseDNS = Self(id: "DESC-06")
    static let schemesAreWellFormed = Self(id: "DESC-08")
    static let noEventFromCanInit = Self(id: "ORDER-06")
    static let sentTotalsRise = Self(id: "ORDER-09")
    static let failureCarriesError = Self(id: "ORDER-11")
    static let bytesAreReadable = Self(id: "BODY-04")
    static let mediaTypeIsWellFormed = Self(id: "BODY-09")
    static let ownThreadsOnlyWake = Self(id: "THREAD-01")
    static let redirectParses = Self(id: "REDIR-01")
    static let challengeIsComplete = Self(id: "CHAL-01")
    static let storageIsPublished = Self(id: "CACHE-01")
    static let propertyIsWellFormed = Self(id: "PROP-02")
    static let eventDrivenLoadsWatch = Self(id: "WATCH-01")
    static let watchedIsPublished = Self(id: "WATCH-02")
    static let watchedStaysOpen = Self(id: "WATCH-03")
    static let nestedIsOpen = Self(id: "NEST-08")
    static let responseURLParses = Self(id: "BODY-11")
    static let canonicalIsGivenOnce = Self(id: "CANON-06")
    static let messageIsOneLine = Self(id: "ERR-02")
    static let codeIsPublished = Self(id: "ERR-03")
    static let fieldsAreWellFormed = Self(id: "SEC-08")
}
