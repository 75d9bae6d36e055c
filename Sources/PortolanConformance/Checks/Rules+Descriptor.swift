// SPDX-License-Identifier: Apache-2.0

import CPortolan
import FoundationEssentials
import PortolanCore
import PortolanPlugins

/// DESC: what a library declares, and the effects of opening it.
extension RuleCatalogue {
    static let descriptor: [CheckedRule] = [
        .must(
            "DESC-01", level: 1, isEnforced: true,
            "dlopen opens the library with RTLD_NOW and RTLD_LOCAL. No symbol is missing.",
            because: "A missing symbol that is only looked up when it is called ends the process that loads the URL.",
            remedy: "Link every library that the code uses, with -Wl,-z,defs, and read the error message of dlopen."
        ) { context throws(CheckSkipped) in
            do throws(CheckSkipped) {
                _ = try ProbedLibrary(at: context.libraryPath(), on: context.instanceContext)
            } catch {
                context.fail("dlopen(3) refuses it: \(error.reason)")
            }
        },
        .must(
            "DESC-02", level: 1, isEnforced: true,
            "The library exports portolan_plugin_entry, and should export nothing else.",
            because: "Another exported name can clash with the same name in another plugin.",
            remedy: """
                Compile with -fvisibility=hidden, and put PORTOLAN_EXPORT on the entry function only. C++ also exports names of its \
                standard library: link with -Wl,--version-script and a file that has 'global: portolan_plugin_entry' and 'local: *'.
                """
        ) { context throws(CheckSkipped) in
            guard try context.library().entry != nil else { return context.fail("it does not export portolan_plugin_entry") }
            let others = try ELFFile(at: context.libraryPath()).exports.filter { $0 != "portolan_plugin_entry" }.sorted()
            guard let first = others.first else { return }
            context.warn(
                "it exports \(ValueFormatting.count(others.count, "more name")), such as '\(first)'")
        },
        .must(
            "DESC-03", level: 1,
            "The entry function returns the same descriptor on every call, on any thread.",
            because: "The host keeps pointers into the descriptor, and calls the entry function on any thread.",
            remedy: "Return the address of one static const structure."
        ) { context throws(CheckSkipped) in
            let entry = try context.entry()
            let returnedAddresses = try Parallel.results(threads: 8) { _ in
                (0..<100).map { _ in unsafe UInt(bitPattern: entry(PORTOLAN_ABI_MAJOR)) }
            }
            let addresses = Set(returnedAddresses.joined())
            if addresses.count > 1 { context.fail("800 calls from 8 threads returned \(addresses.count) different descriptors") }
        },
        .must(
            "DESC-04", level: 1, isEnforced: true,
            "The entry function returns NULL to a host of another major version.",
            because: "Otherwise the host reads structures of one version as those of another.",
            remedy: "Compare abi_major with PORTOLAN_ABI_MAJOR first, and return NULL if they differ."
        ) { context throws(CheckSkipped) in
            let entry = try context.entry()
            for major in [0, PORTOLAN_ABI_MAJOR + 1, PORTOLAN_ABI_MAJOR + 7, .max] where unsafe entry(major) != nil {
                context.fail("a host of major version \(major) gets a descriptor, not NULL")
            }
            guard let plugin = unsafe entry(PORTOLAN_ABI_MAJOR) else {
                return context.fail("a host of major version \(PORTOLAN_ABI_MAJOR) gets NULL")
            }
            let statedMajor = try unsafe DescribedPlugin(plugin).functions.abi_major
            if statedMajor != PORTOLAN_ABI_MAJOR { context.fail("the descriptor states major version \(statedMajor)") }
        },
        .must(
            "DESC-05", level: 1, isEnforced: true,
            """
            Each structure is complete: size, counts and pointers agree, and reserved members are 0. The plugin reads nothing beyond the \
            size that the host set.
            """,
            because: "Only the size says which members a minor version has, and a later version gives a reserved member a meaning.",
            remedy: "Zero the structure, set size with sizeof, and use PORTOLAN_HAS before you read a member that version 1 does not have."
        ) { context throws(CheckSkipped) in
            guard let pointer = unsafe try context.entry()(PORTOLAN_ABI_MAJOR) else {
                throw CheckSkipped("the entry function returns NULL (DESC-04)")
            }
            let plugin: DescribedPlugin
            do throws(CheckSkipped) { plugin = try unsafe DescribedPlugin(pointer) } catch {
                return context.fail(
                    "the descriptor is NULL, can't be read, or is smaller than in version 1",
                    remedy: "Return a portolan_plugin whose size is sizeof(portolan_plugin), with static storage.")
            }
            for flaw in plugin.flaws { context.fail(flaw.detail, remedy: flaw.remedy) }
            guard plugin.flaws.isEmpty else { return }
            // Borrowed structs end at the end of a page, so that a read beyond them crashes this process.
            context.argumentMemory = .flush
            let instance = try context.instance(of: plugin)
            defer { if context.areAllLoadsIdle { instance.end() } }
            func fail(_ load: ConformanceLoad, _ flaws: [String]) { context.fail(flaws.map { "'\(load.url)': \($0)" }) }
            for load in try context.loads(.any) {
                for record in try context.follow(load, of: instance) {
                    for change in record.nestedChanges {
                        fail(
                            load, ClientCall.incompleteParts("portolan_change", change, of: "the request of a nested load", isNeeded: true))
                    }
                    for call in record.calls { fail(load, call.call.incompleteParts) }
                    if let refusal = record.refusal {
                        // ORDER-11 reports a missing error.
                        fail(load, ClientCall.incompleteParts("portolan_error", refusal, of: "the refusal", isNeeded: false))
                    }
                }
                let request = try context.request(load.url)
                for change in try context.handler(for: request, of: instance)?.canonicalForm(of: request).changes ?? [] {
                    fail(load, ClientCall.incompleteParts("portolan_change", change, of: "the canonical form", isNeeded: true))
                }
            }
        },
        .must(
            "DESC-06", level: 1, isEnforced: true,
            "The identifiers of the plugin and its handlers are reverse-DNS names in UTF-8 of at most 255 bytes.",
            because: "Policies, logs and manifests refer to a plugin by its identifier.",
            remedy: "Write a name such as org.example.tide: at least two labels of letters, digits, '-' and '_'."
        ) { context throws(CheckSkipped) in
            let plugin = try context.plugin()
            let names = [("the plugin", plugin.identifier)] + plugin.handlers.enumerated().map { ("handler \($0)", $1.identifier) }
            for (what, identifier) in names where identifier.text.map(Text.isReverseDNS) != true {
                context.fail("the identifier of \(what) is \(identifier.quoted)")
            }
        },
        .must(
            "DESC-07", level: 1,
            "The version follows Semantic Versioning 2.0.0. Name and vendor are text that is not empty.",
            because: "People and package managers compare versions, and read names.",
            remedy: "Write a version such as 1.0.0, a name, and who made the plugin."
        ) { context throws(CheckSkipped) in
            let plugin = unsafe try context.plugin().functions
            let (version, name, vendor) = unsafe (ReadText(plugin.version), ReadText(plugin.name), ReadText(plugin.vendor))
            if version.text.flatMap(SemanticVersion.init) == nil {
                context.fail("the version is \(version.quoted), which is not a semantic version")
            }
            for (what, text) in [("name", name), ("vendor", vendor)] where text.text?.isEmpty != false {
                context.fail("the \(what) is \(text.quoted)")
            }
        },
        .must(
            "DESC-08", level: 1, isEnforced: true,
            "Schemes follow RFC 3986, section 3.1, and are in lower case. Each scheme is listed once.",
            because: "The registry compares the bytes of schemes to find a handler.",
            remedy: "Start with a letter, continue with letters, digits, '+', '-' and '.', and remove duplicates."
        ) { context throws(CheckSkipped) in
            for (index, handler) in try context.plugin().handlers.enumerated() where !handler.takesAnyScheme {
                let schemes = handler.schemes
                if schemes.isEmpty { context.fail("handler \(index) names no scheme, and is not an interposer") }
                for (place, scheme) in schemes.enumerated() {
                    if scheme.text.map(Text.isScheme) != true {
                        context.fail("handler \(index) names \(scheme.quoted), which is not a scheme in lower case")
                    }
                    if schemes[..<place].contains(scheme) { context.fail("handler \(index) names \(scheme.quoted) twice") }
                }
            }
        },
        .must(
            "DESC-09", level: 1,
            "Opening and describing the library changes no thread, process, file descriptor, signal, locale, working folder, umask or environment.",
            because: "A computer may have a thousand plugins. Reading the descriptor of one must not change the process.",
            remedy: "Do nothing in constructors and in the entry function. Start in 'init'.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let before = ProcessResources.snapshot()
            let childrenBefore = Set(ProcessResources.children())
            let library = try context.library()
            if let entry = try library.entry {
                _ = unsafe entry(PORTOLAN_ABI_MAJOR)
                _ = unsafe entry(.max)
            }
            let after = ProcessResources.snapshot()
            context.fail(after.additions(since: before) + after.closedDescriptors(since: before))
            let newProcesses = ProcessResources.children().filter { !childrenBefore.contains($0) }
            if !newProcesses.isEmpty {
                context.fail("it started \(ValueFormatting.count(newProcesses.count, "process", plural: "processes"))")
            }
            context.fail(after.environment.changes(since: before.environment))
        },
        .should(
            "DESC-10", level: 1,
            "Opening and describing the library takes less than 100 ms.",
            because: "The first load of the scheme waits until both are done.",
            remedy: "Move tables and look-ups to 'init', or to the first load."
        ) { context throws(CheckSkipped) in
            // The time for which the thread waited for a processor says nothing about the library.
            let (start, waitTimeBefore) = (MonotonicTime.now, ProcessorWait.ofThisThread)
            _ = try context.description()
            let time = MonotonicTime.now - start - (ProcessorWait.ofThisThread - waitTimeBefore)
            if time > .milliseconds(100) { context.warn("opening and describing the library took \(ValueFormatting.time(time))") }
        },
        .must(
            "DESC-11", level: 1,
            "The plugin returns NULL for an extension that it does not know.",
            because: "A later host asks for extensions that did not exist when the plugin was built.",
            remedy: "Compare the identifier with the ones that you know, and return NULL for all others."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            defer { if context.areAllLoadsIdle { instance.end() } }
            guard let extensionFunction = unsafe instance.plugin.functions.extension else { return }
            let long = String(repeating: "x", count: 4096)
            let unknownIdentifiers = ["org.example.unknown/1", "org.example.unknown/2", "org.example.unknown", "", long]
            for name in unknownIdentifiers + ["portolan.nested/1", "portolan.nested/99"]
            where unsafe name.withCString({ unsafe extensionFunction(instance.state, $0) }) != nil {
                // A table for a name of Portolan is allowed, because the plugin can implement that extension.
                if !name.hasPrefix("portolan.") {
                    context.fail("it returns a table for '\(name.prefix(40))', which is not the name of an extension")
                }
            }
        },
        .must(
            "DESC-12", level: 1,
            "The library links no module of the host, and has no run path into a folder that other users can write to.",
            because: "The library would load a second host into the process, or code that another user puts into that folder.",
            remedy: "Use nothing of Portolan except the headers or PortolanPluginKit, and remove -rpath."
        ) { context throws(CheckSkipped) in
            let file = try ELFFile(at: context.libraryPath())
            for name in file.neededLibraries where name.lowercased().hasPrefix("libportolan") && !name.hasPrefix("libPortolanPluginKit") {
                context.fail("it needs \(name), a module of the host")
            }
            for folder in file.runPaths {
                if let reason = RPathCheck.objection(to: folder) { context.fail("its run path has '\(folder)', \(reason)") }
            }
        },
        .must(
            "DESC-13", level: 3,
            "The library works while a copy of it is open in the same process, and so does the copy.",
            because: "The host opens a new build while the old one is still running.",
            remedy: "Store state in the instance that 'init' returns, not under fixed names in the process."
        ) { context throws(CheckSkipped) in
            let first = try context.instance()
            let copy = try ProbedLibrary.copy(of: context.libraryPath())
            guard let entry = try ProbedLibrary(at: copy.path, on: context.instanceContext).entry,
                let pointer = unsafe entry(PORTOLAN_ABI_MAJOR)
            else {
                return context.fail("a copy of the library returns no descriptor while the original is open")
            }
            let second = try unsafe ProbedInstance.start(DescribedPlugin(pointer), context.configuration(), on: context.instanceContext)
            guard case .started(let other) = second else {
                return context.fail("an instance of a copy does not start while the original runs")
            }
            for load in try context.loads(.succeeds).prefix(3) {
                let bodies = try [first, other, first].map { instance throws(CheckSkipped) in
                    try context.follow(load, of: instance).last?.body
                }
                if Set(bodies).count > 1, !context.varies(load) {
                    context.fail("'\(load.url)' gave different bytes through the original and through its copy")
                }
            }
            other.end()
            first.end()
        },
    ]
}

extension ClientCall {
    /// The parts that cannot be read as the headers define them; one line each.
    fileprivate var incompleteParts: [String] {
        switch self {
        case .interim(let response), .response(let response):
            Self.incompleteParts("portolan_response", response, of: function, isNeeded: true)
        // ORDER-11 reports a missing error.
        case .failure(let error): Self.incompleteParts("portolan_error", error, of: function, isNeeded: false)
        case .redirect(let change, let response):
            Self.incompleteParts("portolan_change", change, of: function, isNeeded: true)
                + Self.incompleteParts("portolan_response", response, of: function, isNeeded: false)
        case .challenge(let challenge): Self.incompleteParts("portolan_challenge", challenge, of: function, isNeeded: true)
        case .trailers(nil): ["\(function): there is a count of fields, but the fields can't be read"]
        default: []
        }
    }

    /// The parts whose memory cannot be read; one line each.
    var unreadableParts: [String] {
        if case .data(_, isReadable: false, _) = self { return ["\(function): the bytes can't be read"] }
        return incompleteParts.filter { $0.hasSuffix("can't be read") }
    }

    /// Returns one line for each part of a structure that cannot be read.
    ///
    /// - Parameters:
    ///   - what: The type of the structure in C.
    ///   - place: Names the function that received the structure, or the purpose of the structure.
    ///   - isNeeded: Whether NULL is an error.
    fileprivate static func incompleteParts<Value: CompletenessChecking>(
        _ what: String, _ readStruct: ReadStruct<Value>, of place: String, isNeeded: Bool
    ) -> [String] {
        switch readStruct {
        case .whole(let value): incompleteParts(what, value, of: place)
        case .large(let size, let value):
            ["\(place) received a \(what) of size \(size). \(DescribedPlugin.phraseOfLargeSize)"] + incompleteParts(what, value, of: place)
        case .missing: isNeeded ? ["\(place) received no \(what)"] : []
        case .short(let size): ["\(place) received a \(what) of size \(size); set it with sizeof"]
        case .unreadable: ["\(place) received a \(what) that can't be read"]
        }
    }

    private static func incompleteParts(_ what: String, _ value: some CompletenessChecking, of place: String) -> [String] {
        (value.isReservedZero ? [] : ["\(place) received a \(what) whose reserved member is not 0"])
            + (value.sizeOfLargePart.map { ["\(place) received a \(what) with a part of size \($0). \(DescribedPlugin.phraseOfLargeSize)"] }
                ?? [])
            + value.unreadable.map { "\(place): \($0) can't be read" }
    }
}
