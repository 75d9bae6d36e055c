// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import Synchronization

/// CAN: whether a handler takes a request.
extension ConformanceCheck {
    static let questions: [ConformanceCheck] = [
        ConformanceCheck("CAN-01") { trial throws(Unjudged) in
            let instance: JudgedInstance
            do throws(Unjudged) {
                instance = try trial.instance()
            } catch {
                // A library that does not start is DESC's and REG's.
                if let problem = trial.handlerProblem { return trial.fail("the handler could not be made: \(problem)") }
                throw error
            }
            defer { if trial.areAllIdle { instance.end() } }
            for load in try trial.everyLoad() where try trial.handler(for: trial.request(load.url), of: instance) == nil {
                trial.fail("no handler of the plugin takes '\(load.url)', which the manifest names")
            }
        },
        ConformanceCheck("CAN-02") { trial throws(Unjudged) in
            let instance = try trial.instance()
            defer { if trial.areAllIdle { instance.end() } }
            for (index, handler) in instance.plugin.handlers.enumerated() where !handler.takesAnyScheme && handler.choosesRequests {
                let own = handler.schemes.compactMap(\.text)
                let others = own.flatMap { ["x\($0)", "\($0)x", "\($0).example"] } + ["http", "file", "data", "portolan-judge"]
                // The same but for the scheme, so that nothing else is a reason to refuse.
                let rests = try trial.everyLoad().prefix(4).map { $0.url.drop { $0 != ":" } } + ["://example.org/"]
                for scheme in Set(others).subtracting(own).sorted() {
                    for rest in rests {
                        // `try?` because not all rests go with all schemes.
                        guard let request = try? trial.request(scheme + rest) else { continue }
                        if try JudgedHandler(instance: instance, description: handler).canInit(request) {
                            trial.fail(
                                "handler \(index) takes \(request.url.shortDescription), and declares only \(own.joined(separator: ", "))"
                            )
                        }
                    }
                }
            }
        },
        ConformanceCheck("CAN-03", needsProcess: true) { trial throws(Unjudged) in
            let instance = try trial.instance()
            defer { if trial.areAllIdle { instance.end() } }
            for load in try trial.loads(.any) {
                guard let handler = try trial.handler(for: trial.request(load.url), of: instance) else { continue }
                let lent = try LentRequest(trial.request(load.url))
                instance.keep(lent)
                let (before, calls) = (ProcessCensus.taken(), instance.host.calls.count)
                let answers = Set((0..<1000).map { _ in handler.canInit(lent) })
                if answers.count > 1 { trial.fail("of 1000 times that '\(load.url)' was asked about, the answer was not always the same") }
                let more = instance.host.calls.dropFirst(calls).map(\.function)
                if let first = more.first { trial.fail("can_init called host.\(first), \(Words.count(more.count, "time")) in 1000") }
                trial.fail(ProcessCensus.taken().additions(since: before))
            }
        },
        ConformanceCheck("CAN-04") { trial throws(Unjudged) in
            let instance = try trial.instance()
            defer { if trial.areAllIdle { instance.end() } }
            var questions: [@Sendable () -> Bool] = []
            var (urls, alone) = ([String](), [Bool]())
            for load in try trial.loads(.any) {
                guard let handler = try trial.handler(for: trial.request(load.url), of: instance) else { continue }
                // … and one of the same scheme that it may refuse.
                for text in [load.url, "\(load.url.prefix { $0 != ":" })://judge.invalid/unknown"] where !urls.contains(text) {
                    let lent = try handler.lent(trial.request(text))
                    questions.append { handler.canInit(lent) }
                    (urls, alone) = (urls + [text], alone + [handler.canInit(lent)])
                }
            }
            guard !questions.isEmpty else { throw Unjudged("no handler takes a URL of the manifest (CAN-01)") }
            // The same at once, and then others.
            for offset in [0, 1] {
                let together = try Parallel.results(threads: 8) { [questions] thread in
                    questions.indices.map { index in
                        let place = (index + thread * offset) % questions.count
                        return (place, (0..<100).map { _ in questions[place]() })
                    }
                }
                for place in questions.indices {
                    let answers = together.joined().filter { $0.0 == place }.flatMap(\.1)
                    let others = answers.count { $0 != alone[place] }
                    guard others > 0 else { continue }
                    trial.fail("asked by eight threads at once, '\(urls[place])' got \(others) other answers of \(answers.count)")
                }
            }
        },
        ConformanceCheck("CAN-05") { trial throws(Unjudged) in
            let instance = try trial.instance()
            defer { if trial.areAllIdle { instance.end() } }
            for load in try trial.loads(.any) {
                guard let handler = try trial.handler(for: trial.request(load.url), of: instance) else { continue }
                let lent = try LentRequest(trial.request(load.url))
                instance.keep(lent)
                let times = (0..<101).map { _ in
                    let start = MonotonicTime.nanoseconds
                    _ = handler.canInit(lent)
                    return MonotonicTime.nanoseconds - start
                }
                let median = times.sorted()[50]
                if median > 5000 { trial.warn("can_init of '\(load.url)' took \(median) ns, the median of 101") }
            }
        },
        ConformanceCheck("CAN-06") { trial throws(Unjudged) in
            let instance = try trial.instance()
            defer { if trial.areAllIdle { instance.end() } }
            for load in try trial.loads(.any) {
                let request = try trial.request(load.url)
                guard let handler = try trial.handler(for: request, of: instance) else { continue }
                let scheme = load.url.prefix { $0 != ":" }
                let text = scheme.uppercased() + load.url.dropFirst(scheme.count)
                if !handler.canInit(try LentRequest(request, asked: text)) {
                    trial.fail("it takes '\(load.url)', and not where the caller wrote '\(scheme.uppercased())'")
                }
            }
        },
        ConformanceCheck("CAN-07") { trial throws(Unjudged) in
            let instance = try trial.instance()
            defer { if trial.areAllIdle { instance.end() } }
            for handler in instance.plugin.handlers {
                let judged = JudgedHandler(instance: instance, description: handler)
                for scheme in handler.takesAnyScheme ? ["http"] : handler.schemes.compactMap(\.text) {
                    for text in StrangeURL.all(scheme) {
                        guard let request = try? trial.request(text) else { continue }  // because the host refuses some of them itself
                        _ = try judged.canInit(request)
                        _ = try? judged.canonicalForm(of: request)  // because only whether it comes back is asked
                    }
                }
            }
        },
        ConformanceCheck("CAN-08") { trial throws(Unjudged) in
            let instance = try trial.instance()
            defer { if trial.areAllIdle { instance.end() } }
            let loads = try trial.loads(.any)
            for load in loads + loads {
                let request = try trial.request(load.url)
                for handler in instance.plugin.handlers {
                    _ = try JudgedHandler(instance: instance, description: handler).canInit(request, poisoning: true)
                }
            }
            // Whoever kept a pointer may use it later than in the next question.
            for load in loads { _ = try trial.follow(load, of: instance) }
        },
    ]
}
