// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins

/// The URLs that the manifest describes, and how to load them.
extension CheckContext {
    /// The loads that are examples of `scenario`.
    ///
    /// - Throws: If there are none.
    func loads(_ scenario: ConformanceRule.Scenario) throws(CheckSkipped) -> [ConformanceLoad] {
        guard target.manifest != nil || !target.loads.isEmpty else {
            throw CheckSkipped(
                "\(target.library == nil ? "the handler was given no URLs" : "the library was named without a manifest"), so no URL is known"
            )
        }
        var matchingLoads = target.loads.filter { $0.isLoadable && Self.isExample($0, of: scenario) }
        // Every load of the plugin can need a credential or an upload body. The script answers the challenges.
        if matchingLoads.isEmpty, scenario == .succeeds {
            matchingLoads = target.loads.filter { $0.isLoadable && $0.succeedsWithCredentialOrBody }
        }
        // Large loads cost time, and show no more than small loads, except in the checks of large loads.
        let loadsWithoutLarge = scenario == .large ? matchingLoads : matchingLoads.filter { !$0.tags.contains(.large) }
        let selectedLoads = loadsWithoutLarge.isEmpty ? matchingLoads : loadsWithoutLarge
        guard !selectedLoads.isEmpty else {
            let phrase = Self.phrases[scenario] ?? "of that kind"
            let reason = missingServer(of: target.loads.filter { Self.isExample($0, of: scenario) })
            throw CheckSkipped(reason.map { "every URL \(phrase) needs \($0)" } ?? "the manifest names no URL \(phrase)")
        }
        return selectedLoads
    }

    /// Why the first of the loads that needs a server can't be loaded, as in `'cache': it ended with status 1`.
    func missingServer(of loads: [ConformanceLoad]) -> String? {
        guard let need = loads.first(where: { !$0.needs.isEmpty })?.needs.first else { return nil }
        return "'\(need)': "
            + (target.missingServers[need] ?? "no entry of 'services' describes it; start it, and add --have NAME=HOST:PORT")
    }

    /// All loads, including those whose needs are not met.
    func everyLoad() throws(CheckSkipped) -> [ConformanceLoad] {
        guard !target.loads.isEmpty else { throw CheckSkipped("there is no conformance section, so no URL is known") }
        return target.loads
    }

    /// Whether the load is an example of `scenario`.
    private static func isExample(_ load: ConformanceLoad, of scenario: ConformanceRule.Scenario) -> Bool {
        let isPlain = load.tags.isDisjoint(with: [.hangs, .challenges, .cancelsChallenge, .uploads, .redirects])
        switch scenario {
        case .any: return !load.tags.contains(.hangs)
        case .succeeds: return isPlain && load.error == nil
        case .fails: return load.error != nil && !load.tags.contains(.hangs)
        case .empty: return load.length == 0 && load.error == nil && isPlain
        case .large, .redirects, .challenges, .cancelsChallenge, .uploads, .nested, .hangs:
            return load.tags.contains { $0.rawValue == scenario.rawValue }
        case .storable: return load.error == nil && load.tags.isDisjoint(with: [.hangs, .cancelsChallenge, .uploads, .redirects])
        case .setting: return false
        }
    }

    private static let phrases: [ConformanceRule.Scenario: String] = [
        .any: "that could be loaded", .succeeds: "that succeeds", .fails: "that fails", .large: "tagged large",
        .empty: "with an empty body", .redirects: "tagged redirects", .challenges: "tagged challenges",
        .cancelsChallenge: "tagged cancelsChallenge", .uploads: "tagged uploads",
        .nested: "tagged nested", .hangs: "tagged hangs", .storable: "that succeeds",
    ]

    func request(_ text: String) throws(CheckSkipped) -> Request {
        do throws(URLSyntaxError) {
            return Request(url: try URLRecord(parsing: text))
        } catch {
            throw CheckSkipped("the URL '\(text)' does not parse: \(error)")
        }
    }

    /// The client script with the credential that the manifest gives for the load.
    static func script(for load: ConformanceLoad) -> ClientScript {
        var script = ClientScript()
        if let credential = load.credential {
            script.answer = { _ in .use(user: credential.username, password: credential.password) }
        }
        return script
    }

    /// The handler that the host would choose: the last one that declares the scheme and accepts the request.
    func handler(for request: Request, of instance: ProbedInstance) throws(CheckSkipped) -> ProbedHandler? {
        try instanceContext.steps.require(.canInit)
        let requestImage = try RequestImage(request, instance.argumentMemory)
        instance.keep(requestImage)
        return handler(for: requestImage, of: instance)
    }

    private func handler(for requestImage: RequestImage, of instance: ProbedInstance) -> ProbedHandler? {
        let scheme = String(requestImage.request.url.scheme)
        return instance.plugin.handlers.reversed().lazy
            .filter { $0.takesAnyScheme || $0.schemes.contains { $0.text == scheme } }
            .map { ProbedHandler(instance: instance, description: $0) }
            .first { handler in instance.callLog.entering(LoadFunction.canInit.rawValue) { handler.canInit(requestImage) } }
    }

    /// Makes a load of `request`, and does not start it.
    ///
    /// - Throws: Also if most of the check's time is over (``checkDeadline()``), or if a load of this URL hung before.
    func make(_ request: Request, of instance: ProbedInstance, _ script: ClientScript = ClientScript()) throws(CheckSkipped) -> ProbedLoad {
        try checkDeadline()
        try instanceContext.steps.require(.canInit)
        if hungLoads.contains(request.url.string, of: target.loads) {
            throw CheckSkipped("\(request.url.shortDescription) did not end in an earlier check; LIFE-02 reports it")
        }
        let requestImage = try RequestImage(request, instance.argumentMemory)
        guard let handler = handler(for: requestImage, of: instance) else {
            instance.keep(requestImage)
            throw CheckSkipped("no handler accepts \(request.url.shortDescription) (CAN-01)")
        }
        return try ProbedLoad(requestImage, handler, script)
    }

    /// Performs a load of `request` from `make` to `destroy`, without following redirects.
    ///
    /// - Throws: Also if the load does not end in time, which LIFE-02 reports.
    func perform(
        _ request: Request, of instance: ProbedInstance, _ script: ClientScript = ClientScript(), within limit: Duration? = nil
    ) throws(CheckSkipped) -> LoadRecord {
        let probedLoad = try make(request, of: instance, script)
        let isUsualTime = limit == nil
        let limit = limit ?? loadTimeLimit
        try probedLoad.start()
        guard probedLoad.waitUntilIdle(limit) else {
            areAllLoadsIdle = false
            if isUsualTime, script.isUndisturbed, request.method == .get, request.body == nil {
                hungLoads.insert(request.url.string, of: target.loads)
            }
            throw CheckSkipped(
                "\(request.url.shortDescription) did not end within \(ValueFormatting.time(limit)) (LIFE-02): \(probedLoad.record.summary)")
        }
        probedLoad.destroy()
        return probedLoad.record
    }

    /// Does the same as ``perform(_:of:_:within:)`` on this thread, without a time limit. That costs less, which
    /// matters for many loads.
    func performOnThisThread(_ request: Request, of instance: ProbedInstance, _ script: ClientScript) throws(CheckSkipped) -> LoadRecord {
        let probedLoad = try make(request, of: instance, script)
        probedLoad.runOnThisThread()
        probedLoad.destroy()
        return probedLoad.record
    }

    /// Does the same as ``perform(_:of:_:within:)``, and follows redirects within the plugin. Returns the records of
    /// all loads in order.
    func follow(
        _ load: ConformanceLoad, of instance: ProbedInstance, _ script: ClientScript? = nil, within limit: Duration? = nil
    ) throws(CheckSkipped) -> [LoadRecord] {
        var (request, records) = (try request(load.url), [LoadRecord]())
        while records.count <= 20 {
            let record = try perform(request, of: instance, script ?? Self.script(for: load), within: limit)
            records.append(record)
            guard let redirect = record.calls.first(where: \.isFollowedRedirect),
                case .url(let url) = redirect.redirectTarget(from: request),
                try handler(for: Request(url: url), of: instance) != nil
            else { break }
            request = Request(url: url)
        }
        return records
    }

    /// Performs each of `loads`, and follows their redirects.
    func followAll(_ loads: [ConformanceLoad], of instance: ProbedInstance) throws(CheckSkipped) {
        for load in loads { _ = try follow(load, of: instance) }
    }

    /// Performs each load of `scenario` in one new instance, and calls `body` with each record.
    func eachRecord(
        _ scenario: ConformanceRule.Scenario, _ body: (ConformanceLoad, LoadRecord) throws(CheckSkipped) -> Void
    ) throws(CheckSkipped) {
        let loads = try loads(scenario)
        let instance = try instance()
        var (checkedRecordCount, skipReason) = (0, CheckSkipped?.none)
        for load in loads {
            do throws(CheckSkipped) {
                for record in try follow(load, of: instance) {
                    checkedRecordCount += 1
                    try body(load, record)
                }
            } catch {
                skipReason = error
            }
        }
        if areAllLoadsIdle { instance.end() }
        // One URL that cannot be checked does not hide the findings of the others. But without findings the check does
        // not pass.
        if let skipReason, checkedRecordCount == 0 || findings.isEmpty { throw skipReason }
    }
}

extension ConformanceLoad {
    /// Whether the load succeeds if its challenges are answered.
    fileprivate var succeedsWithCredentialOrBody: Bool {
        error == nil && tags.isDisjoint(with: [.hangs, .cancelsChallenge, .redirects]) && (!tags.contains(.challenges) || credential != nil)
    }
    /// Whether the load has no unmet need, and its body is small enough for any check.
    var isLoadable: Bool { needs.isEmpty && !isHuge }
    /// Whether the length of the body exceeds 32 bits.
    var isHuge: Bool { length ?? 0 > UInt32.max }
}
