// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins

/// Rules about single loads and their callers: REDIR and PROP.
extension RuleCatalogue {
    static let properties: [CheckedRule] = [
        .must(
            "PROP-01", level: 2, needs: .redirects,
            "If the plugin re-issues a request, it keeps the properties that it does not know.",
            because: "Those properties belong to another handler.",
            remedy: "Set only your own properties in portolan_change."
        ) { context throws(CheckSkipped) in
            let name = "org.example.judge.unknown"
            try context.eachLoad(.redirects) { load, request, instance throws(CheckSkipped) in
                var request = request
                request.properties[name] = .text("kept")
                let record = try context.perform(request, of: instance, CheckContext.script(for: load))
                _ = try record.redirectIndex(load)
                for case .redirect(let change, _) in record.calls.map(\.call) {
                    guard change.value?.propertyNames?.contains(where: { $0.text == name }) == true else { continue }
                    context.fail("'\(load.url)' changes a property of the request that it does not know")
                }
            }
        },
        .must(
            "PROP-02", level: 2, isEnforced: true,
            "If a property has the wrong type, the load fails with an error that names the property.",
            because: "The caller set the property by name.",
            remedy: "Check the kind before you read the value."),
        .must(
            "PROP-03", level: 3,
            "The plugin does not use the memory of a property after the request is gone.",
            because: "The host reuses the memory.",
            remedy: "Copy what you need."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            for load in try context.loads(.succeeds) {
                for count in 0..<3 {
                    var request = try context.request(load.url)
                    request.properties["org.example.judge.text"] = .text("lent \(count)")
                    request.properties["org.example.judge.bytes"] = .bytes([UInt8](repeating: UInt8(count), count: 64))
                    guard let handler = try context.handler(for: request, of: instance) else { continue }
                    _ = try handler.canInit(request, poisoning: true)
                    let probedLoad = try ProbedLoad(RequestImage(request, instance.argumentMemory), handler, CheckContext.script(for: load))
                    try probedLoad.start()
                    guard probedLoad.waitUntilIdle(context.loadTimeLimit) else { throw CheckSkipped("'\(load.url)' did not end (LIFE-02)") }
                    probedLoad.destroy(poisoning: true)
                }
            }
            instance.end()
        },
    ]

    static let redirects: [CheckedRule] = [
        .must(
            "REDIR-01", level: 2, isEnforced: true, needs: .redirects,
            "A redirect has a target: an absolute, valid URL, or a response with a Location field.",
            because: "The host loads the target.",
            remedy: """
                Resolve the URL against the request's URL first, or pass a response with a Location field and no URL. Copy a part of the \
                request's URL as it is, without decoding.
                """
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.redirects) { load, request, instance throws(CheckSkipped) in
                let record = try context.perform(request, of: instance, CheckContext.script(for: load))
                _ = try record.redirectIndex(load)
                // The target can contain text from the request's path. A path with encoded characters can be an encoded
                // URL, which the plugin must decode. `try?` because a text that is no URL reaches no plugin.
                if !load.url.contains("%"),
                    let otherRequest = try? context.request(MalformedURLSamples.appendingToPath("/%3Fjudge%23judge", of: load.url)),
                    try context.handler(for: otherRequest, of: instance) != nil,
                    let otherRecord = try context.recordWhenIdle(otherRequest, of: instance, CheckContext.script(for: load))
                {
                    let texts = otherRecord.calls.compactMap { call in
                        if case .redirect(let change, _) = call.call { change.value?.url.text } else { nil }
                    }
                    for text in texts where text.contains("?judge") || text.contains("#judge") {
                        context.fail("\(otherRequest.url.shortDescription) is redirected to '\(text)', where a part of its path is decoded")
                    }
                }
                for call in record.calls {
                    guard case .redirect(let change, _) = call.call, let target = call.redirectTarget(from: request) else { continue }
                    switch target {
                    case .url: break
                    // Text that a peer wrote violates no rule (client.h).
                    case .malformed(let reason), .ambiguous(let reason):
                        if change.value?.url.bytes != nil { context.fail("'\(load.url)' is redirected, but \(reason)") }
                    case .noRedirect, .unnamed:
                        context.fail(
                            "'\(load.url)' is redirected without a URL, and without a response that has a redirect's status and a Location")
                    }
                }
            }
        },
        .must(
            "REDIR-02", level: 2, needs: .redirects,
            "If the protocol has a response for a redirect, the load passes it to the client.",
            because: "Callers read the status and the fields of that response.",
            remedy: "Pass the response to was_redirected."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.redirects) { load, request, instance throws(CheckSkipped) in
                let records = try context.follow(load, of: instance)
                guard records.count > 1, let status = records.last?.responses.last?.value?.status, status > 0 else {
                    throw CheckSkipped.notApplicable(
                        "'\(load.url)' leads to no response with a status, so its protocol has none for a redirect either")
                }
                for case .redirect(_, let response) in records.flatMap(\.calls).map(\.call) {
                    guard let response = response.value else {
                        context.fail("'\(load.url)' is redirected without a response, in a protocol whose responses have a status")
                        continue
                    }
                    // Protocols may have their own status numbers, but none that is a success or a failure in HTTP can
                    // redirect.
                    if (200...299).contains(response.status) || (400...599).contains(response.status) {
                        context.fail("'\(load.url)' is redirected by a response with the status \(response.status)")
                    }
                }
            }
        },
        .must(
            "REDIR-03", level: 3, needs: .redirects,
            "The new request keeps method, fields and properties, except for what the protocol changes.",
            because: "A POST that becomes a GET loses its body.",
            remedy: "Set only the members of portolan_change that differ."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.redirects) { load, plain, instance throws(CheckSkipped) in
                for method in [HTTPRequest.Method.get, .post, .put] {
                    var request = plain
                    request.method = method
                    request.fields[.accept] = "text/plain"
                    if method != .get { request.body = .bytes([1, 2, 3]) }
                    var script = CheckContext.script(for: load)
                    script.body = [[1, 2, 3]]
                    let record = try context.perform(request, of: instance, script)
                    if method == .get { _ = try record.redirectIndex(load) }
                    for case .redirect(let change, let response) in record.calls.map(\.call) {
                        guard let change = change.value else { continue }
                        // RFC 9110, section 15.4: 301 and 302 can change POST to GET, and 303 changes every method
                        // except GET and HEAD to GET.
                        let status = response.value?.status ?? 0
                        let mayBeGET = status == 303 || ([301, 302].contains(status) && method == .post)
                        if let newMethod = change.method.text, newMethod != method.rawValue, !(mayBeGET && newMethod == "GET") {
                            context.fail("'\(load.url)': a redirect changes \(method) to '\(newMethod)'")
                        }
                        if change.dropsBody, method != .get, !mayBeGET {
                            context.fail("'\(load.url)': a redirect drops the body of \(method)")
                        }
                        if change.dropsFields { context.fail("'\(load.url)': a redirect drops the fields of the request") }
                        if change.fields?.contains(where: { $0.name.text?.lowercased() == "accept" && $0.value.text != "text/plain" })
                            == true
                        {
                            context.fail("'\(load.url)': a redirect changes the field Accept")
                        }
                    }
                }
            }
        },
        .must(
            "REDIR-04", level: 3, needs: .redirects,
            "If a redirect leads to another origin, its URL contains no credential of the first URL.",
            because: "Otherwise another server receives the credential.",
            remedy: "Leave user information out of the new URL."
        ) { context throws(CheckSkipped) in
            let (user, password) = CheckContext.wrongCredential
            var hasChecked = false
            try context.eachLoad(.redirects) { load, _, instance throws(CheckSkipped) in
                guard let request = try context.request(of: load, user: user, password: password, to: instance) else { return }
                let record = try context.perform(request, of: instance, CheckContext.script(for: load))
                for target in record.redirectTargets(from: request) {
                    hasChecked = true
                    // REDIR-01 reports a URL that does not parse. By the URL Standard, a URL of the same origin can
                    // keep user and password.
                    if case .url(let url) = target, !url.hasSameOrigin(as: request.url), url.string.contains(password) {
                        context.fail("'\(load.url)', with a password in its URL, redirects to a URL with that password")
                    }
                }
            }
            if !hasChecked { throw CheckSkipped("no URL of the manifest redirects with a user name before its host") }
        },
        .must(
            "REDIR-05", level: 3, needs: .redirects,
            "A loop of redirects ends at the host's limit, and leaks nothing.",
            because: "Some servers are configured with such loops.",
            remedy: "Free each load. Nothing else is needed.", needsProcess: true, check: redirectLoop),
        .must(
            "REDIR-06", level: 3, needs: .redirects,
            "A redirect can be taken, or not taken, after a delay.",
            because: "The caller may ask the user.",
            remedy: "After resume, deliver the response. After stop or destroy, deliver nothing."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.redirects) { load, request, instance throws(CheckSkipped) in
                for isFollowed in [true, false] {
                    var script = CheckContext.script(for: load)
                    (script.decision, script.followsRedirects, script.pauseTime) = (.later, isFollowed, .milliseconds(30))
                    guard let record = try context.recordWhenIdle(request, of: instance, script) else {
                        return context.fail("'\(load.url)' did not end after a late decision \(isFollowed ? "" : "not ")to take a redirect")
                    }
                    let redirectIndex = try record.redirectIndex(load)
                    let after = record.calls[(redirectIndex + 1)...].filter { $0.call.isEvent && $0.within != .destroy }
                    if let lateEvent = after.first(where: { isFollowed || ($0.stage == .paused && $0.call.isDelivery) }) {
                        context.fail(
                            "'\(load.url)': \(lateEvent.call.function) was called before the decision about a redirect, or after it was taken"
                        )
                    } else if !isFollowed, !after.contains(where: { $0.isResponse || $0.isFailure }) {
                        context.fail("'\(load.url)': after a late decision not to take a redirect, neither its response nor a failure came")
                    } else if !isFollowed, case .redirect(_, .whole) = record.calls[redirectIndex].call,
                        record.failure?.value?.code == LoadError.Code.badRedirect.rawValue
                    {
                        context.fail("'\(load.url)': a redirect with a response was not taken, and the load failed with badRedirect")
                    }
                }
            }
        },
    ]
}
