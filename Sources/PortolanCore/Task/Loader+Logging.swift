// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Logging

/// What a loader writes to its logger.
///
/// Handlers and servers choose parts of these texts. Each text is therefore written on one line, and without the user
/// information of URLs (``LogText``).
extension Loader {
    /// Logs a step of a load at the level `debug`.
    ///
    /// - Parameter requestNumber: which of the load's requests the step belongs to, counted from 1. The end of a
    ///   request's transfer can be reported after the next request has begun. `nil` for a step of the whole load.
    func logStep(_ step: @autoclosure () -> String, of task: LoadTask, requestNumber: Int? = nil) {
        guard logsSteps else { return }
        var metadata: Logger.Metadata = ["url": "\(task.originalRequest.url)"]
        if let requestNumber { metadata["request"] = "\(requestNumber)" }
        configuration.logger.debug("\(LogText(step()))", metadata: metadata)
    }

    /// Logs at the level `debug` which server gets a credential or cookies, or why it does not get them.
    ///
    /// The metadata have the key ``accessKey``, so that a log handler can select these lines. They have no password and
    /// no value of a cookie.
    ///
    /// - Parameter isForNextRequest: whether the request that gets the credential is still to be sent.
    package func logAccess(_ fact: @autoclosure () -> String, of task: LoadTask, isForNextRequest: Bool = false) {
        guard logsSteps else { return }
        let number = task.requestNumber + (isForNextRequest ? 1 : 0)
        configuration.logger.debug(
            "\(LogText(fact()))", metadata: ["url": "\(task.originalRequest.url)", "request": "\(number)", Self.accessKey: "true"])
    }

    package static let accessKey = "access"

    /// Logs the credential and the cookies that a request carries before any challenge.
    func logAccess(of request: Request, _ task: LoadTask) {
        let place = request.url.shortDescription
        if let entry = request.authenticatedSpace?.entry, case .password(let scheme) = entry.space.kind {
            logAccess("carries a credential for \(place): \(scheme), accepted by an earlier response", of: task)
        } else if let value = request.fields[.authorization] {
            let scheme = value.prefix { $0 != " " }
            let name = scheme.count < value.count ? scheme.lowercased() : "authorization"
            let source = request.credentialSource.map { ", from \($0)" } ?? ""
            logAccess("carries a credential for \(place): \(name)\(source)", of: task)
        }
        let pairs = request.fields[values: .cookie].joined(separator: ";").split(separator: ";")
        // Without a "=", the text is the value of a cookie without a name.
        let names = pairs.map { $0.contains("=") ? String($0.prefix { $0 != "=" }.drop { $0 == " " }) : "(no name)" }
        if !names.isEmpty { logAccess("carries cookies for \(place): \(names.joined(separator: ", "))", of: task) }
    }

    /// Logs the fields that a redirect to another origin removes.
    func logRemovedFields(from proposed: Request, leaving successor: Request, _ task: LoadTask) {
        guard logsSteps else { return }
        let names = Set(proposed.fields.map(\.name)).filter { $0 != .referer && !successor.fields.contains($0) }
        guard !names.isEmpty else { return }
        let list = names.map(\.rawName).sorted().joined(separator: ", ")
        logAccess("not sent to \(successor.url.shortDescription), another origin: \(list)", of: task)
    }

    /// Logs why handlers could not be made. A repeated failure is logged below warning level, because thousands of
    /// requests can need the same handlers.
    func report(_ error: LoadError, of handlers: LazyHandlers) {
        log(handlers.recordFailure(error) ? .warning : .debug, error.message, handler: handlers.provider.identifier)
    }

    /// Reports a violation to the observer, and logs the first violation of each load.
    func report(violationOf rule: ContractRule, by handler: String, isFirst: Bool) {
        if isFirst { log(.warning, "contract broken: \(rule.sentence)", handler: handler, ["rule": "\(rule.id)"]) }
        configuration.violationObserver?(rule, handler)
    }

    /// - Parameter counts: how often a load violated each rule after its first violation.
    func report(repeatedViolations counts: [ContractRule: Int], by handler: String) {
        let total = counts.values.reduce(0, +)
        let list = counts.sorted { $0.key.id < $1.key.id }.map { "\($0.key.id): \($0.value)" }.joined(separator: ", ")
        log(.warning, "contract broken \(String(total, of: "more time")) by the same load (\(list))", handler: handler)
    }

    private func log(_ level: Logger.Level, _ message: String, handler: String, _ metadata: Logger.Metadata = [:]) {
        configuration.logger.log(
            level: level, "\(LogText(message))", metadata: metadata.merging(["handler": "\(LogText(handler))"]) { old, _ in old })
    }
}

/// A text for a log: on one line, and without the user names and passwords of URLs.
struct LogText: CustomStringConvertible {
    let description: String

    init(_ text: String) { description = UserInformation.removed(from: text).withInvisibleCharactersEscaped }
}
