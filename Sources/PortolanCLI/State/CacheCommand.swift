// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import ArgumentParser
    import Portolan
    import PortolanCache
    import PortolanJSON
    import PortolanStore

    /// `portolan cache`
    struct CacheCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "cache", abstract: "Show, check and remove the stored responses of a cache on disk.",
            discussion:
                "The subcommands use the standard folder unless --cache=FOLDER names another one. 'portolan get' stores nothing without --cache.",
            subcommands: [
                CacheInfoCommand.self, ListCacheCommand.self, ShowCacheCommand.self, ClearCacheCommand.self, VerifyCacheCommand.self,
            ])
    }

    /// The folder of the stored responses.
    struct CacheFolderArgument: ParsableArguments {
        @Option(
            name: .customLong("cache"), parsing: .unconditional,
            help: ArgumentHelp(
                "The folder, as in --cache=FOLDER (default: 'portolan' in $XDG_CACHE_HOME or ~/.cache).", valueName: "folder"),
            completion: .directory)
        var argument = ""

        /// Opens a folder that is a cache, and closes it after `body`. If the folder is not a cache, for example
        /// because the path was mistyped, fails and creates nothing.
        ///
        /// - Parameters:
        ///   - changes: whether `body` changes the cache. If it does, a cache with a damaged index is emptied, which is
        ///     no failure, and a folder that can't be written or has no room is a failure.
        func withStore<Result>(changes: Bool = false, _ body: (DiskCacheStore) throws(StoreError) -> Result) throws(Failure) -> Result {
            try withPath { path throws(StoreError) in
                let store =
                    try changes ? DiskCacheStore.waitForOpen(path, needsRoom: true, logger: DiagnosticLines.logger) : openToRead(path)
                defer { store.waitForClose() }
                return try body(store)
            }
        }

        private func openToRead(_ path: String?) throws(StoreError) -> DiskCacheStore {
            guard try DiskCacheStore.canWrite(path) else { return try DiskCacheStore.waitForOpenToRead(path) }
            do throws(StoreError) {
                // This call also removes the files that killed processes have left.
                return try DiskCacheStore.waitForOpen(path, repairsIndex: false, needsRoom: true, logger: DiagnosticLines.logger)
            } catch  where error.code == .full {
                return try DiskCacheStore.waitForOpenToRead(path)
            }
        }

        /// Calls `body` with the path of a folder that is a cache; `nil` for the standard folder.
        func withPath<Result>(_ body: (String?) throws(StoreError) -> Result) throws(Failure) -> Result {
            let path = argument.isEmpty ? nil : argument
            do throws(StoreError) {
                if let problem = try DiskCacheStore.missingCacheReason(path) { throw StoreError(.noFolder, problem) }
                return try body(path)
            } catch {
                throw Failure(error, option: "--cache")
            }
        }
    }

    /// The option for JSON.
    struct JSONOption: ParsableArguments {
        @Flag(name: .customLong("json"), help: "Print JSON, on one line.")
        var isJSON = false
    }

    /// `portolan cache info`
    struct CacheInfoCommand: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "info", abstract: "Print the folder, its size and its limit.")

        @OptionGroup var format: JSONOption
        @OptionGroup var folder: CacheFolderArgument

        func run() throws {
            SignalHandler.ignoreClosedPipes()
            let summary = try folder.withStore { store throws(StoreError) in try store.summary() }
            try StandardOutput.write(format.isJSON ? summary.json : summary.text)
        }
    }

    /// `portolan cache clear`
    struct ClearCacheCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "clear", abstract: "Remove all responses, those for a URL, or the old ones.")

        @Argument(help: ArgumentHelp("Remove the responses for this URL only.", valueName: "url"))
        var url: String?

        @Option(
            name: .customLong("older-than"), parsing: .unconditional,
            help: ArgumentHelp(
                "Remove only responses that the server sent or confirmed longer ago than this.", valueName: "seconds"),
            transform: Seconds.init(parsing:))
        var age: Seconds?

        @OptionGroup var folder: CacheFolderArgument

        func run() throws {
            let url = try url.map { argument throws(Failure) in try Request(argument: argument).url }
            guard url != nil || age != nil else {
                return try folder.withPath { path throws(StoreError) in
                    try DiskCacheStore.waitForClear(path)
                }
            }
            try folder.withStore(changes: true) { store throws(StoreError) in
                for selection in try selections(in: store, url) { store.remove(selection) }
                try store.waitForWrites()
                guard !store.hasUnwrittenRemovals else {
                    throw StoreError(
                        .full,
                        "the responses can't be removed from '\(store.path)'; on a full disk, clear the whole cache, which needs no room")
                }
            }
        }

        private func selections(in store: DiskCacheStore, _ url: URLRecord?) throws(StoreError) -> [CacheSelection] {
            guard let age else { return [url.map { .url($0) } ?? .all] }
            let oldest = SystemTime.secondsSince1970 - (age.duration?.components.seconds ?? 0)
            return try store.items().filter { item in
                item.stored.responseTime < oldest && (url.map { item.isStored(for: $0) } ?? true)
            }.map { .entry($0.id) }
        }
    }

    /// `portolan cache verify`
    struct VerifyCacheCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify", abstract: "Compare all stored responses with their checksums.",
            discussion: "The exit status is 37 if a response is damaged, also if it is removed. Loads never deliver damaged bytes.")

        @Flag(name: .customLong("remove"), help: "Remove what is damaged, and files that belong to no response.")
        var removes = false

        @OptionGroup var format: JSONOption
        @OptionGroup var folder: CacheFolderArgument

        func run() throws {
            SignalHandler.ignoreClosedPipes()
            let result = try folder.withStore(changes: removes) { store throws(StoreError) in try store.verify(removing: removes) }
            try StandardOutput.write(format.isJSON ? result.json(isRemoved: removes) : result.text(isRemoved: removes))
            if !result.damagedResponses.isEmpty {
                let verb = removes ? "had" : "has"
                let end = removes ? "; removed" : "; --remove removes what is damaged"
                throw Failure(
                    .unreadable,
                    "--cache: '\(result.summary.path)' \(verb) \(String(result.damagedResponses.count, of: "damaged response"))\(end)")
            }
        }
    }

    extension StandardOutput {
        fileprivate static func write(_ report: Report) throws(Failure) {
            switch report {
            case .text(let text): try write(text)
            case .json(let value): try write(value)
            }
        }
    }

    /// The output of a command.
    private enum Report {
        case text(String)
        case json(JSONValue)
    }

    extension DiskCacheStore.Item {
        /// Whether the response is one for the URL, in any partition.
        func isStored(for url: URLRecord) -> Bool { key.url == CacheKey(url).url }
    }

    extension DiskCacheStore.Summary {
        private var members: [JSONValue.Member] {
            [
                .init(name: "folder", value: .string(path)), .init(name: "entries", value: .integer(entryCount)),
                .init(name: "bytes", value: .integer(byteCount)), .init(name: "limit", value: .integer(byteLimit)),
            ]
        }

        fileprivate var json: Report { .json(.object(members)) }

        fileprivate var text: Report {
            .text(
                """
                folder:    \(PlainText.line(path))
                responses: \(entryCount)
                size:      \(ProgressBar.size(Double(byteCount))) of \(ProgressBar.size(Double(byteLimit)))

                """)
        }
    }

    extension DiskCacheStore.Verification {
        fileprivate func json(isRemoved: Bool) -> Report {
            .json([
                "folder": .string(summary.path), "intact": .integer(intactCount),
                "damaged": .array(damagedResponses.map { ["url": .text($0.url), "reason": .string($0.reason)] }),
                "orphans": .integer(orphanCount), "removed": .bool(isRemoved), "bytes": .integer(summary.byteCount),
                "limit": .integer(summary.byteLimit),
            ])
        }

        fileprivate func text(isRemoved: Bool) -> Report {
            let verb = isRemoved ? "removed" : "damaged"
            var lines = damagedResponses.map { PlainText.line("\(verb): \($0.url ?? "(unknown URL)"): \($0.reason)") }
            lines.append("\(String(intactCount, of: "response")) intact, \(damagedResponses.count) \(verb)")
            if orphanCount > 0 {
                lines.append("\(String(orphanCount, of: "file")) without a response\(isRemoved ? " removed" : "")")
            }
            return .text(lines.map { $0 + "\n" }.joined())
        }
    }
#endif
