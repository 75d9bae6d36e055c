// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// NEST: nested loads.
extension RuleCatalogue {
    static let nesting: [CheckedRule] = [
        .must(
            "NEST-01", level: 2, isEnforced: true, needs: .nested,
            "A load opens its nested load through the host, which marks the nested request.",
            because: "Policies apply to the nested request, and it does not come back to the same handler.",
            remedy: "Open the nested load with portolan.nested/1."
        ) { context throws(CheckSkipped) in
            try context.eachNested(.loaded) { load, probedLoad throws(CheckSkipped) in
                guard let record = context.recordWhenIdle(probedLoad, within: context.loadTimeLimit), record.didFinish else {
                    throw load.unfinished
                }
                if probedLoad.client.state.withLock({ $0.nested.isEmpty }) {
                    context.fail("'\(load.url)' is tagged nested, but finished without opening a nested load by portolan.nested/1")
                }
            }
        },
        .must(
            "NEST-02", level: 2, needs: .nested,
            "If a nested load fails, its error is the cause of the outer load's error.",
            because: "The user must know which URL failed.",
            remedy: "Pass the result of nested->error as cause.",
            check: reportsNestedFailure([.failing(.accessDenied), .cut(after: 1)], "had failed")),
        .must(
            "NEST-03", level: 3, needs: .nested,
            "Redirects and challenges of a nested load are handled or passed on.",
            because: "The nested resource may be at another URL.",
            remedy: "Leave them to the host."),
        .must(
            "NEST-04", level: 3, needs: .nested,
            "A pause of the outer load also pauses the nested load.",
            because: "Otherwise the process keeps the whole body in memory.",
            remedy: "Do not read from the nested load while the outer load is paused."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.nested, isBlocking: false) { load, request, instance throws(CheckSkipped) in
                var script = CheckContext.script(for: load)
                // Gives the nested body in many pieces, so that some remain to be read during a pause.
                script.nestedPieces = .count(64)
                (script.pauses, script.pauseTime) = (.each, .milliseconds(2))
                let probedLoad = try context.make(request, of: instance, script)
                try probedLoad.start()
                guard let record = context.recordWhenIdle(probedLoad, within: context.loadTimeLimit) else {
                    return context.fail("'\(load.url)' did not end with a pause at each delivery")
                }
                let pieces = probedLoad.client.state.withLock(\.nested).map(\.pieces)
                if pieces.allSatisfy({ $0.all < 2 }) {
                    throw CheckSkipped.notApplicable("'\(load.url)' reads no nested body of two bytes or more")
                }
                let piecesInPause = pieces.reduce(0) { $0 + $1.inPause }
                if piecesInPause > 0 {
                    context.fail(
                        "'\(load.url)' read \(ValueFormatting.count(piecesInPause, "piece")) of its nested body while it was paused")
                }
                if record.ends.isEmpty { context.fail("'\(load.url)' emitted no end with a pause at each delivery") }
            }
        },
        .must(
            "NEST-05", level: 3, needs: .nested,
            "If the body of a nested load ends too early, at any byte, a load that reads to this end fails.",
            because: "Half an archive that looks complete is worse than none.",
            remedy: "If 'next' returns PORTOLAN_STOPPED, fail, with the error of the nested load as the cause."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.nested) { load, request, instance throws(CheckSkipped) in
                let length = try context.nestedBodyLength(load, request, of: instance)
                var script = CheckContext.script(for: load)
                script.nestedPieces = .count(8)
                var (finishes, missingErrors): ([Int], [Int]) = ([], [])
                // Cuts a short body after each byte, and a long body in about 64 places.
                for count in Set((0..<64).map { $0 * length / 64 } + [0, 1, length - 1]).sorted() where count < length {
                    script.nestedOutcome = .cut(after: count)
                    let probedLoad = try context.make(request, of: instance, script)
                    try probedLoad.start()
                    guard let record = context.recordWhenIdle(probedLoad, within: context.loadTimeLimit) else {
                        return context.fail("'\(load.url)' did not end when its nested body was cut after \(count) bytes")
                    }
                    // A load that needs only the first bytes, such as one member of an archive, does not reach the cut.
                    guard probedLoad.client.state.withLock(\.nested).contains(where: \.hasReportedFailure) else { continue }
                    if record.didFinish { finishes.append(count) } else if record.failure?.value == nil { missingErrors.append(count) }
                }
                func fail(_ phrase: String, _ counts: [Int]) {
                    if counts.isEmpty { return }
                    let places = "after \(ValueFormatting.list(counts)) of \(ValueFormatting.count(length, "byte"))"
                    context.fail("'\(load.url)' \(phrase) its nested load had failed \(places)")
                }
                fail("finished, although", finishes)
                fail("gave no error when", missingErrors)
            }
        },
        .must(
            "NEST-06", level: 4, needs: .nested,
            "A nested body that expands without end reaches a limit.",
            because: "A few bytes can expand until memory is full.",
            remedy: "Limit the ratio and the total size."),
        .must(
            "NEST-07", level: 3, isEnforced: true, needs: .nested,
            "If loads are nested deeper than the host's limit, the load fails with an error that says so.",
            because: "A URL can contain itself a thousand times.",
            remedy: "Pass on the error of the nested load.",
            check: reportsNestedFailure([.failing(.nestedTooDeep)], "was nested too deep", mayBeItsOwn: true)),
        .must(
            "NEST-08", level: 3, isEnforced: true, needs: .nested,
            "The load closes a nested load once, does not use it after that, and does not use its bytes after the next call of next.",
            because: "The memory of the bytes, and of a closed nested load with its response and its error, is freed.",
            remedy: """
                Forget the pointers when you close the nested load, and copy before what you need later. In C++, a destructor can close it \
                while an exception with its error is thrown.
                """
        ) { context throws(CheckSkipped) in
            try context.eachUse { load, record, use in
                let freedParts = Set(record.calls.flatMap(\.call.unreadableParts)).sorted()
                if !freedParts.isEmpty {
                    let parts = freedParts.joined(separator: "; ")
                    context.fail("'\(load.url)' passed on memory of its nested load that it did not borrow any more: \(parts)")
                }
                if use.closes > 1 { context.fail("'\(load.url)' closed its nested load \(use.closes) times") }
                if use.isClosedInDestroy { context.fail("'\(load.url)' closed its nested load in destroy; leave that to the host") }
                if use.usesAfterClose > 0 { context.fail("'\(load.url)' used its nested load after it had closed it") }
            }
        },
        .must(
            "NEST-09", level: 3, needs: .nested,
            "The result does not depend on the sizes of the pieces in which a nested load gives its body.",
            because: "A peer and a network choose the sizes: from one byte, without a largest size.",
            remedy: "Collect the bytes until a header or record is complete, and accept a piece of any size."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.nested) { load, request, instance throws(CheckSkipped) in
                let baseline = try context.baseline(load, request, of: instance)
                let length = try context.nestedBodyLength(load, request, of: instance)
                var script = baseline.script
                // Single bytes of a long body would take too long, so that the smallest pieces are a thousandth of it.
                let smallestSize = max(1, length / 1000)
                for size in [smallestSize, 7, 511, 4097, length - 1, 1 << 20] where size >= smallestSize && context.areAllLoadsIdle {
                    script.nestedPieces = .ofSize(size)
                    let probedLoad = try context.make(request, of: instance, script)
                    try probedLoad.start()
                    let record = context.recordWhenIdle(probedLoad, within: context.loadTimeLimit)
                    if record == nil, probedLoad.readsNestedBody(within: .seconds(1)) {
                        throw CheckSkipped(
                            "'\(load.url)' needs too long for many pieces of its nested body; give it more time with --timeout")
                    }
                    context.expectSame(record, as: baseline, "with its nested body in pieces of \(ValueFormatting.count(size, "byte"))")
                }
            }
        },
    ]

    /// Returns a check that makes nested loads fail in each of these ways. The error of the parent load must have a
    /// cause with the code of the failure, or, if `mayBeItsOwn`, have that code itself.
    private static func reportsNestedFailure(
        _ endings: [ClientScript.NestedOutcome], _ phrase: String, mayBeItsOwn: Bool = false
    ) -> ConformanceCheck.Body {
        { context throws(CheckSkipped) in
            for nestedOutcome in endings {
                try context.eachNested(nestedOutcome) { load, probedLoad throws(CheckSkipped) in
                    guard let record = context.recordWhenIdle(probedLoad, within: context.loadTimeLimit) else {
                        return context.fail("'\(load.url)' did not end when its nested load \(phrase)")
                    }
                    guard !probedLoad.client.state.withLock({ $0.nested.isEmpty }) else {
                        throw CheckSkipped("'\(load.url)' opened no nested load (NEST-01)")
                    }
                    // NEST-05 reports a load that finishes although its nested body is incomplete. A load that fails
                    // before it received the nested failure fails for another reason.
                    let sawNestedFailure = probedLoad.client.state.withLock(\.nested).contains(where: \.hasReportedFailure)
                    if case .cut = nestedOutcome, record.didFinish || load.error != nil || !sawNestedFailure { return }
                    guard let error = record.failure?.value else {
                        return context.fail("'\(load.url)' gave \(LoadResult(record).phrase) when its nested load \(phrase)")
                    }
                    let reportedCodes = error.causes.map(\.code) + (mayBeItsOwn ? [error.code] : [])
                    if let code = nestedOutcome.failure, !reportedCodes.contains(code.rawValue) {
                        context.fail(
                            "'\(load.url)': its nested load \(phrase), but "
                                + (mayBeItsOwn ? "its error has another code, and no such cause" : "its error has no such cause"))
                    }
                }
            }
        }
    }
}

extension ConformanceLoad {
    /// Why a load that does not finish cannot be checked. A load that should fail need not finish.
    fileprivate var unfinished: CheckSkipped {
        error == nil ? CheckSkipped("'\(url)' did not finish (LIFE-02)") : .notApplicable("'\(url)' should fail")
    }
}

extension ProbedLoad {
    /// Whether the load reads more of its nested bodies within the time limit.
    fileprivate func readsNestedBody(within limit: Duration) -> Bool {
        func pieceCount() -> Int { client.state.withLock(\.nested).reduce(0) { $0 + $1.pieces.all } }
        let before = pieceCount()
        return Polling.result(within: limit) { pieceCount() > before ? .done(true) : .notYet(false) }
    }
}

extension CheckContext {
    /// The number of bytes that a load reads from the nested load of which it reads most, if the nested bodies are
    /// complete.
    fileprivate func nestedBodyLength(_ load: ConformanceLoad, _ request: Request, of instance: ProbedInstance) throws(CheckSkipped) -> Int
    {
        let length = try nestedLoads(load, request, of: instance).map(\.pieces.bytes).max() ?? 0
        guard length > 0 else { throw CheckSkipped.notApplicable("'\(load.url)' reads no nested body") }
        return length
    }

    /// The body of the load's first nested load; empty if it has none.
    func nestedBody(_ load: ConformanceLoad, _ request: Request, of instance: ProbedInstance) throws(CheckSkipped) -> [UInt8] {
        try nestedLoads(load, request, of: instance).first?.body ?? []
    }

    private func nestedLoads(_ load: ConformanceLoad, _ request: Request, of instance: ProbedInstance) throws(CheckSkipped)
        -> [ProbedNestedLoad]
    {
        let probedLoad = try make(request, of: instance, Self.script(for: load))
        try probedLoad.start()
        guard recordWhenIdle(probedLoad, within: loadTimeLimit)?.didFinish == true else { throw load.unfinished }
        return probedLoad.client.state.withLock(\.nested)
    }

    /// Calls `body` with each load that is tagged nested, after its start.
    func eachNested(
        _ nestedOutcome: ClientScript.NestedOutcome, revokesMemory: Bool = false,
        _ body: (ConformanceLoad, ProbedLoad) throws(CheckSkipped) -> Void
    ) throws(CheckSkipped) {
        try eachLoad(.nested) { load, request, instance throws(CheckSkipped) in
            var script = Self.script(for: load)
            (script.nestedOutcome, script.revokesNestedMemory) = (nestedOutcome, revokesMemory)
            // A piece is borrowed only until the next one.
            if revokesMemory { script.nestedPieces = .count(4) }
            let probedLoad = try make(request, of: instance, script)
            try probedLoad.start()
            try body(load, probedLoad)
        }
    }

    /// Calls `body` with the use of each nested load: of loads that reach their end, of loads whose nested load fails,
    /// and of loads that are stopped. What a load borrows from its nested load becomes inaccessible when the borrow
    /// ends.
    fileprivate func eachUse(
        _ body: (ConformanceLoad, LoadRecord, (closes: Int, usesAfterClose: Int, isClosedInDestroy: Bool)) -> Void
    ) throws(CheckSkipped) {
        for nestedOutcome in [ClientScript.NestedOutcome.loaded, .cut(after: 1), .failing(.accessDenied), .silent] {
            try eachNested(nestedOutcome, revokesMemory: true) { load, probedLoad throws(CheckSkipped) in
                if nestedOutcome == .silent {
                    _ = probedLoad.client.state.wait(atMost: stopTimeLimit) { $0.nested.isEmpty && !$0.hasEnded ? nil : true }
                    probedLoad.stop()
                }
                guard let record = recordWhenIdle(probedLoad, within: loadTimeLimit) else {
                    throw CheckSkipped("'\(load.url)' did not end (LIFE-02)")
                }
                let nestedLoads = probedLoad.client.state.withLock(\.nested)
                guard !nestedLoads.isEmpty else { throw CheckSkipped("'\(load.url)' opened no nested load (NEST-01)") }
                for nested in nestedLoads { body(load, record, nested.use) }
            }
        }
    }
}
