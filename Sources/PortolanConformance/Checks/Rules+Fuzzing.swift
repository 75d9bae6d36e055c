// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins

/// FUZZ: random requests, schedules and settings.
extension RuleCatalogue {
    static let fuzzing: [CheckedRule] = [
        .must(
            "FUZZ-01", level: 4,
            "Random URLs with the plugin's schemes cause no crash and no hang.",
            because: "URLs come from unknown sources.",
            remedy: "Check each length and each digit.",
            check: fuzzed(count: 1000) { context, load, random in
                // Half of the requests use a host that the plugin knows, so that it examines the path.
                if random.next() % 2 == 0, let request = Request.parsed(load.url) {
                    let (length, isPlain) = (random.length(upTo: 13), random.next() % 2 == 0)
                    return Request.parsed(request.url.schemeAndAuthority + "/" + (isPlain ? random.token(length) : random.text(length)))
                }
                let scheme = random.element(of: context.schemes)
                let host = random.next() % 2 == 0 ? "//" + random.token(random.next() % (UInt64(8) << (random.next() % 8))) + "/" : ""
                return Request.parsed(scheme + ":" + host + random.text(UInt64(1) << (random.next() % 10)))
            }),
        .must(
            "FUZZ-02", level: 4, needs: .any,
            "Mutated URLs of the conformance section cause no crash and no hang.",
            because: "Mutated URLs reach deeper into the code than random ones.",
            remedy: "Check every value that you compute from the URL.",
            check: fuzzed(count: 400) { _, load, random in
                Request.parsed(random.mutation(of: load.url))
            }),
        .must(
            "FUZZ-03", level: 4, needs: .any,
            "Random methods, fields and properties cause no crash and no hang.",
            because: "Callers pass on values that they received from others.",
            remedy: "Check each value before you use it.",
            check: fuzzed(count: 300) { _, load, random in
                guard var request = Request.parsed(load.url) else { return nil }
                let method = random.next() % 2 == 0 ? random.element(of: safeMethods) : random.token(1 + random.length(upTo: 12))
                if let method = HTTPRequest.Method(method) { request.method = method }
                for _ in 0..<random.next() % 20 {
                    let name = random.next() % 2 == 0 ? random.element(of: knownFieldNames) : random.token(1 + random.length(upTo: 8))
                    if let name = HTTPField.Name(name) { request.fields[name] = random.token(random.length(upTo: 14)) }
                }
                for _ in 0..<random.next() % 8 {
                    let bytes = (0..<random.length(upTo: 12)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                    let values: [PropertyValue] = [
                        .text(random.token(random.length(upTo: 12))), .bytes(bytes), .integer(Int64(bitPattern: random.next())),
                        .real(Double(bitPattern: random.next())), .boolean(random.next() % 2 == 0),
                    ]
                    request.properties["org.example." + random.token(1 + random.next() % 8).lowercased()] =
                        random.element(of: values)
                }
                return request
            }),
        .must(
            "FUZZ-04", level: 4, needs: .succeeds,
            "Pauses, resumes, stops and responses to challenges in random order cause no crash and no hang.",
            because: "In practice, events come in unexpected orders.",
            remedy: "Write the load as a state machine."
        ) { context throws(CheckSkipped) in
            var random = SplitMix(seed: context.seed)
            try context.eachLoad(.any, isBlocking: false) { load, _, instance throws(CheckSkipped) in
                for _ in 0..<40 {
                    var (request, script) = try context.requestAndScript(load)
                    script.pauses = random.element(of: [.none, .first, .each])
                    script.pauseTime = random.next() % 4 == 0 ? nil : .microseconds(Int64(random.next() % 2000))
                    script.resumesWithoutPause = random.next() % 2 == 0
                    script.decision = random.next() % 2 == 0 ? .atOnce : .later
                    script.bodySource = random.next() % 2 == 0 ? .ready : .slow
                    script.followsRedirects = random.next() % 2 == 0
                    let probedLoad = try context.make(request, of: instance, script)
                    try probedLoad.start()
                    Polling.sleep(.microseconds(Int64(random.next() % 3000)))
                    probedLoad.stop()
                    if context.recordWhenIdle(probedLoad, within: .seconds(1)) == nil {
                        return context.fail("'\(load.url)' was still running after random pauses, resumes, responses and a stop")
                    }
                }
            }
        },
        .must(
            "FUZZ-05", level: 4,
            "Random configurations cause no crash and no hang.",
            because: "People write configurations by hand.",
            remedy: "Check types and limits in 'init'."
        ) { context throws(CheckSkipped) in
            var random = SplitMix(seed: context.seed)
            let plugin = try context.plugin()
            for round in 0...60 {
                for (_, configuration) in try round == 0 ? context.extremeConfigurations() : context.randomConfigurations(&random) {
                    guard case .started(let instance) = try ProbedInstance.start(plugin, configuration, on: context.instanceContext) else {
                        continue
                    }
                    if let load = try? context.loads(.succeeds).first {  // because a plugin without one is still started
                        let probedLoad = try context.make(context.request(load.url), of: instance, CheckContext.script(for: load))
                        try probedLoad.start()
                        probedLoad.stop()
                        if context.recordWhenIdle(probedLoad, within: .seconds(1)) == nil {
                            return context.fail("a load with a random configuration was still running one second after a stop")
                        }
                    }
                    instance.end()
                }
            }
        },
        .must(
            "FUZZ-06", level: 4, needs: .any,
            "Random bytes from a nested load or in an upload cause no crash and no hang.",
            because: "The bytes come from unknown sources.",
            remedy: "Use lengths when you parse."
        ) { context throws(CheckSkipped) in
            var random = SplitMix(seed: context.seed)
            func bytes() -> [UInt8] {
                (0..<1 << (random.next() % 13)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            }
            let instance = try context.instance()
            // `try?` because a manifest without one kind may have the other.
            let (nested, uploads) = ((try? context.loads(.nested)) ?? [], (try? context.loads(.uploads)) ?? [])
            guard !nested.isEmpty || !uploads.isEmpty else { throw CheckSkipped("the manifest names no URL tagged nested or uploads") }
            for _ in 0..<100 {
                for load in nested {
                    var script = CheckContext.script(for: load)
                    // Half of the bodies differ only a little from the right one, so that the plugin reads all of them.
                    script.nestedOutcome = random.next() % 2 == 0 ? .bytes(bytes()) : .mutated(random.next())
                    script.nestedPieces = .ofSize(1 << Int(random.next() % 12))
                    if try context.recordWhenIdle(context.request(load.url), of: instance, script) == nil {
                        return context.fail("'\(load.url)' did not end with a nested body of random bytes")
                    }
                }
                for load in uploads {
                    let body = bytes()
                    let (request, script) = try context.upload(load, [body], length: random.next() % 2 == 0 ? Int64(body.count) : nil)
                    if try context.recordWhenIdle(request, of: instance, script) == nil {
                        return context.fail("'\(load.url)' did not end with an upload of random bytes")
                    }
                }
            }
            instance.end()
        },
    ]

    /// Methods that change nothing (RFC 9110 §9.2.1), for requests of the manifest's own URLs.
    private static let safeMethods = ["GET", "HEAD", "OPTIONS"]
    /// Names of fields that plugins read. Random names rarely reach the code that reads a field.
    private static let knownFieldNames = [
        "Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Cache-Control", "Content-Length", "Content-Type", "Cookie",
        "Expect", "Host", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "Range", "Referer", "User-Agent",
    ]

    /// Returns a check that makes loads of random requests, starts a quarter of them, and stops loads that do not end.
    private static func fuzzed(
        count: Int, _ request: @escaping @Sendable (CheckContext, ConformanceLoad, inout SplitMix) -> Request?
    ) -> ConformanceCheck.Body {
        { context throws(CheckSkipped) in
            var random = SplitMix(seed: context.seed)
            let loads = try context.loads(.any)
            let instance = try context.instance()
            var hasChecked = false
            for round in 0..<count {
                try context.checkDeadline()
                guard let request = request(context, loads[round % loads.count], &random),
                    let handler = try context.handler(for: request, of: instance)
                else { continue }
                hasChecked = true
                let probedLoad = try ProbedLoad(RequestImage(request, handler.instance.argumentMemory), handler, ClientScript())
                // Starts one load in four. `round / loads.count` lets each URL be started in some of its rounds.
                if probedLoad.isMade, (round + round / loads.count) % 4 == 0 {
                    try probedLoad.start()
                    if !probedLoad.waitUntilIdle(.milliseconds(20)) { probedLoad.stop() }
                }
                if context.recordWhenIdle(probedLoad, within: .seconds(1)) == nil {
                    return context.fail("\(request.url.shortDescription) was still running one second after a stop")
                }
            }
            instance.end()
            if !hasChecked { throw CheckSkipped("its handlers accept no random URL") }
        }
    }
}

extension CheckContext {
    /// The schemes of the manifest, or else of the URLs in it; at least one.
    fileprivate var schemes: [String] {
        if case .only(let schemes)? = target.manifest?.manifest.schemes, !schemes.isEmpty { return schemes }
        return target.loads.map { String($0.url.prefix { $0 != ":" }) }
    }
}

extension Request {
    fileprivate static func parsed(_ text: String) -> Request? {
        // `try?` because a text that is no URL never reaches a plugin.
        (try? URLRecord(parsing: text)).map { Request(url: $0) }
    }
}

extension SplitMix {
    /// Returns a random length below a random power of two, at most 2 to the power of `exponent`. So short lengths are
    /// as frequent as long ones.
    fileprivate mutating func length(upTo exponent: UInt64) -> UInt64 { next() % (1 << (1 + next() % exponent)) }

    fileprivate mutating func text(_ count: UInt64) -> String {
        String(decoding: (0..<count).map { _ in UInt8(0x21 + next() % 94) }, as: UTF8.self)
    }

    fileprivate mutating func token(_ count: UInt64) -> String {
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-".utf8)
        return String(decoding: (0..<count).map { _ in element(of: letters) }, as: UTF8.self)
    }

    /// Returns `url` with changed, removed or inserted bytes after its scheme.
    fileprivate mutating func mutation(of url: String) -> String {
        var bytes = Array(url.utf8)
        let schemeEnd = (bytes.firstIndex(of: UInt8(ascii: ":")) ?? 0) + 1
        for _ in 0...next() % 4 {
            let place = schemeEnd + Int(next() % UInt64(bytes.count - schemeEnd + 1))
            switch next() % 5 {
            case 0: bytes.insert(UInt8(0x21 + next() % 94), at: place)
            case 1: if place < bytes.count { bytes.remove(at: place) }
            case 2: if place < bytes.count { bytes[place] = UInt8(0x21 + next() % 94) }
            case 3: bytes.insert(contentsOf: Array("%00%ff%2e%2e%2f".utf8), at: place)
            default: bytes.insert(contentsOf: [UInt8](repeating: UInt8(0x61 + next() % 26), count: 1 << Int(next() % 12)), at: place)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
