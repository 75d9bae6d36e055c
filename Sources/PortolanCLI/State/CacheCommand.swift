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
                "They use the standard folder unless --cache=FOLDER names another one. 'portolan get' stores nothing without --cache.",
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

        /// Opens a folder that is a cache, and closes it after `body`. Creates nothing in place of one that was
        /// mistyped.
        ///
        /// - Parameter repairs: whether a cache whose index is damaged is emptied, and no failure.
        func withStore<Result>(repairs: Bool = false, _ body: (DiskCacheStore) throws(StoreError) -> Result) throws(Failure) -> Result {
            let cache = try KeptCache(argument.isEmpty ? nil : argument, createsMissing: false, repairs: repairs)
            defer { cache.close() }
            do throws(StoreError) {
                return try body(cache.store)
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
            name: .customLong("older-than"),
            help: ArgumentHelp(
                "Remove only responses that the server sent or confirmed longer ago than this.", valueName: "seconds"),
            transform: Seconds.init(parsing:))
        var age: Seconds?

        @OptionGroup var folder: CacheFolderArgument

        func run() throws {
            let url = try url.map { argument throws(Failure) in try Request(argument: argument).url }
            let now = SystemTime.secondsSince1970
            try folder.withStore(repairs: true) { store throws(StoreError) in
                if let age {
                    let limit = age.duration?.components.seconds ?? 0
                    for item in try store.items() where url.map({ item.isStored(for: $0) }) ?? true {
                        if now - item.stored.responseTime > limit { store.remove(.entry(item.id)) }
                    }
                } else {
                    store.remove(url.map { .url($0) } ?? .all)
                }
                try store.waitForWrites()
            }
        }
    }

    /// `portolan cache verify`
    struct VerifyCacheCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify", abstract: "Compare all stored responses with their checksums.",
            discussion: "The exit status is 37 if a response is damaged. Loads never deliver damaged bytes.")

        @Flag(name: .customLong("remove"), help: "Remove what is damaged, and files that belong to no response.")
        var removes = false

        @OptionGroup var format: JSONOption
        @OptionGroup var folder: CacheFolderArgument

        func run() throws {
            SignalHandler.ignoreClosedPipes()
            let result = try folder.withStore(repairs: removes) { store throws(StoreError) in try store.verify(removing: removes) }
            try StandardOutput.write(format.isJSON ? result.json(isRemoved: removes) : result.text(isRemoved: removes))
            if !result.damages.isEmpty {
                throw Failure(
                    .unreadable, "--cache: '\(result.summary.path)' has \(String(result.damages.count, of: "damaged response"))")
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
                "damaged": .array(damages.map { ["url": .text($0.url), "reason": .string($0.reason)] }),
                "orphans": .integer(orphanCount), "removed": .bool(isRemoved), "bytes": .integer(summary.byteCount),
                "limit": .integer(summary.byteLimit),
            ])
        }

        fileprivate func text(isRemoved: Bool) -> Report {
            let verb = isRemoved ? "removed" : "damaged"
            var lines = damages.map { PlainText.line("\(verb): \($0.url ?? "(unknown URL)"): \($0.reason)") }
            lines.append("\(String(intactCount, of: "response")) intact, \(damages.count) damaged")
            if orphanCount > 0 {
                lines.append("\(String(orphanCount, of: "file")) without a response\(isRemoved ? " removed" : "")")
            }
            return .text(lines.map { $0 + "\n" }.joined())
        }
    }
#endif
