// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The value of a hidden option such as `--ordered-data`, in the form `KIND:VALUE`. ``GetArguments`` adds these options
/// to preserve the order of options such as `-d` and `--data-raw`.
struct TaggedArgument: ExpressibleByArgument, Equatable {
    let kind: String
    let value: String

    init(_ kind: String, _ value: String) { (self.kind, self.value) = (kind, value) }

    init?(argument: String) {
        guard let colon = argument.firstIndex(of: ":") else { return nil }
        self.init(String(argument[..<colon]), String(argument[argument.index(after: colon)...]))
    }
}
