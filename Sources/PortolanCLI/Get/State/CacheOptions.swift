// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan

/// Options for stored responses.
struct CacheOptions: ParsableArguments {
    #if Persistence
        @Option(
            name: .customLong("cache-mode"),
            help: ArgumentHelp(
                "How to use stored responses, by the modes of Fetch: \(CachePolicy.modeList). Needs --cache.", valueName: "mode"),
            transform: Self.parseMode
        )
        var mode: CachePolicy?
    #endif

    private static func parseMode(_ name: String) throws -> CachePolicy {
        guard let policy = CachePolicy(mode: name) else {
            throw ValidationError("the modes are \(CachePolicy.modeList)")
        }
        return policy
    }

    /// Throws if the options need a cache, and there is none.
    func check(_ folder: CacheFolderOption) throws {
        #if Persistence
            if mode != nil, !folder.isGiven { throw ValidationError("--cache-mode needs --cache") }
        #endif
    }

    var policy: CachePolicy {
        #if Persistence
            mode ?? .useProtocol
        #else
            .useProtocol
        #endif
    }
}
