// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanCore
import PortolanPlugins
import Synchronization

/// CHAL: challenges, and the effects of their answers.
extension RuleCatalogue {
    static let challenges: [CheckedRule] = [
        .must(
            "CHAL-01", level: 2, isEnforced: true, needs: .challenges,
            "The protection space of a challenge is complete and well-formed.",
            because: "The host looks up credentials by protection space.",
            remedy: "Set protocol, host, port and method."
        ) { context throws(CheckSkipped) in
            try context.eachChallengedLoad { load, request, record, instance throws(CheckSkipped) in
                var challenges = record.challenges
                // Also collects the challenges after other answers.
                for answer in [ClientScript.ChallengeAnswer.rejectProtectionSpace, CheckContext.wrongAnswer] {
                    var script = CheckContext.script(for: load)
                    script.answer = { $0 < 4 ? answer : .cancel }
                    challenges += try context.recordWhenIdle(request, of: instance, script, within: context.loadTimeLimit)?.challenges ?? []
                }
                var flaws: [String] = []
                for challenge in challenges {
                    flaws +=
                        challenge.value?.flaws(inLoadOf: request, by: instance) ?? ["did_receive_challenge received no readable challenge"]
                }
                for flaw in Set(flaws).sorted() { context.fail("'\(load.url)': \(flaw)") }
            }
        },
        .must(
            "CHAL-02", level: 3, needs: .challenges,
            "A load accepts the response to a challenge later, and from another thread.",
            because: "A user has to type the password.",
            remedy: "Wait in the call, or for 'answered'."
        ) { context throws(CheckSkipped) in
            try context.eachChallengedLoad { load, request, record, instance throws(CheckSkipped) in
                var script = CheckContext.script(for: load)
                script.decision = .later
                // An access to the answer after its borrow has ended crashes.
                script.revokesAnswers = true
                guard let laterRecord = try context.recordWhenIdle(request, of: instance, script) else {
                    return context.fail("'\(load.url)' did not end after a late response to its challenge")
                }
                let (result, expected) = (LoadResult(laterRecord), LoadResult(record))
                if result != expected, !context.varies(load) {
                    context.fail(
                        "'\(load.url)' gave \(result.phrase) after a late response to its challenge, "
                            + "but \(expected.phrase) after an immediate one")
                }
            }
        },
        .must(
            "CHAL-03", level: 2, needs: .challenges,
            "With the right credential, the load completes.",
            because: "This is the purpose of a challenge.",
            remedy: "Use the user and the password as given, in UTF-8."
        ) { context throws(CheckSkipped) in
            try context.eachCredential { load, request, _, instance throws(CheckSkipped) in
                let record = try context.perform(request, of: instance, CheckContext.script(for: load))
                if !record.didFinish {
                    context.fail("'\(load.url)' received the manifest's credential, but gave \(LoadResult(record).phrase)")
                }
                let spaces = record.challenges.compactMap { $0.value?.space }
                if Set(spaces).count < spaces.count {
                    context.fail("'\(load.url)' received the manifest's credential, but sent another challenge")
                }
                // Also gives the right credential after a wrong one.
                var script = CheckContext.script(for: load)
                let correctAnswer = script.answer
                script.answer = { $0 == 0 ? CheckContext.wrongAnswer : correctAnswer($0) }
                let laterRecord = try context.recordWhenIdle(request, of: instance, script)
                if record.didFinish, laterRecord?.didFinish != true {
                    let endPhrase = laterRecord.map { "gave \(LoadResult($0).phrase)" } ?? "did not end"
                    context.fail("'\(load.url)' received a wrong credential and then the manifest's, and \(endPhrase)")
                }
            }
        },
        .must(
            "CHAL-04", level: 2, needs: .challenges,
            "After a wrong credential, a new challenge comes. Its failure count is one higher, and it has the last error.",
            because: "The caller must know that its credential was wrong.",
            remedy: "Count the failures in the load, and set previous."
        ) { context throws(CheckSkipped) in
            try context.eachCredential { load, request, credential, instance throws(CheckSkipped) in
                var script = CheckContext.script(for: load)
                script.answer = { count in
                    .use(user: credential.username, password: count < 3 ? credential.password + "-wrong" : credential.password)
                }
                let challenges = try context.perform(request, of: instance, script).challenges.compactMap(\.value)
                guard challenges.count > 1 else {
                    return context.fail("'\(load.url)' accepted a wrong password, or sent no second challenge")
                }
                if challenges[0].failureCount != 0 {
                    context.fail("'\(load.url)': the failure count of the first challenge is \(challenges[0].failureCount)")
                }
                for (before, after) in zip(challenges, challenges.dropFirst())
                where after.space == before.space && after.failureCount != before.failureCount + 1 {
                    context.fail(
                        "'\(load.url)': the failure count was \(before.failureCount), and after a wrong password \(after.failureCount)")
                }
                if challenges[1].previous == .missing {
                    context.fail("'\(load.url)': the second challenge does not say why the first credential failed")
                }
            }
        },
        .must(
            "CHAL-05", level: 2, needs: .challenges,
            "After PORTOLAN_CANCEL, the load fails with the code for a cancelled challenge.",
            because: "The caller must distinguish this from a wrong password.",
            remedy: "Fail with PORTOLAN_ERROR_AUTHENTICATION_CANCELLED.",
            check: endsCorrectly(after: .cancel) { _, code in
                code == LoadError.Code.authenticationCancelled.rawValue ? nil : "its challenge was cancelled"
            }),
        .must(
            "CHAL-06", level: 2, needs: .challenges,
            "After PORTOLAN_WITHOUT, the load ends with what the peer sends without a credential, or with the code for a missing one.",
            because: "The load must not hang, or repeat the challenge forever.",
            remedy: "Continue without a credential, or fail with PORTOLAN_ERROR_AUTHENTICATION_REQUIRED.",
            check: endsCorrectly(after: .without) { record, code in
                record.didFinish || code == LoadError.Code.authenticationRequired.rawValue ? nil : "it had to continue without a credential"
            }),
        .must(
            "CHAL-07", level: 3, needs: .challenges,
            "After PORTOLAN_REJECT_SPACE, a challenge for the next space comes, or the load fails with the code for a missing credential.",
            because: "Peers may offer several protection spaces.",
            remedy: "Send a challenge for the next space, or fail."
        ) { context throws(CheckSkipped) in
            try context.eachChallengedLoad { load, request, _, instance throws(CheckSkipped) in
                var script = CheckContext.script(for: load)
                script.answer = { $0 < 10 ? .rejectProtectionSpace : .cancel }
                guard let record = try context.recordWhenIdle(request, of: instance, script) else {
                    return context.fail("'\(load.url)' did not end after every protection space was rejected")
                }
                let spaces = record.challenges.compactMap { $0.value?.space }
                if Set(spaces).count < spaces.count {
                    context.fail("'\(load.url)' sent another challenge for a protection space that was rejected")
                } else if !record.didFinish, record.failure?.value?.code != LoadError.Code.authenticationRequired.rawValue {
                    context.fail(
                        "'\(load.url)': every space was rejected, but it gave \(LoadResult(record).phrase), not authenticationRequired")
                }
            }
        },
        .must(
            "CHAL-08", level: 3, needs: .cancelsChallenge,
            "If the peer cancels a challenge that has no answer yet, the load reports this, and then continues or fails.",
            because: "Peers close connections.",
            remedy: "Call did_cancel_challenge, then continue or fail.",
            check: checkCancelledChallenges),
        .must(
            "CHAL-09", level: 3, needs: .challenges,
            "No log line, error, URL or returned field contains a credential.",
            because: "Other people read logs.",
            remedy: "Quote the realm, never the credential."
        ) { context throws(CheckSkipped) in
            try context.eachChallengedLoad { load, request, _, instance throws(CheckSkipped) in
                func expectNoPassword(
                    for credential: (user: String, password: String),
                    answering answer: @escaping @Sendable (Int) -> ClientScript.ChallengeAnswer
                ) throws(CheckSkipped) {
                    var script = CheckContext.script(for: load)
                    script.answer = answer
                    let record = try context.perform(request, of: instance, script)
                    for (place, bytes) in record.texts where shows(String(decoding: bytes, as: UTF8.self), credential) {
                        context.fail("'\(load.url)': \(place) shows the password of the response to a challenge")
                    }
                    let linesWithPassword = instance.host.calls.filter { $0.function == "log" && shows($0.text, credential) }
                    if !linesWithPassword.isEmpty {
                        context.fail("'\(load.url)': a log line shows the password of the response to a challenge")
                    }
                }
                let (wrong, credential) = (CheckContext.wrongAnswer, CheckContext.wrongCredential)
                try expectNoPassword(for: credential) { $0 < 10 ? wrong : .cancel }
                // Also gives the wrong credential in the protection space after the first one.
                try expectNoPassword(for: credential) { $0 == 0 ? .rejectProtectionSpace : $0 < 10 ? wrong : .cancel }
                // A correct password that the URL contains, or that is too short to be specific, proves nothing.
                guard let correctAnswer = load.credential, correctAnswer.password.utf8.count >= 5,
                    !shows(load.url, (correctAnswer.username, correctAnswer.password))
                else { return }
                try expectNoPassword(for: (correctAnswer.username, correctAnswer.password)) { _ in
                    .use(user: correctAnswer.username, password: correctAnswer.password)
                }
            }
        },
        .must(
            "CHAL-10", level: 4, needs: .challenges,
            "After a hundred wrong credentials, the load fails.",
            because: "Otherwise a program that responds automatically loops forever.",
            remedy: "Give up after a few attempts."
        ) { context throws(CheckSkipped) in
            try context.eachChallengedLoad { load, request, _, instance throws(CheckSkipped) in
                var script = CheckContext.script(for: load)
                script.answer = { $0 < 100 ? CheckContext.wrongAnswer : .cancel }
                let record = try context.perform(request, of: instance, script)
                if record.challenges.count > 100 {
                    context.fail("'\(load.url)' sent a hundred challenges, and continued to send them")
                } else if record.didFinish {
                    throw CheckSkipped("'\(load.url)' accepts any credential")
                }
            }
        },
    ]

    /// Returns a check that gives `answer` to challenges, and examines the end of the load.
    ///
    /// - Parameter violation: Receives the record and the code of its error; returns the violated requirement, or
    ///   `nil`.
    private static func endsCorrectly(
        after answer: ClientScript.ChallengeAnswer, _ violation: @escaping @Sendable (LoadRecord, Int32?) -> String?
    ) -> ConformanceCheck.Body {
        { context throws(CheckSkipped) in
            try context.eachChallengedLoad { load, request, _, instance throws(CheckSkipped) in
                // The first load gets `answer` for each challenge. The second load gets a wrong password for its first
                // challenge, and `answer` after that.
                for count in 0..<2 {
                    var script = CheckContext.script(for: load)
                    script.answer = { $0 < count ? CheckContext.wrongAnswer : answer }
                    guard let record = try context.recordWhenIdle(request, of: instance, script) else {
                        let phrase = count == 0 ? "each challenge had the same response" : "the same response came after a wrong credential"
                        return context.fail("'\(load.url)' did not end; \(phrase)")
                    }
                    guard record.challenges.count > count else { continue }
                    if let phrase = violation(record, record.failure?.value?.code) {
                        context.fail("'\(load.url)': \(phrase), and it gave \(LoadResult(record).phrase)")
                    }
                }
            }
        }
    }

    /// Whether a text contains a credential's password: as it is, percent-encoded, or with the user as in the Basic
    /// scheme (RFC 7617 §2).
    private static func shows(_ text: String, _ credential: (user: String, password: String)) -> Bool {
        let basic = Data("\(credential.user):\(credential.password)".utf8).base64EncodedString()
        return [text, PercentEncoding.decode(text)].contains { $0.contains(credential.password) || $0.contains(basic) }
    }
}

extension CheckContext {
    /// Calls `body` with each load that sends a challenge, and its record with the manifest's answer.
    fileprivate func eachChallengedLoad(
        _ body: (ConformanceLoad, Request, LoadRecord, ProbedInstance) throws(CheckSkipped) -> Void
    ) throws(CheckSkipped) {
        try eachLoad(.challenges) { load, request, instance throws(CheckSkipped) in
            let record = try perform(request, of: instance, Self.script(for: load))
            guard !record.challenges.isEmpty else { throw CheckSkipped("'\(load.url)' is tagged challenges, but sent no challenge") }
            try body(load, request, record, instance)
        }
    }

    /// Calls `body` with each load for which the manifest names a credential.
    fileprivate func eachCredential(
        _ body: (ConformanceLoad, Request, ConformanceLoad.Credential, ProbedInstance) throws(CheckSkipped) -> Void
    ) throws(CheckSkipped) {
        var count = 0
        try eachLoad(.challenges) { load, request, instance throws(CheckSkipped) in
            guard let credential = load.credential else { return }
            count += 1
            try body(load, request, credential, instance)
        }
        if count == 0 { throw CheckSkipped("the manifest names no credential") }
    }
}

extension LoadRecord {
    var challenges: [ReadStruct<ReadChallenge>] {
        calls.compactMap { if case .challenge(let challenge) = $0.call { challenge } else { nil } }
    }

    /// Every text that the load delivered, with a description of its place.
    fileprivate var texts: [(place: String, bytes: [UInt8])] {
        var texts: [(String, [UInt8])] = []
        for call in calls {
            switch call.call {
            case .response(let response), .interim(let response):
                guard let response = response.value else { continue }
                texts.append(("the response's URL", response.url.bytes ?? []))
                for field in response.fields ?? [] { texts.append(("the field \(field.name.quoted)", field.value.bytes ?? [])) }
            case .redirect(let change, let response):
                texts.append(("the redirect's URL", change.value?.url.bytes ?? []))
                texts.append(("the URL of a redirect's response", response.value?.url.bytes ?? []))
                for field in (change.value?.fields ?? []) + (response.value?.fields ?? []) {
                    texts.append(("the redirect's field \(field.name.quoted)", field.value.bytes ?? []))
                }
            case .trailers(let fields):
                for field in fields ?? [] { texts.append(("the trailer field \(field.name.quoted)", field.value.bytes ?? [])) }
            case .failure(let error):
                guard let error = error.value else { continue }
                for message in [error.message] + error.causes.map(\.message) { texts.append(("the error", message.bytes ?? [])) }
            default: break
            }
        }
        return texts
    }
}

extension ReadChallenge {
    /// The protection space in which a credential is valid.
    struct Space: Hashable {
        let method, port: Int32
        let isProxy: Bool
        let protocolName, host, realm, scheme: ReadText
    }

    var space: Space {
        Space(method: method, port: port, isProxy: isProxy, protocolName: protocolName, host: host, realm: realm, scheme: scheme)
    }

    /// Returns the flaws of this challenge, which a load of `request` sent.
    fileprivate func flaws(inLoadOf request: Request, by instance: ProbedInstance) -> [String] {
        var flaws: [String] = []
        if !(1...3).contains(method) { flaws.append("the challenge's method is \(method)") }
        if !(-1...65535).contains(port) || port == 0 { flaws.append("the challenge's port is \(port)") }
        // If the plugin's handlers have several schemes, any of them is valid.
        let schemes = [String(request.url.scheme)] + instance.plugin.handlers.flatMap { $0.schemes.compactMap(\.text) }
        if !isProxy, let name = protocolName.text, !schemes.contains(name) {
            flaws.append("the challenge's protocol is \(protocolName.quoted), but the URL's scheme is '\(request.url.scheme)'")
        }
        if let name = host.text, name.isEmpty, request.url.host?.isEmpty == false { flaws.append("the challenge's host is empty") }
        if failureCount < 0 { flaws.append("the challenge's failure count is \(failureCount)") }
        for (name, text) in [("protocol", protocolName), ("host", host)] where text.text == nil {
            flaws.append("the challenge's \(name) is \(text.quoted)")
        }
        if realm.bytes != nil, realm.text == nil { flaws.append("the challenge's realm is \(realm.quoted)") }
        return flaws
    }
}
