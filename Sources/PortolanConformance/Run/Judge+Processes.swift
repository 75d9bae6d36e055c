// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension Judge {
    /// Makes each check in a process of its own, `jobs` at a time, and tells what came of each, in the order in which they end.
    ///
    /// The processes are copies of this one (`fork(2)`), which must have no other thread than the one that calls: that of a command, not of a
    /// test.
    ///
    /// - Throws: where this process has other threads.
    public func judge(_ checks: [ConformanceCheck], jobs: Int, _ tell: (CheckResult) throws -> Void) throws {
        guard ProcessCensus.threads().count == 1 else { throw SeveralThreads() }
        var waiting = checks[...]
        var running: [Running] = []
        var names = StackNames()
        defer { for one in running { one.abandon() } }
        while !waiting.isEmpty || !running.isEmpty {
            while running.count < max(1, jobs), let check = waiting.popFirst() {
                do throws(Unjudged) {
                    running.append(try Running(self, check))
                } catch {
                    try tell(CheckResult(check.rule, .skipped, note: error.reason))
                }
            }
            for var one in Running.wait(&running) {
                // Under Valgrind, whose log tells of it, what is started here is as slow as all else.
                if memcheck == nil { one.nameCrash(by: &names, library: subject.library) }
                try tell(one)
            }
        }
    }

    public struct SeveralThreads: Error, CustomStringConvertible {
        public var description: String { "this process has several threads, and can't be copied for each check; make the checks in it" }
    }
}

/// A process that is copied about in lists.
private final class Running {
    private var process: CheckProcess?

    init(_ judge: Judge, _ check: ConformanceCheck) throws(Unjudged) {
        process = try CheckProcess.started(judge, check)
    }

    /// Waits until something happens, and gives what came of those that are over.
    static func wait(_ running: inout [Running]) -> [CheckResult] {
        var descriptors = running.map { pollfd(fd: $0.output, events: Int16(POLLIN), revents: 0) }
        let left = running.map(\.timeLeft).min() ?? .zero
        _ = unsafe poll(&descriptors, nfds_t(descriptors.count), Int32(clamping: max(left, .zero).nanoseconds / 1_000_000 + 1))
        var results: [CheckResult] = []
        running.removeAll { one in
            one.look()
            guard let result = one.resultIfOver() else { return false }
            results.append(result)
            return true
        }
        return results
    }

    private var output: Int32 { process?.output ?? -1 }
    private var timeLeft: Duration { process?.timeLeft ?? .zero }

    private func look() {
        process?.read()
        process?.endIfLate()
    }

    private func resultIfOver() -> CheckResult? {
        guard process?.isOver == true, var process = process.take() else { return nil }
        return process.result()
    }

    /// Ends the process without asking what came of it.
    func abandon() {
        guard var process = process.take() else { return }
        process.end()
        _ = process.result()
    }
}
