// SPDX-License-Identifier: Apache-2.0

import CThreadTrace
import HTTPTypes
import PortolanCore
import PortolanPlugins
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// FAULT, the part in which the system or the host says no: memory, threads, space, peers, and functions of the host.
extension ConformanceCheck {
    static let refusals: [ConformanceCheck] = [
        refused("FAULT-01", .memory, "allocation") { file in
            file.hasSwift ? "there is Swift in the library, whose runtime ends the process where there is no memory" : nil
        },
        refused("FAULT-03", .threads, "thread") { _ in nil },
        ConformanceCheck("FAULT-05", needsProcess: true) { trial throws(Unjudged) in
            // As a program has it that knows nothing of sockets (`signal(7)`): it ends.
            signal(SIGPIPE, SIG_DFL)
            let before = Set(ProcessCensus.descriptors().keys)
            try trial.eachLoad(.any) { load, _, instance throws(Unjudged) in
                for stops in [false, true] {
                    let closed = Mutex(false)
                    let slot = Mutex<JudgedLoad?>(nil)
                    let (request, plain) = try trial.scene(load)
                    var script = plain
                    script.whileDelivering = { index, call in
                        letPipesKill()
                        guard index == 0 else { return }
                        for number in ProcessCensus.descriptors().keys where !before.contains(number) {
                            if shutdown(number, Int32(SHUT_RDWR)) == 0 { closed.withLock { $0 = true } }
                        }
                        // From within the call, on this thread, whose signals are those of the program: a stop may come on any.
                        if stops, !call.isEnd { slot.withLock(\.self)?.stop() }
                    }
                    let made = try trial.make(request, of: instance, script)
                    slot.withLock { $0 = made }
                    defer { slot.withLock { $0 = nil } }
                    try made.start()
                    guard trial.settled(made, within: trial.patience) != nil else {
                        return trial.fail("'\(load.url)' did not end when its sockets had been shut down")
                    }
                    guard closed.withLock(\.self) else { throw Unjudged.other("'\(load.url)' has no socket open at its first event") }
                }
            }
        },
        ConformanceCheck("FAULT-06", needsProcess: true) { trial throws(Unjudged) in
            // No file may grow: write(2) gives EFBIG, as it gives ENOSPC where the disk is full.
            var (action, old) = (sigaction(), sigaction())
            unsafe action.__sigaction_handler.sa_handler = SIG_IGN
            var (none, limit) = (rlimit(), rlimit())
            let file = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            guard unsafe sigaction(SIGXFSZ, &action, &old) == 0, unsafe getrlimit(file, &limit) == 0 else {
                throw Unjudged("the limit of files can't be read")
            }
            defer { unsafe sigaction(SIGXFSZ, &old, nil) }
            try trial.eachLoad(.succeeds) { load, request, instance throws(Unjudged) in
                let alone = LoadResult(try trial.perform(request, of: instance, Trial.script(for: load)))
                none = limit
                none.rlim_cur = 0
                guard unsafe setrlimit(file, &none) == 0 else { throw Unjudged("the limit of files can't be set") }
                defer { _ = unsafe setrlimit(file, &limit) }
                guard let record = try trial.settled(request, of: instance, Trial.script(for: load)) else {
                    return trial.fail("'\(load.url)' did not end where no file could grow")
                }
                trial.expect(record, alone, "'\(load.url)'", "where no file can grow")
            }
        },
        ConformanceCheck("FAULT-07") { trial throws(Unjudged) in
            let plugin = try trial.plugin()
            let loads = try trial.loads(.any)
            for offered in JudgeHost.allExtensions.map({ JudgeHost.allExtensions.subtracting([$0]) }) + [[]] {
                let start = try JudgedInstance.start(plugin, trial.configuration(), offering: offered, on: trial.bench)
                guard case .started(let instance) = start else { continue }
                for load in loads {
                    let (request, script) = try trial.scene(load)
                    guard let record = try trial.settled(request, of: instance, script) else {
                        trial.fail(
                            "'\(load.url)' did not end with a host that offers \(offered.isEmpty ? "nothing" : offered.sorted().joined())")
                        continue
                    }
                    if record.ends.isEmpty, record.failure == nil {
                        trial.fail(
                            "'\(load.url)' came to no end with a host that offers \(offered.isEmpty ? "nothing" : offered.sorted().joined())"
                        )
                    }
                }
                if trial.areAllIdle { instance.end() }
            }
        },
        ConformanceCheck("ERR-07", needsProcess: true) { trial throws(Unjudged) in
            let library = try trial.library()
            _ = RefusingSystem.serve(.end, to: library)
            let instance = try trial.instance()
            let before = Surroundings.taken()
            for load in try trial.loads(.any) {
                for method in ["GET", "HEAD", "DELETE", "JUDGE"] {
                    for rest in ["", "/judge/nothing-there", "?judge=%00%ff", "%00", "/%0d%0a"] {
                        // `try?` because a text that is no URL never reaches a plugin.
                        guard var request = try? trial.request(load.url + rest) else { continue }
                        request.method = .init(method) ?? .get
                        guard let handler = try trial.handler(for: request, of: instance) else { continue }
                        let made = try JudgedLoad(request, handler, Trial.script(for: load))
                        try made.start()
                        let isIdle = made.waitUntilIdle(trial.shortPatience)
                        if let function = RefusingSystem.triedToEndBy {
                            return trial.fail("\(method) of \(request.url.shortDescription) called \(function)")
                        }
                        if !isIdle { made.stop() }
                        guard trial.settled(made, within: trial.shortPatience) != nil else {
                            throw Unjudged("\(request.url.shortDescription) did not come to rest after a stop (LIFE-06)")
                        }
                    }
                }
            }
            trial.fail(Surroundings.taken().changes(since: before).map { "when its loads had ended, \($0)" })
            instance.end()
        },
    ]

    /// The threads of a loader keep SIGPIPE out, and those of other hosts need not.
    private static func letPipesKill() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    /// Each load with its n-th call for `resource` refused, and with all from the n-th on, for every n.
    private static func refused(
        _ id: String, _ resource: RefusingSystem.Resource, _ noun: String, unless objection: @escaping @Sendable (LibraryFile) -> String?
    ) -> ConformanceCheck {
        ConformanceCheck(id, needsProcess: true) { trial throws(Unjudged) in
            if let objection = objection(try LibraryFile(at: trial.libraryPath())) { throw Unjudged(objection) }
            guard RefusingSystem.serve(resource, to: try trial.library()) else {
                throw Unjudged("it does not apply: the library asks the system for no \(noun)")
            }
            try trial.eachLoad(.succeeds) { load, request, instance throws(Unjudged) in
                let script = Trial.script(for: load)
                _ = try trial.perform(request, of: instance, script)
                RefusingSystem.count()
                let alone = LoadResult(try trial.perform(request, of: instance, script))
                let count = RefusingSystem.callCount
                guard count > 0 else { throw Unjudged.other("'\(load.url)' asks the system for no \(noun)") }
                let before = ProcessCensus.taken()
                for place in 1...min(count, 100) {
                    for last in [place, Int.max - 1] {
                        RefusingSystem.refuse(place...last)
                        defer { RefusingSystem.count() }
                        let words =
                            last == place ? "where \(noun) \(place) is refused" : "where each \(noun) from the \(place). on is refused"
                        let made: JudgedLoad
                        do throws(Unjudged) {
                            made = try trial.make(request, of: instance, script)
                        } catch {
                            // It does not take the request then, which is an answer.
                            continue
                        }
                        try made.start()
                        guard let record = trial.settled(made, within: trial.patience) else {
                            return trial.fail("'\(load.url)' did not end \(words)")
                        }
                        trial.expect(record, alone, "'\(load.url)'", words)
                    }
                }
                let left = ProcessCensus.settledAdditions(since: before, within: .seconds(1))
                trial.fail(left.map { "'\(load.url)', where \(noun)s are refused: \($0)" })
            }
        }
    }
}

extension Trial {
    /// Fails where a load came neither to an error nor to what it comes to otherwise.
    fileprivate func expect(_ record: LoadRecord, _ usual: LoadResult, _ url: String, _ words: String) {
        let found = LoadResult(record)
        guard found != usual, record.failure?.value == nil else { return }
        fail("\(url) gives \(found.words) \(words), and no error; else \(usual.words)")
    }
}
