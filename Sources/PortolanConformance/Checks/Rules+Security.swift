// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanPlugins
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// SEC: what a plugin exposes to others.
extension RuleCatalogue {
    static let security: [CheckedRule] = [
        .must(
            "SEC-01", level: 3,
            "CR, LF and NUL, plain or percent-encoded, never reach a nested request, a peer or a field.",
            because: "These characters end a line and begin another one.",
            remedy: "Decode with portolan_decode, which refuses them."
        ) { context throws(CheckSkipped) in
            let marks = ["%0D%0aX-Judge:%20yes", "%0a", "%00judge"]
            try context.eachLoad(.any) { load, _, instance throws(CheckSkipped) in
                var hasChecked = false
                let (url, query) = load.url.parts
                for mark in marks {
                    // If the URL has a query, also adds the mark to the last value of the query.
                    let last = query.isEmpty ? [] : ["\(url)\(query.prefix { $0 != "#" })\(mark)"]
                    for text in ["\(url)\(mark)\(query)", "\(url)/\(mark)", "\(url)?judge=\(mark)"] + last {
                        let (_, script) = try context.requestAndScript(load)
                        // `try?` because a text that is no URL never reaches a plugin.
                        guard let request = try? context.request(text), try context.handler(for: request, of: instance) != nil else {
                            continue
                        }
                        let probedLoad = try context.make(request, of: instance, script)
                        try probedLoad.start()
                        guard let record = context.recordWhenIdle(probedLoad, within: context.loadTimeLimit) else {
                            throw CheckSkipped("\(request.url.shortDescription) did not end (LIFE-02)")
                        }
                        hasChecked = true
                        let nested = probedLoad.client.state.withLock(\.nested)
                        for place in record.placesWithLineBreaks(nestedLoads: nested) {
                            context.fail("\(request.url.shortDescription): a line break or NUL of the URL reached \(place)")
                        }
                    }
                }
                if !hasChecked { throw CheckSkipped.notApplicable("'\(load.url)' accepts no other path") }
            }
        },
        .must(
            "SEC-02", level: 3,
            "'..' in a URL, plain, encoded or doubled, never leads out of the root folder that the plugin serves.",
            because: "Otherwise a URL can read /etc/passwd.",
            remedy: "Join paths with portolan_join."
        ) { context throws(CheckSkipped) in
            // A path in every file system that no plugin should serve.
            let file = "etc/passwd"
            guard let contents = FileManager.default.contents(atPath: "/" + file).map(Array.init), contents.count > 8 else {
                throw CheckSkipped("/\(file) can't be read here")
            }
            // Returns whether a load of `text` gives the file; `nil` if no handler accepts the URL.
            func leaks(_ text: String, _ instance: ProbedInstance) throws(CheckSkipped) -> Bool? {
                // `try?` because a text that is no URL never reaches a plugin.
                guard let request = try? context.request(text), try context.handler(for: request, of: instance) != nil else { return nil }
                let probedLoad = try context.make(request, of: instance)
                try probedLoad.start()
                guard let record = context.recordWhenIdle(probedLoad, within: context.loadTimeLimit) else {
                    throw CheckSkipped("'\(text)' did not end (LIFE-02)")
                }
                return record.body.contains(contents.prefix(64))
            }
            try context.eachLoad(.any) { load, _, instance throws(CheckSkipped) in
                let root = load.url.root
                if try leaks("\(root)/\(file)", instance) == true {
                    throw CheckSkipped.notApplicable("'\(root)' is the root of the file system")
                }
                var hasChecked = false
                for start in Set([root + "/", load.url.folder] + (root.hasSuffix(":") ? [root] : [])) {
                    for step in ["../", "..%2f", "%2e%2e%2f", "%252e%252e%252f", "..%5c", "....//"] {
                        let text = start + String(repeating: step, count: 12) + file
                        guard let isLeaked = try leaks(text, instance) else { continue }
                        hasChecked = true
                        if isLeaked { context.fail("'\(text)' returns the content of /\(file)") }
                    }
                }
                if !hasChecked { throw CheckSkipped.notApplicable("'\(load.url)' accepts no other path") }
            }
        },
        .must(
            "SEC-03", level: 3, isEnforced: true, needs: .redirects,
            "No redirect leads to a scheme that the configuration does not allow.",
            because: "Otherwise a web page could read local files.",
            remedy: "Redirect to your own scheme, or to one that every server may name. The host follows no other redirect."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.redirects) { load, request, instance throws(CheckSkipped) in
                let record = try context.perform(request, of: instance, CheckContext.script(for: load))
                _ = try record.redirectIndex(load)
                // REDIR-01 reports a URL that does not parse.
                for case .url(let url) in record.redirectTargets(from: request) {
                    if !RedirectPolicy().allows(url, from: request.url) {
                        context.fail(
                            "'\(load.url)' is redirected to '\(url)'; hosts follow such a redirect only if their RedirectPolicy says so")
                    }
                }
            }
        },
        .must(
            "SEC-04", level: 4, needs: .succeeds,
            "Without HOME, and with hostile values of TMPDIR, LC_ALL and PATH, the result is the same.",
            because: "Services run without a home folder.",
            remedy: "Depend on settings, not on the environment.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let names = ["HOME", "TMPDIR", "LC_ALL", "LANG", "PATH", "LD_LIBRARY_PATH"]
            let hostileValues = [nil, "/nonexistent\n", "xx_XX.nothing", String(repeating: "x", count: 4096), "", "/nonexistent"]
            let before = names.map { name in unsafe getenv(name).map { unsafe String(cString: $0) } }
            let usualResults = try context.results()
            func set(_ values: [String?]) {
                for (name, value) in zip(names, values) {
                    if let value { unsafe setenv(name, value, 1) } else { unsafe unsetenv(name) }
                }
            }
            set(hostileValues)
            defer { set(before) }
            let results = try context.results()
            for (index, load) in try context.loads(.succeeds).enumerated()
            where results[index] != usualResults[index] && !context.varies(load) {
                context.fail(
                    "'\(load.url)' gave \(results[index].phrase) in a hostile environment, but \(usualResults[index].phrase) otherwise")
            }
        },
        .must(
            "SEC-05", level: 1,
            "The library has no executable stack and no segment that is both writable and executable.",
            because: "With such memory, an attacker can run code through a bug.",
            remedy: "Link with -z noexecstack, and assemble with .note.GNU-stack."
        ) { context throws(CheckSkipped) in
            let file = try ELFFile(at: context.libraryPath())
            if file.hasExecutableStack { context.fail("the library asks for an executable stack; link with -z noexecstack") }
            if file.hasWritableCode { context.fail("a segment of the library can be both written and executed") }
        },
        .must(
            "SEC-06", level: 3, needs: .succeeds,
            "File descriptors are close-on-exec, and new files are private (mode 0600).",
            because: "Programs that are started later inherit open descriptors.",
            remedy: "Use O_CLOEXEC and mode 0600.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let before = Set(ProcessResources.descriptors().keys)
            try context.eachLoad(.succeeds) { load, request, instance throws(CheckSkipped) in
                let inheritedTargets = Mutex<[String]>([])
                let openModes = Mutex<Set<String>>([])
                var script = CheckContext.script(for: load)
                script.whileDelivering = { index, _ in
                    guard index < 3 else { return }
                    // If an open file has no name, the load has created it.
                    for (number, target) in ProcessResources.descriptors() where !before.contains(number) && target.hasSuffix(" (deleted)")
                    {
                        var status = stat()
                        guard unsafe fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0,
                            !target.hasPrefix("/memfd:")
                        else { continue }
                        openModes.withLock { _ = $0.insert(String(status.st_mode & 0o777, radix: 8)) }
                    }
                    func inherited() -> [Int32: String] {
                        ProcessResources.descriptors().filter { !before.contains($0.key) && fcntl($0.key, F_GETFD) & FD_CLOEXEC == 0 }
                    }
                    var inheritedDescriptors = inherited()
                    guard !inheritedDescriptors.isEmpty else { return }
                    // A descriptor that another thread has only just opened can get the flag in its next step
                    // (`fcntl(2)`).
                    Polling.sleep(.milliseconds(10))
                    let laterDescriptors = inherited()
                    inheritedDescriptors = inheritedDescriptors.filter { laterDescriptors[$0.key] == $0.value }
                    inheritedTargets.withLock { $0 += inheritedDescriptors.sorted { $0.key < $1.key }.map(\.value) }
                }
                _ = try context.perform(request, of: instance, script)
                for mode in openModes.withLock(\.self).sorted() {
                    context.fail("'\(load.url)': it created a file that other users can open (mode 0\(mode))")
                }
                for target in Set(inheritedTargets.withLock(\.self)) {
                    context.fail(
                        "'\(load.url)': a program that the host starts would inherit a descriptor (\(target.prefix { $0 != "[" }))")
                }
            }
        },
        .must(
            "SEC-07", level: 4, needs: .any,
            "The plugin uses no network and no files beyond what its manifest requests.",
            because: "Users decide by these permissions.",
            remedy: "Request what the plugin needs in the manifest, \"permissions\": [\"network\"] or \"permissions\": [\"files\"] "
                + "or both, or leave the use to a nested load.",
            needsProcess: true, check: checkUses),
        .must(
            "SEC-08", level: 2, isEnforced: true, needs: .any,
            "Field names and values are well-formed (RFC 9110, section 5).",
            because: "A malformed field can split a message in two.",
            remedy: "Names are tokens. Values contain no control characters.",
            check: eachLoad(beside: [.fields]) { record in
                let allFields = record.calls.flatMap { call -> [ReadField] in
                    switch call.call {
                    case .interim(let response), .response(let response): response.value?.fields ?? []
                    case .redirect(let change, let response): (change.value?.fields ?? []) + (response.value?.fields ?? [])
                    case .trailers(let fields): fields ?? []
                    default: []
                    }
                }
                // DESC-05 reports a text that cannot be read.
                return allFields.compactMap { field in
                    if !field.name.isUnreadable, field.name.text.flatMap({ HTTPField.Name($0) }) == nil {
                        return "the name of a field is \(field.name.quoted)"
                    }
                    let isValid = field.value.isUnreadable || HTTPField.isValidValue(field.value.bytes ?? [])
                    return isValid ? nil : "the value of the field \(field.name.quoted) is \(field.value.quoted)"
                }
            }),
        .must(
            "SEC-09", level: 4, needs: .succeeds,
            "The plugin does not allocate the length that a peer declares before the bytes are there.",
            because: "Otherwise a few bytes can use up all memory.",
            remedy: "Let the buffer grow as bytes arrive.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let length: Int64 = 1 << 30
            var hasChecked = false
            func expectNoGrowth(_ load: ConformanceLoad, _ what: String, _ declare: (Bool) throws(CheckSkipped) -> LoadRecord?)
                throws(CheckSkipped)
            {
                guard try declare(false) != nil else { throw CheckSkipped("'\(load.url)' did not end (LIFE-02)") }
                var hasEnded = false
                let growth = try ProcessResources.peakGrowth { () throws(CheckSkipped) in hasEnded = try declare(true) != nil }
                guard hasEnded else {
                    return context.fail("'\(load.url)' did not end with \(what) of a declared 1 GiB")
                }
                hasChecked = true
                if growth > Int(length) * 9 / 10 {
                    context.fail("'\(load.url)' took \(growth >> 20) MiB for \(what) of a declared 1 GiB, of which some bytes came")
                }
            }
            // `try?` each time because a manifest without one kind may have the other.
            if (try? context.loads(.nested)) != nil {
                try context.eachLoad(.nested) { load, request, instance throws(CheckSkipped) in
                    try expectNoGrowth(load, "a nested body") { isLarge throws(CheckSkipped) in
                        var script = CheckContext.script(for: load)
                        if isLarge { script.nestedOutcome = .announcing(length) }
                        return try context.recordWhenIdle(request, of: instance, script)
                    }
                    // The format itself can declare a length, as the header of an archive's member does. `try?` because
                    // a load that should fail has no complete body to change.
                    guard let body = try? context.nestedBody(load, request, of: instance) else { return }
                    let end = MonotonicTime.now + context.loadTimeLimit
                    for declaredLength in DeclaredLength.all(in: body) where MonotonicTime.now < end && context.areAllLoadsIdle {
                        var script = CheckContext.script(for: load)
                        script.nestedOutcome = .declaring(declaredLength)
                        let growth = try ProcessResources.peakGrowth { () throws(CheckSkipped) in
                            let probedLoad = try context.make(request, of: instance, script)
                            try probedLoad.start()
                            // The number can also be a time or a count, so that a load that takes long is correct.
                            if !probedLoad.waitUntilIdle(.milliseconds(500)) { probedLoad.stop() }
                            _ = context.recordWhenIdle(probedLoad, within: context.stopTimeLimit)
                        }
                        guard growth > Int(length) * 9 / 10 else { continue }
                        return context.fail(
                            "'\(load.url)' took \(growth >> 20) MiB for a part of its nested body of a declared 1 GiB, of which some bytes came"
                        )
                    }
                }
            }
            if (try? context.loads(.uploads)) != nil {
                try context.eachLoad(.uploads) { load, _, instance throws(CheckSkipped) in
                    try expectNoGrowth(load, "an upload") { isLarge throws(CheckSkipped) in
                        let (request, script) = try context.upload(
                            load, CheckContext.pieces, length: isLarge ? length : CheckContext.length)
                        return try context.recordWhenIdle(request, of: instance, script)
                    }
                }
            }
            if !hasChecked { throw CheckSkipped("the manifest names no URL tagged nested or uploads") }
        },
    ]
}

extension LoadRecord {
    /// Describes the delivered values and the nested requests that contain a line break or a NUL.
    fileprivate func placesWithLineBreaks(nestedLoads nested: [ProbedNestedLoad]) -> [String] {
        var places: [String] = []
        for change in nested.compactMap(\.change.value) {
            if change.hasBreaks { places.append("the nested request") }
        }
        for call in calls.map(\.call) {
            switch call {
            case .response(let response), .interim(let response):
                if response.value?.fields?.contains(where: { $0.name.hasBreaks || $0.value.hasBreaks }) == true { places.append("a field") }
                if response.value?.name.hasBreaks == true { places.append("the suggested name") }
            case .redirect(let change, _): if change.value?.hasBreaks == true { places.append("the request of a redirect") }
            default: break
            }
        }
        return places
    }
}

extension ReadChange {
    fileprivate var hasBreaks: Bool {
        url.hasBreaks || method.hasBreaks || fields?.contains { $0.name.hasBreaks || $0.value.hasBreaks } == true
    }
}

extension ReadText {
    fileprivate var hasBreaks: Bool { bytes?.contains { $0 == 0x0D || $0 == 0x0A || $0 == 0 } == true }
}

extension String {
    /// The part before a query or a fragment, and the rest.
    fileprivate var parts: (String, String) {
        let url = prefix { $0 != "?" && $0 != "#" }
        return (String(url), String(dropFirst(url.count)))
    }

    /// The part before the path: `scheme://host`, or `scheme:`.
    fileprivate var root: String {
        guard let slashes = utf8.firstRange(of: "://".utf8) else { return String(prefix { $0 != ":" }) + ":" }
        return String(self[..<slashes.upperBound] + self[slashes.upperBound...].prefix { !"/?#".contains($0) })
    }

    /// The part up to the last slash of the path.
    fileprivate var folder: String {
        let path = parts.0
        guard path.utf8.count > root.utf8.count, let slash = path.lastIndex(of: "/") else { return root + "/" }
        return String(path[...slash])
    }
}
