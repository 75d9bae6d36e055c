// SPDX-License-Identifier: Apache-2.0

import CThreadTrace
import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension RuleCatalogue {
    static let faults: [ConformanceRule] = [
        .must(
            "FAULT-01", level: 4, needs: .succeeds,
            "If any allocation in init or in a load fails, the load fails with an error or gives the right result.",
            because: "Memory often runs out at the worst moment.",
            remedy: "Check the result of malloc."),
        .must(
            "FAULT-02", level: 4, needs: .succeeds,
            "If no file descriptor is free, the load fails with an error or gives the right result.",
            because: "Servers run close to their limits.",
            remedy: "Check the results of open and socket."),
        .must(
            "FAULT-03", level: 4, needs: .succeeds,
            "If no thread can be created, the load fails with an error or gives the right result.",
            because: "Containers have limits.",
            remedy: "Check the result of pthread_create."),
        .must(
            "FAULT-04", level: 4, needs: .succeeds,
            "If signals interrupt system calls all the time, the load gives the right result.",
            because: "Profilers and terminals send signals.",
            remedy: "Repeat the call on EINTR."),
        .must(
            "FAULT-05", level: 4, needs: .succeeds,
            "Writing to a closed pipe or socket does not kill the host.",
            because: "By default, SIGPIPE ends a process.",
            remedy: "Use MSG_NOSIGNAL."),
        .must(
            "FAULT-06", level: 4, needs: .succeeds,
            "If the temporary folder is full, the load fails with an error or gives the right result.",
            because: "Disks become full.",
            remedy: "Check the results of write and close."),
        .must(
            "FAULT-07", level: 4, needs: .any,
            "If any function of the host refuses once, the load fails with an error or gives the right result.",
            because: "Hosts have limits, too.",
            remedy: "Check the result of each call."),
    ]
}

/// FAULT, and SEC-04: an environment that refuses usual resources.
extension ConformanceCheck {
    static let faults: [ConformanceCheck] = [
        ConformanceCheck("SEC-04", needsProcess: true) { context throws(CheckSkipped) in
            let names = ["HOME", "TMPDIR", "LC_ALL", "LANG", "PATH", "LD_LIBRARY_PATH"]
            let hostile = [nil, "/nonexistent\n", "xx_XX.nothing", String(repeating: "x", count: 4096), "", "/nonexistent"]
            let before = names.map { name in unsafe getenv(name).map { unsafe String(cString: $0) } }
            let usual = try context.results()
            func set(_ values: [String?]) {
                for (name, value) in zip(names, values) {
                    if let value { unsafe setenv(name, value, 1) } else { unsafe unsetenv(name) }
                }
            }
            set(hostile)
            defer { set(before) }
            let found = try context.results()
            for (index, load) in try context.loads(.succeeds).enumerated() where found[index] != usual[index] && !context.varies(load) {
                context.fail("'\(load.url)' gave \(found[index].words) in a hostile environment, but \(usual[index].words) otherwise")
            }
        },
        ConformanceCheck("FAULT-02", needsProcess: true) { context throws(CheckSkipped) in
            let instance = try context.instance()
            let loads = try context.loads(.succeeds)
            let alone = try loads.map { load throws(CheckSkipped) in
                LoadResult(try context.perform(context.request(load.url), of: instance, CheckContext.script(for: load)))
            }
            var differing: [(ConformanceLoad, String)] = []
            var limit = rlimit()
            guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
                throw CheckSkipped("the limit of descriptors can't be read")
            }
            for free in 0..<3 {
                // The lowest free number is the number of the next descriptor.
                let next = dup(0)
                close(next)
                var none = limit
                none.rlim_cur = rlim_t(Int(next) + free)
                guard next >= 0, unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none) == 0 else {
                    throw CheckSkipped("the limit of descriptors can't be set")
                }
                defer { _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) }
                for (index, load) in loads.enumerated() {
                    guard let record = try context.settled(context.request(load.url), of: instance, CheckContext.script(for: load)) else {
                        context.fail("'\(load.url)' did not end when \(ValueFormatting.count(free, "descriptor")) could be opened")
                        continue
                    }
                    let found = LoadResult(record)
                    guard found != alone[index], record.failure?.value == nil else { continue }
                    differing.append(
                        (load, "gave \(found.words) when \(ValueFormatting.count(free, "descriptor")) could be opened, and no error"))
                }
            }
            // After the limit is restored, because `varies` performs loads.
            for (load, words) in differing where !context.varies(load) { context.fail("'\(load.url)' \(words)") }
            if context.areAllIdle { instance.end() }
        },
        ConformanceCheck("FAULT-04", needsProcess: true) { context throws(CheckSkipped) in
            let usual = try context.results()
            // No SA_RESTART: each millisecond, blocking calls return EINTR on every thread except these two and the
            // first, which does nothing.
            var (action, old) = (sigaction(), sigaction())
            unsafe action.__sigaction_handler.sa_handler = { _ in }
            guard unsafe sigaction(SIGUSR2, &action, &old) == 0 else { throw CheckSkipped("no signal handler could be set") }
            let runner = portolan_thread_number()
            let state = ConditionLock((isOver: false, hasEnded: false, sent: 0))
            do throws(LoadError) {
                try PlatformThread.start {
                    while !state.withLock(\.isOver) {
                        for thread in ProcessResources.threads() where ![runner, portolan_thread_number(), getpid()].contains(thread) {
                            if portolan_signal_thread(thread, SIGUSR2) == 0 { state.withLock { $0.sent += 1 } }
                        }
                        Polling.watch(.milliseconds(1))
                    }
                    state.withLockBroadcasting { $0.hasEnded = true }
                }
            } catch {
                throw CheckSkipped.lack(error.message)
            }
            defer {
                state.withLock { $0.isOver = true }
                state.wait { $0.hasEnded ? () : nil }
                unsafe sigaction(SIGUSR2, &old, nil)
            }
            // On a busy machine the signals come late: a round with few signals shows nothing.
            let end = MonotonicTime.now + context.patience
            let first = state.withLock(\.sent)
            var round = 0
            while round < 3 || state.withLock(\.sent) - first < 64 {
                guard round < 3 || MonotonicTime.now < end else { throw CheckSkipped("too few signals reached the load") }
                round += 1
                let found = try context.results()
                for (index, load) in try context.loads(.succeeds).enumerated() where found[index] != usual[index] && !context.varies(load) {
                    context.fail(
                        "'\(load.url)' gave \(found[index].words) when signals interrupted its calls, but \(usual[index].words) otherwise")
                }
            }
        },
    ]
}

extension CheckContext {
    /// The result of each load that succeeds, all in one new instance.
    fileprivate func results() throws(CheckSkipped) -> [LoadResult] {
        let instance = try instance()
        var results: [LoadResult] = []
        for load in try loads(.succeeds) {
            results.append(LoadResult(try perform(request(load.url), of: instance, Self.script(for: load))))
        }
        instance.end()
        return results
    }
}
