// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import Synchronization

/// CAN: whether a handler accepts a request.
extension RuleCatalogue {
    static let canInit: [CheckedRule] = [
        .must(
            "CAN-01", level: 1, needs: .any,
            "The handler accepts every URL of the conformance section.",
            because: "Users first try the URLs that the manifest shows.",
            remedy: "Correct can_init or the manifest."
        ) { context throws(CheckSkipped) in
            let instance: ProbedInstance
            do throws(CheckSkipped) {
                instance = try context.instance()
            } catch {
                // DESC and REG report a library that does not start.
                if let problem = context.handlerProblem { return context.fail("the handler could not be made: \(problem)") }
                throw error
            }
            defer { if context.areAllLoadsIdle { instance.end() } }
            for load in try context.everyLoad() where try context.handler(for: context.request(load.url), of: instance) == nil {
                context.fail("no handler of the plugin accepts '\(load.url)', which the manifest names")
            }
        },
        .must(
            "CAN-02", level: 1, isEnforced: true,
            "The handler refuses schemes that it does not declare. An interposer declares any scheme.",
            because: "Otherwise it would load requests that belong to other handlers.",
            remedy: "Compare the scheme with your own first, or set PORTOLAN_ANY_SCHEME and declare that in the manifest."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            defer { if context.areAllLoadsIdle { instance.end() } }
            for (index, handler) in instance.plugin.handlers.enumerated() where !handler.takesAnyScheme && handler.choosesRequests {
                let own = handler.schemes.compactMap(\.text)
                let others = own.flatMap { ["x\($0)", "\($0)x", "\($0).example"] } + ["http", "file", "data", "portolan-judge"]
                // URLs that differ only in their scheme, so that there is no other reason to refuse them.
                let rests = try context.everyLoad().prefix(4).map { $0.url.drop { $0 != ":" } } + ["://example.org/"]
                for scheme in Set(others).subtracting(own).sorted() {
                    for rest in rests {
                        // `try?` because some combinations are no URL.
                        guard let request = try? context.request(scheme + rest) else { continue }
                        if try ProbedHandler(instance: instance, description: handler).canInit(request) {
                            context.fail(
                                "handler \(index) accepts \(request.url.shortDescription), but declares only \(own.joined(separator: ", "))"
                            )
                        }
                    }
                }
            }
        },
        .must(
            "CAN-03", level: 2, needs: .any,
            "can_init always returns the same result for a request. It calls nothing of the host and opens no file descriptor.",
            because: "The host calls can_init for every request, also for requests that are never loaded.",
            remedy: "Only read the request. Open nothing and remember nothing.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            defer { if context.areAllLoadsIdle { instance.end() } }
            for load in try context.loads(.any) {
                guard let handler = try context.handler(for: context.request(load.url), of: instance) else { continue }
                let requestImage = try RequestImage(context.request(load.url))
                instance.keep(requestImage)
                let (before, calls) = (ProcessResources.snapshot(), instance.host.calls.count)
                let results = Set((0..<1000).map { _ in handler.canInit(requestImage) })
                if results.count > 1 {
                    context.fail("1000 calls of can_init for '\(load.url)' did not all return the same result")
                }
                let hostCalls = instance.host.calls.dropFirst(calls).map(\.function)
                if let first = hostCalls.first {
                    context.fail("can_init called host.\(first), \(ValueFormatting.count(hostCalls.count, "time")) in 1000 calls")
                }
                context.fail(ProcessResources.snapshot().additions(since: before))
            }
        },
        .must(
            "CAN-04", level: 3, needs: .any,
            "can_init works on any thread, and on eight threads at the same time.",
            because: "Requests come from every thread of a program.",
            remedy: "Change no shared memory in can_init."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            defer { if context.areAllLoadsIdle { instance.end() } }
            var calls: [@Sendable () -> Bool] = []
            var (urls, aloneResults) = ([String](), [Bool]())
            for load in try context.loads(.any) {
                guard let handler = try context.handler(for: context.request(load.url), of: instance) else { continue }
                // Also asks about a URL of the same scheme that the handler may refuse.
                for text in [load.url, "\(load.url.prefix { $0 != ":" })://judge.invalid/unknown"] where !urls.contains(text) {
                    let requestImage = try handler.reusableImage(of: context.request(text))
                    calls.append { handler.canInit(requestImage) }
                    (urls, aloneResults) = (urls + [text], aloneResults + [handler.canInit(requestImage)])
                }
            }
            guard !calls.isEmpty else { throw CheckSkipped("no handler accepts a URL of the manifest (CAN-01)") }
            // First asks about the same request on all threads, then about different ones.
            for offset in [0, 1] {
                let concurrentResults = try Parallel.results(threads: 8) { [calls] thread in
                    calls.indices.map { index in
                        let place = (index + thread * offset) % calls.count
                        return (place, (0..<100).map { _ in calls[place]() })
                    }
                }
                for place in calls.indices {
                    let results = concurrentResults.joined().filter { $0.0 == place }.flatMap(\.1)
                    let others = results.count { $0 != aloneResults[place] }
                    guard others > 0 else { continue }
                    context.fail(
                        "on eight threads at the same time, \(others) of \(results.count) calls of can_init for '\(urls[place])' had another result"
                    )
                }
            }
        },
        .should(
            "CAN-05", level: 5, needs: .any,
            "can_init takes less than 5 microseconds.",
            because: "Every load waits for can_init.",
            remedy: "Compare bytes. Compile no pattern and read no file."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            defer { if context.areAllLoadsIdle { instance.end() } }
            for load in try context.loads(.any) {
                guard let handler = try context.handler(for: context.request(load.url), of: instance) else { continue }
                let requestImage = try RequestImage(context.request(load.url))
                instance.keep(requestImage)
                let times = (0..<101).map { _ in
                    let start = MonotonicTime.nanoseconds
                    _ = handler.canInit(requestImage)
                    return MonotonicTime.nanoseconds - start
                }
                let median = times.sorted()[50]
                if median > 5000 { context.warn("can_init of '\(load.url)' took \(median) ns, the median of 101") }
            }
        },
        .must(
            "CAN-06", level: 2, needs: .any,
            "can_init returns the same result whether the caller writes the scheme in upper or in lower case.",
            because: "Schemes are case-insensitive (RFC 3986, section 3.1).",
            remedy: "Read request->scheme, which is in lower case, instead of request->url."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            defer { if context.areAllLoadsIdle { instance.end() } }
            for load in try context.loads(.any) {
                let request = try context.request(load.url)
                guard let handler = try context.handler(for: request, of: instance) else { continue }
                let scheme = load.url.prefix { $0 != ":" }
                let text = scheme.uppercased() + load.url.dropFirst(scheme.count)
                if !handler.canInit(try RequestImage(request, originalURL: text)) {
                    context.fail("it accepts '\(load.url)', but not if the caller writes '\(scheme.uppercased())'")
                }
            }
        },
        .must(
            "CAN-07", level: 2,
            "can_init returns a result for empty, malformed, very long and unusual URLs. It never crashes.",
            because: "URLs come from pages, mails and terminals.",
            remedy: "Check each length before you read. Do not copy into a buffer of fixed size."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            defer { if context.areAllLoadsIdle { instance.end() } }
            for handler in instance.plugin.handlers {
                let probedHandler = ProbedHandler(instance: instance, description: handler)
                for scheme in handler.takesAnyScheme ? ["http"] : handler.schemes.compactMap(\.text) {
                    for text in MalformedURLSamples.all(scheme) {
                        guard let request = try? context.request(text) else { continue }  // because the host refuses some of them itself
                        _ = try probedHandler.canInit(request)
                        _ = try? probedHandler.canonicalForm(of: request)  // because only the return of the call matters
                    }
                }
            }
        },
        .must(
            "CAN-08", level: 3,
            "can_init keeps no pointer into the request.",
            because: "The request is borrowed during the call. The host reuses its memory afterwards.",
            remedy: "Copy what you need later. It is better to need nothing."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            defer { if context.areAllLoadsIdle { instance.end() } }
            let loads = try context.loads(.any)
            for load in loads + loads {
                let request = try context.request(load.url)
                for handler in instance.plugin.handlers {
                    _ = try ProbedHandler(instance: instance, description: handler).canInit(request, poisoning: true)
                }
            }
            // A plugin that retained a pointer can use it later than in the next call.
            for load in loads { _ = try context.follow(load, of: instance) }
        },
        .must(
            "CAN-09", level: 2, isEnforced: true,
            "The host does not ask a handler about a request that the handler itself has re-issued.",
            because: "An interposer would wrap itself without end.",
            remedy: "Do nothing. The host skips the handler."),
    ]
}
