// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import ArgumentParser
    import Portolan
    import PortolanCache
    import PortolanJSON
    import PortolanStore

    /// `portolan cache list`
    struct ListCacheCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Print one line for each stored response, the last used one first.")

        @OptionGroup var format: JSONOption
        @OptionGroup var folder: CacheFolderArgument

        func run() throws {
            SignalHandler.ignoreClosedPipes()
            let (items, summary) = try folder.withStore { store throws(StoreError) in (try store.items(), try store.summary()) }
            let now = SystemTime.secondsSince1970
            let entries = items.sorted { $0.lastUse > $1.lastUse }.map { CacheListing($0, now: now) }
            guard !format.isJSON else { return try StandardOutput.write(["responses": .array(entries.map(\.json))]) }
            let total = "\(String(entries.count, of: "response")), \(ProgressBar.size(Double(summary.byteCount)))\n"
            try StandardOutput.write(CacheListing.table(of: entries) + total)
        }
    }

    /// `portolan cache show`
    struct ShowCacheCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Print the stored responses for a URL: their heads, and how long they may be used.")

        @Argument(help: ArgumentHelp("The URL.", valueName: "url"))
        var url: String

        @OptionGroup var format: JSONOption
        @OptionGroup var folder: CacheFolderArgument

        func run() throws {
            SignalHandler.ignoreClosedPipes()
            let url = try Request(argument: url).url
            let items = try folder.withStore { store throws(StoreError) in try store.items() }.filter { $0.isStored(for: url) }
            guard !items.isEmpty else { throw Failure(.unreadable, "no response is stored for \(url.shortDescription)") }
            let now = SystemTime.secondsSince1970
            let entries = items.map { CacheListing($0, now: now) }
            if format.isJSON { return try StandardOutput.write(["responses": .array(entries.map(\.detailedJSON))]) }
            let texts = entries.map { entry in entry.detailLines.map { PlainText.line($0) + "\n" }.joined() }
            try StandardOutput.write(texts.joined(separator: "\n"))
        }
    }
#endif
