// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Why a command failed: what the shell and the person are told.
struct Failure: Error, Equatable, Sendable {
    let status: ExitStatus
    /// One sentence for standard error; `nil` where nothing is to be said.
    let message: String?
    /// The name of the published code, for programs; `nil` where the failure is the command's own.
    let code: String?

    init(_ status: ExitStatus, _ message: String?, code: String? = nil) {
        (self.status, self.message, self.code) = (status, message, code)
    }

    /// - Parameter message: what to say instead of the error's own words.
    init(_ error: LoadError, message: String? = nil) {
        status = ExitStatus(error)
        self.message = message ?? error.words
        code = error.name
    }

    /// Where nobody serves a scheme, the plugin that would may lie there and be out of use: says so of what is wrong first.
    func mentioning(_ strays: [PluginProblem]) -> Failure {
        guard status == .unsupportedScheme, let message, let first = strays.first else { return self }
        let others = strays.count > 1 ? "; 'portolan plugins list' names \(strays.count - 1) more" : ""
        return Failure(status, "\(message); what is installed cannot all be used: \(first)\(others)", code: code)
    }

    /// Nothing more can be written, and nobody is there to be told.
    static let readerHasGone = Failure(.writeFailed, nil)
}

extension LoadError {
    /// The message and its causes, each said once: some messages end with their cause's words, and a layer inside its like says the same.
    ///
    /// Remedies name the command's options.
    var words: String {
        let message = message(saying: \.commandWords)
        guard let cause = cause.map({ ($0 as? LoadError)?.words ?? "\($0)" }), !message.hasSuffix(cause) else { return message }
        return cause.hasPrefix("\(message): ") ? cause : "\(message): \(cause)"
    }
}
