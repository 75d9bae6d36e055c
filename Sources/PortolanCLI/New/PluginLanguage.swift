// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The language of a new plugin.
enum PluginLanguage: String, CaseIterable, ExpressibleByArgument {
    case c
    case cPlusPlus = "c++"
    case swift, rust
    /// Only a manifest, which describes the calls to a C library.
    case binding

    /// C++ can also be written as `cpp`, the end of its files' names.
    init?(argument: String) { self.init(rawValue: argument == "cpp" ? "c++" : argument) }

    /// As in "a plugin in C".
    var phrase: String {
        switch self {
        case .c: "a plugin in C"
        case .cPlusPlus: "a plugin in C++"
        case .swift: "a plugin in Swift"
        case .rust: "a plugin in Rust"
        case .binding: "a binding of a library, without code"
        }
    }
}
