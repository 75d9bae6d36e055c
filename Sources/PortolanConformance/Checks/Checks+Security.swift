// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanCore
import PortolanPlugins
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// SEC: what a plugin opens to others.
extension ConformanceCheck {
    static let security: [ConformanceCheck] = [
        ConformanceCheck("SEC-03") { trial throws(Unjudged) in
            try trial.eachLoad(.redirects) { load, request, instance throws(Unjudged) in
                let record = try trial.perform(request, of: instance, Trial.script(for: load))
                _ = try record.placeOfRedirect(load)
                // One that does not parse is REDIR-01's.
                for case .url(let url) in record.redirectTargets(from: request) {
                    if !RedirectPolicy().allows(url, from: request.url) {
                        trial.fail(
                            "'\(load.url)' is redirected to '\(url)': hosts follow no such redirect unless their RedirectPolicy says so")
                    }
                }
            }
        },
        ConformanceCheck("SEC-05") { trial throws(Unjudged) in
            let file = try LibraryFile(at: trial.libraryPath())
            if file.hasExecutableStack { trial.fail("the library asks for an executable stack; link with -z noexecstack") }
            if file.hasWritableCode { trial.fail("a segment of the library can be both written and executed") }
        },
        ConformanceCheck("SEC-06", needsProcess: true) { trial throws(Unjudged) in
            let before = Set(ProcessCensus.descriptors().keys)
            try trial.eachLoad(.succeeds) { load, request, instance throws(Unjudged) in
                let found = Mutex<[String]>([])
                let open = Mutex<Set<String>>([])
                var script = Trial.script(for: load)
                script.whileDelivering = { index, _ in
                    guard index < 3 else { return }
                    // A file without a name is one that it has made.
                    for (number, target) in ProcessCensus.descriptors() where !before.contains(number) && target.hasSuffix(" (deleted)") {
                        var status = stat()
                        guard unsafe fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0,
                            !target.hasPrefix("/memfd:")
                        else { continue }
                        open.withLock { _ = $0.insert(String(status.st_mode & 0o777, radix: 8)) }
                    }
                    func inherited() -> [Int32: String] {
                        ProcessCensus.descriptors().filter { !before.contains($0.key) && fcntl($0.key, F_GETFD) & FD_CLOEXEC == 0 }
                    }
                    var left = inherited()
                    guard !left.isEmpty else { return }
                    // One that another thread is opening just now may be made so in its next step (`fcntl(2)`).
                    Patience.watch(.milliseconds(10))
                    let later = inherited()
                    left = left.filter { later[$0.key] == $0.value }
                    found.withLock { $0 += left.sorted { $0.key < $1.key }.map(\.value) }
                }
                _ = try trial.perform(request, of: instance, script)
                for mode in open.withLock(\.self).sorted() {
                    trial.fail("'\(load.url)': it has made a file that others can open (mode 0\(mode))")
                }
                for target in Set(found.withLock(\.self)) {
                    trial.fail("'\(load.url)': a program that the host starts would inherit a descriptor (\(target.prefix { $0 != "[" }))")
                }
            }
        },
        ConformanceCheck("SEC-01") { trial throws(Unjudged) in
            let marks = ["%0D%0aX-Judge:%20yes", "%0a", "%00judge"]
            try trial.eachLoad(.any) { load, _, instance throws(Unjudged) in
                var isJudged = false
                let (url, query) = load.url.parts
                for mark in marks {
                    // Of a query that there is, its last value has it.
                    let last = query.isEmpty ? [] : ["\(url)\(query.prefix { $0 != "#" })\(mark)"]
                    for text in ["\(url)\(mark)\(query)", "\(url)/\(mark)", "\(url)?judge=\(mark)"] + last {
                        let (_, script) = try trial.scene(load)
                        // `try?` because a text that is no URL never reaches a plugin.
                        guard let request = try? trial.request(text), try trial.handler(for: request, of: instance) != nil else { continue }
                        let made = try trial.make(request, of: instance, script)
                        try made.start()
                        guard let record = trial.settled(made, within: trial.patience) else {
                            throw Unjudged("\(request.url.shortDescription) did not end (LIFE-02)")
                        }
                        isJudged = true
                        let nested = made.client.state.withLock(\.nested)
                        for place in record.places(ofBreaksWith: nested) {
                            trial.fail("\(request.url.shortDescription): a line break or NUL of the URL reached \(place)")
                        }
                    }
                }
                if !isJudged { throw Unjudged.other("'\(load.url)' takes no other path") }
            }
        },
        ConformanceCheck("SEC-02") { trial throws(Unjudged) in
            // What stands in every file system, and is nobody's to serve.
            let file = "etc/passwd"
            guard let contents = FileManager.default.contents(atPath: "/" + file).map(Array.init), contents.count > 8 else {
                throw Unjudged("/\(file) can't be read here")
            }
            func leaks(_ text: String, _ instance: JudgedInstance) throws(Unjudged) -> Bool? {
                // `try?` because a text that is no URL never reaches a plugin.
                guard let request = try? trial.request(text), try trial.handler(for: request, of: instance) != nil else { return nil }
                let made = try trial.make(request, of: instance)
                try made.start()
                guard let record = trial.settled(made, within: trial.patience) else { throw Unjudged("'\(text)' did not end (LIFE-02)") }
                return record.body.contains(contents.prefix(64))
            }
            try trial.eachLoad(.any) { load, _, instance throws(Unjudged) in
                let root = load.url.root
                if try leaks("\(root)/\(file)", instance) == true { throw Unjudged.other("'\(root)' is the root of the file system") }
                var isJudged = false
                for start in Set([root + "/", load.url.folder] + (root.hasSuffix(":") ? [root] : [])) {
                    for step in ["../", "..%2f", "%2e%2e%2f", "%252e%252e%252f", "..%5c", "....//"] {
                        let text = start + String(repeating: step, count: 12) + file
                        guard let isFound = try leaks(text, instance) else { continue }
                        isJudged = true
                        if isFound { trial.fail("'\(text)' gives what stands in /\(file)") }
                    }
                }
                if !isJudged { throw Unjudged.other("'\(load.url)' takes no other path") }
            }
        },
        ConformanceCheck("SEC-09", needsProcess: true) { trial throws(Unjudged) in
            let length: Int64 = 1 << 30
            var isJudged = false
            func judge(_ load: ConformanceLoad, _ what: String, _ declare: (Bool) throws(Unjudged) -> LoadRecord?) throws(Unjudged) {
                guard try declare(false) != nil else { throw Unjudged("'\(load.url)' did not end (LIFE-02)") }
                let before = ProcessCensus.peakBytes()
                guard try declare(true) != nil else {
                    return trial.fail("'\(load.url)' did not end with \(what) of 1 GiB that is declared")
                }
                isJudged = true
                let growth = ProcessCensus.peakBytes() - before
                if growth > Int(length) * 9 / 10 {
                    trial.fail("'\(load.url)' took \(growth >> 20) MiB for \(what) of which 1 GiB was declared, and some bytes came")
                }
            }
            // `try?` each time because a manifest without the one may have the other.
            if (try? trial.loads(.nested)) != nil {
                try trial.eachLoad(.nested) { load, request, instance throws(Unjudged) in
                    try judge(load, "an inner body") { isLarge throws(Unjudged) in
                        var script = Trial.script(for: load)
                        if isLarge { script.inner = .announcing(length) }
                        return try trial.settled(request, of: instance, script)
                    }
                }
            }
            if (try? trial.loads(.uploads)) != nil {
                try trial.eachLoad(.uploads) { load, _, instance throws(Unjudged) in
                    try judge(load, "an upload") { isLarge throws(Unjudged) in
                        let (request, script) = try trial.upload(load, Trial.pieces, length: isLarge ? length : Trial.length)
                        return try trial.settled(request, of: instance, script)
                    }
                }
            }
            if !isJudged { throw Unjudged("the manifest names no URL tagged nested or uploads") }
        },
    ]
}

extension LoadRecord {
    /// Where a line break or a NUL stands among what it gave, or opened.
    fileprivate func places(ofBreaksWith nested: [JudgedNested]) -> [String] {
        var places: [String] = []
        for change in nested.compactMap(\.change.value) {
            if change.hasBreaks { places.append("the inner request") }
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

extension GivenChange {
    fileprivate var hasBreaks: Bool {
        url.hasBreaks || method.hasBreaks || fields?.contains { $0.name.hasBreaks || $0.value.hasBreaks } == true
    }
}

extension GivenText {
    fileprivate var hasBreaks: Bool { bytes?.contains { $0 == 0x0D || $0 == 0x0A || $0 == 0 } == true }
}

extension String {
    /// What stands before a query or a fragment, and these.
    fileprivate var parts: (String, String) {
        let url = prefix { $0 != "?" && $0 != "#" }
        return (String(url), String(dropFirst(url.count)))
    }

    /// Up to where the path begins: `scheme://host`, or `scheme:`.
    fileprivate var root: String {
        guard let slashes = utf8.firstRange(of: "://".utf8) else { return String(prefix { $0 != ":" }) + ":" }
        return String(self[..<slashes.upperBound] + self[slashes.upperBound...].prefix { !"/?#".contains($0) })
    }

    /// Up to the last slash of the path.
    fileprivate var folder: String {
        let path = parts.0
        guard path.utf8.count > root.utf8.count, let slash = path.lastIndex(of: "/") else { return root + "/" }
        return String(path[...slash])
    }
}
