// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanPlugins

/// Why a command failed: the exit status for the shell, and the message for the user.
struct Failure: Error, Equatable, Sendable {
    let status: ExitStatus
    /// One sentence for standard error; `nil` for no message.
    let message: String?
    /// The name of the published error code, for programs; `nil` if the failure comes from the command itself.
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

    /// If no handler serves the scheme, adds the first problem of an installed plugin, because an unusable plugin may
    /// be the one that serves the scheme.
    func mentioning(_ unusablePlugins: [PluginProblem]) -> Failure {
        guard status == .unsupportedScheme, let message, let first = unusablePlugins.first else { return self }
        let others = unusablePlugins.count > 1 ? "; 'portolan plugins list' shows \(unusablePlugins.count - 1) more" : ""
        return Failure(status, "\(message); an installed plugin cannot be used: \(first)\(others)", code: code)
    }

    /// The reader of the output has gone, so nothing is reported.
    static let readerHasGone = Failure(.writeFailed, nil)
}

extension LoadError {
    /// The message and its causes, without repetition: some messages end with the text of their cause, and nested
    /// layers may repeat it.
    ///
    /// Remedies name the options of the command.
    var phrase: String {
        let message = message(saying: \.commandWords)
        guard let cause = underlyingError.map({ ($0 as? LoadError)?.phrase ?? "\($0)" }), !message.hasSuffix(cause) else { return message }
        return cause.hasPrefix("\(message): ") ? cause : "\(message): \(cause)"
    }
}
