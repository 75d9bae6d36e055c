// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Why a command failed: what the shell and the person are told.
struct Failure: Error, Equatable, Sendable {
    let status: ExitStatus
    /// One sentence for standard error; `nil` where nothing is to be said.
    let message: String?
    /// The name of the published code, for programs; `nil` where the failure is the command's own.
    let code: String?

    init(_ status: ExitStatus, _ message: String?) {
        (self.status, self.message, code) = (status, message, nil)
    }

    init(_ error: LoadError) {
        status = ExitStatus(error)
        message = error.description
        code = error.name
    }

    /// Nothing more can be written, and nobody is there to be told.
    static let readerHasGone = Failure(.writeFailed, nil)
}

extension LoadError {
    /// The code's published name; `domain:number` for a plugin's own.
    var name: String {
        domain.map { "\($0):\(code.rawValue)" } ?? code.description
    }
}
