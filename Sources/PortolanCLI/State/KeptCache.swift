// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanCache

#if Persistence
    import PortolanStore
#endif

/// The option for a cache on disk.
struct CacheFolderOption: ParsableArguments {
    #if Persistence
        @Option(
            name: .customLong("cache"), parsing: .unconditional,
            help: ArgumentHelp(
                "Store responses on disk, and answer requests with them as long as RFC 9111 allows (default: nothing is stored). --cache alone "
                    + "uses 'portolan' in $XDG_CACHE_HOME or ~/.cache, --cache=FOLDER another folder.",
                valueName: "folder"),
            completion: .directory)
        var argument: String?

        /// The folder; `nil` without the option. ``CacheArgument`` gives the option an empty value if it has none.
        var folder: String? { argument.flatMap { $0.isEmpty ? DiskCacheStore.standardPath : $0 } }
    #endif

    /// Whether the option was given.
    var isGiven: Bool {
        #if Persistence
            argument != nil
        #else
            false
        #endif
    }

    /// Opens the folder, and creates it if it is missing; `nil` without the option.
    func open() throws(Failure) -> KeptCache? {
        #if Persistence
            guard let argument else { return nil }
            return try KeptCache(argument.isEmpty ? nil : argument)
        #else
            return nil
        #endif
    }
}

/// An open cache on disk.
struct KeptCache: Sendable {
    let cache: ResponseCache

    #if Persistence
        let store: DiskCacheStore

        /// Opens the cache. A full disk causes a warning and no failure.
        ///
        /// - Parameter path: `nil` for the user's standard folder.
        init(_ path: String?) throws(Failure) {
            do throws(StoreError) {
                store = try DiskCacheStore.waitForOpen(path, logger: DiagnosticLines.logger)
            } catch {
                throw Failure(error, option: "--cache")
            }
            cache = ResponseCache(store: store)
        }
    #endif

    /// Writes the pending changes, and closes the folder. A second call has no effect.
    func close() {
        #if Persistence
            store.waitForClose()
        #endif
    }
}
