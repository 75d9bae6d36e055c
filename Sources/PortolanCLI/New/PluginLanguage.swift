// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The language of a new plugin.
enum PluginLanguage: String, CaseIterable, ExpressibleByArgument {
    case c, swift
    /// Only a manifest, which describes the calls to a C library.
    case binding

    /// As in "a plugin in C".
    var phrase: String {
        switch self {
        case .c: "a plugin in C"
        case .swift: "a plugin in Swift"
        case .binding: "a binding of a library, without code"
        }
    }
}
