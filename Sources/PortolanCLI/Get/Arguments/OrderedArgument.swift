// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// A value with its kind, `KIND:VALUE`, of one of the hidden options of ``GetArguments``.
struct OrderedArgument: ExpressibleByArgument, Equatable {
    let kind: String
    let value: String

    init(_ kind: String, _ value: String) { (self.kind, self.value) = (kind, value) }

    init?(argument: String) {
        guard let colon = argument.firstIndex(of: ":") else { return nil }
        self.init(String(argument[..<colon]), String(argument[argument.index(after: colon)...]))
    }
}
