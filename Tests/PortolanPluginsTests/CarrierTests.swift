// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanPlugins
import PortolanTestSupport
import Testing

/// The fixture `carrier`, which reports what it received, in both styles. The caller's values reach the plugin, and the
/// plugin's values reach the caller.
@Suite(.timeLimit(.minutes(2))) struct CarrierTests {
    static let styles = ["carrier", "carrier-events"]

    private func run(_ request: Request, _ client: RecordingClient = RecordingClient()) throws -> TestHandlerLoad {
        let plugin = try Fixtures.plugin("carrier")
        let load = try TestHandlerLoad(plugin, request, client: client)
        load.run()
        plugin.waitUntilIdle()
        #expect(load.violations.isEmpty)
        return load
    }

    private func run(_ url: String, _ client: RecordingClient = RecordingClient()) throws -> TestHandlerLoad {
        try run(Request(url), client)
    }

    private func text(_ load: TestHandlerLoad) -> String { String(decoding: load.client.bytes, as: UTF8.self) }

    private func loader() throws -> Loader {
        let registry = ProtocolRegistry()
        for handler in try Fixtures.plugin("carrier").handlers { registry.register(handler) }
        return Loader(configuration: .init(), registry: registry)
    }

    // MARK: Properties

    @Test(arguments: styles)
    func propertiesOfEachKindReachThePlugin(style: String) throws {
        var request = try Request("\(style)://show")
        request.properties["a"] = .text("caf\u{E9}")
        request.properties["b"] = .bytes([0, 255, 10])
        request.properties["c"] = .integer(.min)
        request.properties["d"] = .real(1e300)
        request.properties["e"] = .boolean(false)
        #expect(text(try run(request)) == "a text caf\u{E9}\nb bytes 00 ff 0a\nc integer -9223372036854775808\nd real 1e+300\ne truth 0\n")
    }

    /// A change replaces the properties that it names and keeps unknown ones (PROP-01), in a redirect and in a nested
    /// load.
    @Test(arguments: styles, ["redirect", "nest"])
    func propertiesOfEachKindComeFromThePlugin(style: String, command: String) throws {
        var request = try Request("\(style)://\(command)")
        request.properties["org.portolan.removed"] = .text("gone")
        request.properties["org.portolan.real"] = .text("of another kind")
        request.properties["org.example.unknown"] = .bytes([1])
        request.fields[.accept] = "text/plain"
        let (body, _) = try loader().waitForData(for: request)
        #expect(
            String(decoding: body, as: UTF8.self) == """
                org.example.unknown bytes 01
                org.portolan.a-text text caf\u{E9}
                org.portolan.bytes bytes 00 ff 0a
                org.portolan.integer integer -9223372036854775808
                org.portolan.real real -0.5
                org.portolan.truth truth 1
                Accept: text/plain

                """)
    }

    // MARK: Redirects

    @Test(arguments: styles, [Flow.stopped, .keepGoing])
    func redirectIsFollowedOrDelivered(style: String, answer: Flow) throws {
        let client = RecordingClient { _, event in if case .redirect = event { answer } else { .keepGoing } }
        _ = try run("\(style)://redirect", client)
        let redirect = RecordingClient.Event.redirect("\(style)://show")
        #expect(client.events == (answer == .stopped ? [redirect] : [redirect, .response(0), .finished]))
    }

    @Test(arguments: styles, [true, false])
    func redirectCanBeDecidedLater(style: String, isFollowed: Bool) throws {
        let plugin = try Fixtures.plugin("carrier")
        let client = RecordingClient { _, event in if case .redirect = event { .pause } else { .keepGoing } }
        let load = try TestHandlerLoad(plugin, "\(style)://redirect", client: client)
        load.start()
        client.wait { $0.count == 1 }
        if isFollowed { load.handlerLoad.followRedirect() } else { load.handlerLoad.declineRedirect() }
        load.waitUntilEnded()
        plugin.waitUntilIdle()
        #expect(client.events.dropFirst() == (isFollowed ? [] : [.response(0), .finished]))
        #expect(load.violations.isEmpty)
    }

    // MARK: Challenges

    static let issuers = [Array("first".utf8), Array("second\0with NUL".utf8)]
    static let credential = Credential.certificate(chain: [Array("leaf".utf8), Array("root".utf8)], privateKey: Array("key".utf8))

    private static let answersToOneChallenge: [(host: String, answer: ChallengeAnswer, text: String)] = [
        ("password", .use(.password(user: "us\u{E9}r", password: "p w")), "disposition 1, user us\u{E9}r, password p w"),
        ("certificate", .use(credential), "disposition 1, certificate leaf, certificate root, key key"),
        ("trust", .use(.serverTrust), "disposition 1"),
        // The host ignores a credential of the wrong kind.
        ("password", .use(credential), "disposition 3"), ("certificate", .use(.serverTrust), "disposition 3"),
        ("trust", .use(.password(user: "u", password: "p")), "disposition 3"),
    ]
    private static let answersToEveryChallenge: [(ChallengeAnswer, String)] = [
        (.continueWithoutCredential, "disposition 2"), (.performDefault, "disposition 3"), (.rejectProtectionSpace, "disposition 4"),
        (.cancel, "disposition 5"),
    ]

    /// The client answers inside the call that sends the challenge, or later on another thread.
    @Test(arguments: styles, [true, false])
    func everyAnswerToEveryChallengeReachesThePlugin(style: String, answersLater: Bool) throws {
        let table =
            Self.answersToOneChallenge
            + ["password", "certificate", "trust"].flatMap { host in Self.answersToEveryChallenge.map { (host, $0.0, $0.1) } }
        for (host, answer, expected) in table {
            if answersLater {
                let plugin = try Fixtures.plugin("carrier")
                let load = try TestHandlerLoad(plugin, "\(style)://\(host)")
                load.start()
                load.client.waitForChallenge().answer(answer)
                load.waitUntilEnded()
                plugin.waitUntilIdle()
                #expect(text(load) == expected, "\(host)")
            } else {
                #expect(text(try run("\(style)://\(host)", RecordingClient(onChallenge: { $0.answer(answer) }))) == expected, "\(host)")
            }
        }
    }

    @Test(
        arguments: styles,
        [
            ("password", ProtectionSpace.Kind.password(scheme: "digest"), "hold" as String?),
            ("certificate", .clientCertificate(acceptedIssuers: issuers), nil), ("trust", .serverTrust(chain: issuers), nil),
        ])
    func challengeArrivesWithAllItsParts(style: String, challenge: (host: String, kind: ProtectionSpace.Kind, realm: String?)) throws {
        let receivedChallenge = ConditionLock<AuthenticationChallenge?>(nil)
        let client = RecordingClient(onChallenge: { challenge in
            receivedChallenge.withLock { $0 = challenge }
            challenge.answer(.cancel)
        })
        _ = try run("\(style)://\(challenge.host)", client)
        let expected = ProtectionSpace(
            kind: challenge.kind, protocolName: style, host: challenge.host, port: 4711, realm: challenge.realm, isProxy: true)
        #expect(receivedChallenge.withLock { $0 }?.protectionSpace == expected)
    }

    /// Uses a loader, which does not answer certificate challenges without the delegate.
    @Test(arguments: styles)
    func certificateOfTheDelegateReachesThePlugin(style: String) async throws {
        let delegate = RecordingDelegate(onChallenge: { $0.answer(.use(Self.credential)) })
        try loader().task(for: Request("\(style)://certificate"), delegate: delegate).resume()
        await delegate.ended()
        #expect(delegate.text == "disposition 1, certificate leaf, certificate root, key key")
        let (body, _) = try await loader().data(from: "\(style)://trust")
        #expect(String(decoding: body, as: UTF8.self) == "disposition 3")
    }

    // MARK: Parts and steps

    @Test(arguments: styles)
    func eachPartArrivesWithItsResponse(style: String) throws {
        let client = try run("\(style)://parts").client
        #expect(client.events == [.response(6), .data(6), .response(6), .data(6), .response(6), .data(6), .finished])
        #expect(String(decoding: client.bytes, as: UTF8.self) == "part 1part 2part 3")
    }

    @Test(arguments: styles)
    func lastPartIsTheBody(style: String) throws {
        let (body, _) = try loader().waitForData(for: Request("\(style)://parts"))
        #expect(String(decoding: body, as: UTF8.self) == "part 3")
    }

    @Test(arguments: styles)
    func stepsReachTheMetrics(style: String) async throws {
        let delegate = RecordingDelegate()
        let task = try loader().task(for: Request("\(style)://moments"), delegate: delegate)
        task.resume()
        await delegate.ended()
        let steps: [LoadStep] = [.domainResolved, .connected, .tlsEstablished, .connectionReused, .requestSent, .firstByte]
        #expect(task.metrics.steps.map(\.step) == steps)
        #expect(zip(task.metrics.steps, task.metrics.steps.dropFirst()).allSatisfy { $0.time <= $1.time })
        #expect(
            delegate.events == [.interim] + steps.map { .step($0) } + [.response(task.originalRequest.url), .trailers, .finished])
    }

    // MARK: The plugin as a whole

    @Test func pluginMakesTheCanonicalForm() throws {
        let handler = try #require(try Fixtures.plugin("carrier").handlers.first)
        var request = try Request("carrier://canonical?noise", method: .put, body: .text("body"))
        request.fields[.accept] = "text/plain"
        request.properties["a"] = .integer(1)
        let canonical = handler.canonicalRequest(for: request)
        #expect(canonical.url.description == "carrier://canonical")
        #expect(canonical.method == .put && canonical.body != nil && canonical.fields == request.fields)
        #expect(canonical.properties == request.properties)
        #expect(handler.canonicalRequest(for: canonical).url == canonical.url)
        let otherRequest = try Request("carrier://show?noise")
        #expect(handler.canonicalRequest(for: otherRequest).url == otherRequest.url)
    }

    @Test func loadUsesTheCanonicalRequest() async throws {
        let delegate = RecordingDelegate()
        let task = try loader().task(for: Request("carrier://canonical?noise"), delegate: delegate)
        task.resume()
        await delegate.ended()
        #expect(task.currentRequest.url.description == "carrier://canonical")
        #expect(delegate.events.first == .response(task.currentRequest.url))
    }

    @Test func pluginDecidesCacheEquivalence() throws {
        let handler = try #require(try Fixtures.plugin("carrier").handlers.first)
        let (a, b, c) = (try Request("carrier://canonical?a"), try Request("carrier://canonical?b"), try Request("carrier://show"))
        #expect(handler.isCacheEquivalent(a, to: b) && handler.isCacheEquivalent(b, to: a) && handler.isCacheEquivalent(c, to: c))
        #expect(!handler.isCacheEquivalent(a, to: c) && !handler.isCacheEquivalent(c, to: a))
    }

    @Test func pluginLogsOneLineAtEachOfFourLevels() throws {
        let log = RecordingLog()
        let plugin = try Fixtures.plugin("carrier", logger: log.logger)
        let name = "org.portolan.carrier"
        #expect(
            log.all == [
                "error \(name): an error", "warning \(name): a warning", "info \(name): an info\u{FFFD}of two lines",
                "debug \(name): a detail",
            ]
        )
        withExtendedLifetime(plugin) {}
    }

    /// The registry and the caller have released the plugin. Only the load retains it.
    @Test(arguments: styles)
    func pluginEndsAfterItsLastLoad(style: String) throws {
        let log = RecordingLog()
        let endLine = "info org.portolan.carrier: ended"
        var plugin: Plugin? = try Fixtures.plugin("carrier", logger: log.logger)
        var load: TestHandlerLoad? = try plugin.map { try TestHandlerLoad($0, "\(style)://password") }
        load?.start()
        var challenge = load?.client.waitForChallenge()
        plugin = nil
        #expect(!log.all.contains(endLine))
        challenge?.answer(.cancel)
        challenge = nil
        load?.waitUntilEnded()
        load = nil
        log.wait { $0.contains(endLine) }
        #expect(log.all.filter { $0 == endLine }.count == 1)
    }

    @Test(arguments: styles)
    func nestedLoadOfTheSameRequestFailsWithARemedy(style: String) throws {
        let error = #expect(throws: LoadError.self) { try loader().waitForData(for: Request("\(style)://itself")) }
        let cause = error?.underlyingError as? LoadError
        #expect(cause?.code == .unsupportedScheme)
        let handler = "org.portolan.carrier\(style.hasSuffix("events") ? ".events" : "")"
        #expect(
            cause?.message
                == "no handler takes '\(style)://itself', though '\(style):' is known: \(handler) made this request, and a handler does not get its own requests; use another URL for the nested load"
        )
    }
}
