// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanPlugins

/// Why a command failed: the exit status for the shell, and the message for the user.
struct Failure: Error, Equatable, Sendable {
    let status: ExitStatus
    /// The message for standard error. `nil` if there is nothing to report.
    let message: String?
    /// The name of the error code of the load, for programs; `nil` if the command itself failed.
    let code: String?

    init(_ status: ExitStatus, _ message: String?, code: String? = nil) {
        (self.status, self.message, self.code) = (status, message, code)
    }

    /// - Parameter message: replaces the message of the error.
    init(_ error: LoadError, message: String? = nil) {
        status = ExitStatus(error)
        self.message = message ?? error.phrase
        code = error.name
    }

    /// If no handler serves the scheme, adds the first problem of an installed plugin, because that plugin is possibly
    /// the one for the scheme.
    func mentioning(_ unusablePlugins: [PluginProblem]) -> Failure {
        guard status == .unsupportedScheme, let message, let first = unusablePlugins.first else { return self }
        let others = unusablePlugins.count > 1 ? "; 'portolan plugins list' shows \(unusablePlugins.count - 1) more" : ""
        return Failure(status, "\(message); an installed plugin cannot be used: \(first)\(others)", code: code)
    }

    /// The failure if the reader of the output has closed it. It has no message, because this is no error for the user.
    static let readerClosedOutput = Failure(.writeFailed, nil)
}

extension LoadError {
    /// The message and the messages of its causes. A cause whose text is already part of the message is left out.
    ///
    /// The remedies in the message name the options of the command.
    var phrase: String {
        let message = message(replacingRemedyBy: \.commandPhrase)
        guard let cause = underlyingError.map({ ($0 as? LoadError)?.phrase ?? "\($0)" }), !message.hasSuffix(cause) else { return message }
        return cause.hasPrefix("\(message): ") ? cause : "\(message): \(cause)"
    }
}
