// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanURL
import Synchronization
import Testing

@testable import PortolanCache

/// Loads through the cache, from the request to the stored response and back.
@Suite struct CachingLoadTests {
    @Test func freshResponseAnswersWithoutARequest() async throws {
        let world = CachingWorld(OriginHandler { exchange($0, 200, "Cache-Control: max-age=60", "X-Number: \($1)", body: "hello") })
        let first = try await world.get()
        #expect(first.source == .network && first.body == "hello" && first.field("Age") == nil)
        world.clock.advance(10)
        let second = try await world.get()
        #expect(second.source == .cache && second.body == "hello")
        #expect(second.field("Age") == "10" && second.field("X-Number") == "1" && second.response.expectedLength == 5)
        #expect(second.response.cacheStatus?.timeToLive == 50 && second.response.cacheStatus?.source == .hit)
        #expect(world.origin.requests.count == 1)
        world.clock.advance(50)
        #expect(try await world.get().source == .network)
        #expect(world.origin.requests.count == 2)
    }

    @Test func fragmentIsNotAPartOfTheKeyAndStaysInTheResponse() async throws {
        let world = CachingWorld(OriginHandler { request, _ in exchange(request, 200, "Cache-Control: max-age=60") })
        _ = try await world.get("http://host.example/a#one")
        let second = try await world.get("http://host.example/a#two")
        #expect(second.source == .cache && second.response.url.string == "http://host.example/a#two")
    }

    @Test(arguments: ["no-store", "max-age=60, no-store", "max-age=0, private"])
    func responseThatIsNotReusableIsLoadedAgain(_ control: String) async throws {
        let world = CachingWorld(OriginHandler { request, _ in exchange(request, 200, "Cache-Control: \(control)") })
        _ = try await world.get()
        #expect(try await world.get().source == .network)
        #expect(world.origin.requests.count == 2)
    }

    // MARK: - Validation

    @Test func staleResponseIsValidatedByItsTag() async throws {
        let world = CachingWorld(
            OriginHandler { request, number in
                number == 1
                    ? exchange(request, 200, "Cache-Control: max-age=10", "ETag: \"x\"", "X-Old: 1", body: "hello")
                    : exchange(request, 304, "Cache-Control: max-age=20", "ETag: \"x\"", "X-New: 1")
            })
        _ = try await world.get()
        world.clock.advance(11)
        let second = try await world.get()
        #expect(second.source == .validated && second.status == 200 && second.body == "hello")
        #expect(second.field("X-Old") == "1" && second.field("X-New") == "1")
        #expect(world.origin.requests.last?.fields[.ifNoneMatch] == "\"x\"")
        world.clock.advance(19)
        #expect(try await world.get().source == .cache)
        #expect(world.origin.requests.count == 2)
    }

    /// RFC 9111 §5.2.2.4
    @Test(arguments: ["Cache-Control: max-age=10, no-cache=\"x-user\"", "X-None: 1"])
    func fieldThatNoCacheNamesIsDeliveredOnlyByTheResponseThatHasIt(line: String) async throws {
        let world = CachingWorld(
            OriginHandler { request, number in
                number == 1
                    ? exchange(
                        request, 200, "Cache-Control: max-age=10, no-cache=\"x-user\"", "ETag: \"x\"", "X-User: a", body: "hello")
                    : exchange(request, 304, line, "ETag: \"x\"", "X-User: b")
            })
        #expect(try await world.get().field("X-User") == "a")
        let stored = try await world.get()
        #expect(stored.source == .cache && stored.field("X-User") == nil)
        world.clock.advance(11)
        let validated = try await world.get()
        #expect(validated.source == .validated && validated.field("X-User") == "b")
        #expect(world.store.entries.first?.stored.fields.contains { $0.name.canonicalName == "x-user" } == false)
    }

    @Test func changedResponseReplacesTheStoredOne() async throws {
        let world = CachingWorld(
            OriginHandler { exchange($0, 200, "Cache-Control: max-age=10", "ETag: \"\($1)\"", body: "body \($1)") })
        _ = try await world.get()
        world.clock.advance(11)
        #expect(try await world.get().body == "body 2")
        let third = try await world.get()
        #expect(third.source == .cache && third.body == "body 2")
        #expect(world.store.entries.count == 1)
    }

    /// Not even a fresh response is used without a question.
    @Test func revalidationSendsTheTagOfAFreshResponse() async throws {
        let world = CachingWorld(
            OriginHandler { request, _ in
                request.fields[.ifNoneMatch] == "\"x\""
                    ? exchange(request, 304, "ETag: \"x\"")
                    : exchange(request, 200, "Cache-Control: max-age=60", "ETag: \"x\"", body: "hello")
            })
        _ = try await world.get()
        let second = try await world.get(policy: .revalidate)
        #expect(second.source == .validated && second.body == "hello" && world.origin.requests.count == 2)
    }

    /// A 304 that is about no known response is not delivered: the caller has asked no question.
    @Test func notModifiedForAnUnknownTagIsLoadedAgain() async throws {
        let world = CachingWorld(
            OriginHandler { request, number in
                switch number {
                case 1: exchange(request, 200, "Cache-Control: max-age=1", "ETag: \"x\"", body: "old")
                case 2: exchange(request, 304, "ETag: \"other\"")
                default: exchange(request, 200, "Cache-Control: max-age=1", "ETag: \"y\"", body: "new")
                }
            })
        _ = try await world.get()
        world.clock.advance(5)
        let second = try await world.get()
        #expect(second.status == 200 && second.body == "new" && world.origin.requests.count == 3)
        #expect(world.origin.requests.last?.fields[.ifNoneMatch] == nil)
    }

    @Test func conditionsOfTheCallerAreAnsweredFromTheStore() async throws {
        let world = CachingWorld(
            OriginHandler { request, _ in exchange(request, 200, "Cache-Control: max-age=60", "ETag: \"x\"", body: "hello") })
        _ = try await world.get()
        let second = try await world.get(fields: [.ifNoneMatch: "\"x\""])
        #expect(second.status == 304 && second.body == "" && second.source == .cache)
        #expect(try await world.get(fields: [.ifNoneMatch: "\"y\""]).body == "hello")
        #expect(world.origin.requests.count == 1)
    }

    @Test func notModifiedForTheConditionsOfTheCallerIsDelivered() async throws {
        let world = CachingWorld(OriginHandler { request, _ in exchange(request, 304, "ETag: \"x\"") })
        #expect(try await world.get(fields: [.ifNoneMatch: "\"x\""]).status == 304)
        #expect(world.origin.requests.count == 1)
    }

    // MARK: - Vary

    @Test func responsesAreSelectedByVary() async throws {
        let world = CachingWorld(
            OriginHandler { request, _ in
                exchange(
                    request, 200, "Cache-Control: max-age=60", "Vary: Accept-Language", body: request.fields[.acceptLanguage] ?? "none")
            })
        for language in ["de", "en", "de", "en"] { #expect(try await world.get(fields: [.acceptLanguage: language]).body == language) }
        #expect(try await world.get().body == "none")
        #expect(world.origin.requests.count == 3)
    }

    @Test func responseThatVariesByCredentialsOfTheLoaderIsNotStored() async throws {
        let world = CachingWorld(
            OriginHandler { request, _ in exchange(request, 200, "Cache-Control: max-age=60", "Vary: Authorization") })
        _ = try await world.get()
        _ = try await world.get()
        #expect(world.origin.requests.count == 2)
        _ = try await world.get(fields: [.authorization: "Bearer a"])
        #expect(try await world.get(fields: [.authorization: "Bearer a"]).source == .cache)
        #expect(try await world.get(fields: [.authorization: "Bearer b"]).source == .network)
    }

    // MARK: - Methods

    @Test func headIsAnsweredByAStoredResponseToGet() async throws {
        let world = CachingWorld(OriginHandler { request, _ in exchange(request, 200, "Cache-Control: max-age=60", body: "hello") })
        _ = try await world.get()
        let head = try await world.get(method: .head)
        #expect(head.source == .cache && head.body == "" && head.response.expectedLength == 5)
    }

    @Test func headThatShowsAChangeRemovesTheStoredResponse() async throws {
        let world = CachingWorld(
            OriginHandler { exchange($0, 200, "Cache-Control: max-age=10", "ETag: \"\($1)\"", body: "hello") })
        _ = try await world.get()
        world.clock.advance(11)
        _ = try await world.get(method: .head)
        #expect(world.store.entries.isEmpty)
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .delete])
    func unsafeRequestRemovesTheStoredResponses(_ method: HTTPRequest.Method) async throws {
        let world = CachingWorld(
            OriginHandler { request, _ in exchange(request, 200, "Cache-Control: max-age=60", "Location: /b") })
        for url in ["http://host.example/a", "http://host.example/b", "http://host.example/c"] { _ = try await world.get(url) }
        _ = try await world.get("http://host.example/a", method: method)
        #expect(world.store.entries.map(\.key.url.string) == ["http://host.example/c"])
    }

    @Test func failedUnsafeRequestRemovesNothing() async throws {
        let world = CachingWorld(
            OriginHandler { request, _ in exchange(request, request.method == .post ? 500 : 200, "Cache-Control: max-age=60") })
        _ = try await world.get()
        _ = try await world.get(method: .post)
        #expect(try await world.get().source == .cache)
    }

    // MARK: - Policies

    /// The answers with a fresh and with a stale stored response, and without one; and the directive that was sent.
    @Test(
        arguments: [
            (.useProtocol, "cache", "network", "network", nil), (.noStore, "network", "network", "network", "no-cache"),
            (.reload, "network", "network", "network", "no-cache"), (.revalidate, "network", "network", "network", "max-age=0"),
            (.preferCached, "cache", "cache", "network", nil), (.onlyCached, "cache", "cache", "notOffered", nil),
        ] as [(CachePolicy, String, String, String, String?)])
    func policySelectsTheSource(_ policy: CachePolicy, _ fresh: String, _ stale: String, _ absent: String, _ directive: String?)
        async throws
    {
        for (age, isStored, expected) in [(0, true, fresh), (11, true, stale), (0, false, absent)] as [(Int64, Bool, String)] {
            let world = CachingWorld(OriginHandler { request, _ in exchange(request, 200, "Cache-Control: max-age=10", body: "hello") })
            if isStored { _ = try await world.get() }
            world.clock.advance(age)
            do {
                let answer = try await world.get(policy: policy)
                #expect(answer.source.rawValue == expected && answer.body == "hello")
            } catch let error as LoadError {
                #expect(error.code == .notOffered && expected == "notOffered", "\(error)")
            }
            if expected == "network" { #expect(world.origin.requests.last?.fields[.cacheControl] == directive) }
        }
    }

    @Test func noStoreStoresNothingAndKeepsWhatIsThere() async throws {
        let world = CachingWorld(OriginHandler { exchange($0, 200, "Cache-Control: max-age=10", body: "\($1)") })
        _ = try await world.get(policy: .noStore)
        #expect(world.store.entries.isEmpty)
        _ = try await world.get()
        _ = try await world.get(policy: .noStore)
        #expect(try await world.get().body == "2")
    }

    @Test func onlyIfCachedOfTheRequestIsAnsweredByAGatewayTimeout() async throws {
        let world = CachingWorld(OriginHandler { request, _ in exchange(request, 200) })
        let answer = try await world.get(fields: [.cacheControl: "only-if-cached"])
        #expect(answer.status == 504 && world.origin.requests.isEmpty)
    }

    @Test func onlyCachedFailsForResponsesThatAreNeverStored() async throws {
        let world = CachingWorld(OriginHandler { request, _ in exchange(request, 200) }) { configuration in
            configuration.handlers.append(AsyncHandler(identifier: "test.plain", schemes: ["plain"]) { _, _ in })
        }
        await #expect(throws: LoadError.self) { try await world.get("plain:x", policy: .onlyCached) }
    }

    // MARK: - Stale responses

    @Test func staleResponseReplacesAnErrorWhereItMay() async throws {
        let world = CachingWorld(
            OriginHandler { request, number in
                switch number {
                case 1: exchange(request, 200, "Cache-Control: max-age=1, stale-if-error=60", body: "hello")
                case 2: exchange(request, 503, body: "sorry")
                default: [.failure(LoadError(.cannotConnect, message: "no route"))]
                }
            })
        _ = try await world.get()
        world.clock.advance(5)
        for _ in 0..<2 {
            let answer = try await world.get()
            #expect(answer.source == .cache && answer.body == "hello" && answer.status == 200)
        }
        world.clock.advance(100)
        await #expect(throws: LoadError.self) { try await world.get() }
        #expect(world.origin.requests.count == 4)
    }

    @Test func staleResponseIsUsedWhileItIsValidated() async throws {
        let (stream, validated) = AsyncStream.makeStream(of: Void.self)
        let world = CachingWorld(
            OriginHandler { exchange($0, 200, "Cache-Control: max-age=1, stale-while-revalidate=60", body: "\($1)") })
        let observation = world.store.observe { changes in
            for case .stored(let entry) in changes where entry.stored.content.completeLength == 1 { validated.yield() }
        }
        _ = try await world.get()
        world.clock.advance(5)
        let second = try await world.get()
        #expect(second.source == .cache && second.body == "1")
        var changes = stream.makeAsyncIterator()
        for _ in 0..<2 { await changes.next() }
        #expect(try await world.get().body == "2")
        withExtendedLifetime(observation) {}
    }

    // MARK: - What is not used, and not stored

    @Test func partOfAMultipartBodyIsNotStored() async throws {
        let world = CachingWorld(
            OriginHandler { request, _ in
                var response = Response(url: request.url, status: .ok)
                response.fields = [.cacheControl: "max-age=60", .eTag: "\"x\""]
                response.isBodyPart = true
                return [.response(response), .data(Array("frame".utf8)), .finish]
            })
        _ = try await world.get()
        #expect(world.store.entries.isEmpty)
    }

    /// The cache does not know the cookies and credentials of a request that was sent again.
    @Test(arguments: ["Cookie", "Authorization"])
    func responseToARequestThatWasSentAgainIsNotStoredIfItVariesByUser(_ name: String) async throws {
        for wasResent in [false, true] {
            let handler = ResendingHandler(wasResent, vary: name)
            var configuration = Loader.Configuration()
            configuration.cache = ResponseCache()
            configuration.handlers = [handler]
            let loader = Loader(configuration: configuration, registry: ProtocolRegistry())
            let request = try Request("http://host.example/a", fields: [.authorization: "Bearer a"])
            _ = try await loader.data(for: request)
            let (_, response) = try await loader.data(for: request)
            #expect(response.source == (wasResent ? .network : .cache))
        }
    }

    private struct ResendingHandler: ProtocolHandler {
        let identifier = "test.resending"
        let schemes = SchemeSet.only(["http"])
        let traits: HandlerTraits = [.cacheable, .httpFields, .stopsAsynchronously]
        let wasResent: Bool
        let vary: String

        init(_ wasResent: Bool, vary: String) { (self.wasResent, self.vary) = (wasResent, vary) }

        func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
            if wasResent { return ResendingLoad(exchange(request, 200, "Cache-Control: max-age=60", "Vary: \(vary)"), client, request) }
            return ScriptedLoad(exchange(request, 200, "Cache-Control: max-age=60", "Vary: \(vary)"), client: client)
        }
    }

    /// Reports that its request is sent again, and then what a scripted load reports.
    private final class ResendingLoad: ProtocolLoad {
        private let (client, request): (any ProtocolClient, Request)
        private let scripted: ScriptedLoad
        init(_ events: [ScriptedLoad.Event], _ client: any ProtocolClient, _ request: Request) {
            (self.client, self.request, scripted) = (client, request, ScriptedLoad(events, client: client))
        }
        var stopsAsynchronously: Bool { true }
        func startLoading() {
            client.willResend(after: Response(url: request.url, status: .unauthorized))
            scripted.startLoading()
        }
        func stopLoading() { scripted.stopLoading() }
        func resumeLoading() { scripted.resumeLoading() }
    }

    @Test(arguments: [CachePolicy.reload, .noStore])
    func requestThatIgnoresTheStoreHasNoConditions(_ policy: CachePolicy) async throws {
        let world = CachingWorld(OriginHandler { exchange($0, 200, "Cache-Control: max-age=60", "ETag: \"x\"", body: "\($1)") })
        _ = try await world.get()
        #expect(try await world.get(policy: policy).body == "2")
        #expect(world.origin.requests.last?.fields[.ifNoneMatch] == nil)
    }

    @Test(arguments: [HTTPRequest.Method.post, .options])
    func onlyCachedSendsNothing(_ method: HTTPRequest.Method) async throws {
        let world = CachingWorld(OriginHandler { request, _ in exchange(request, 200) })
        let error = await #expect(throws: LoadError.self) { try await world.get(method: method, policy: .onlyCached) }
        #expect(error?.code == .notOffered && world.origin.requests.isEmpty)
    }

    @Test(arguments: [LoadError.Code.certificateNotTrusted, .authenticationRequired, .cancelled])
    func staleResponseDoesNotHideARefusal(_ code: LoadError.Code) async throws {
        let world = CachingWorld(
            OriginHandler { request, number in
                number == 1
                    ? exchange(request, 200, "Cache-Control: max-age=1, stale-if-error=60") : [.failure(LoadError(code, message: "no"))]
            })
        _ = try await world.get()
        world.clock.advance(5)
        let error = await #expect(throws: LoadError.self) { try await world.get() }
        #expect(error?.code == code)
    }

    /// A response to a request that was sent before an unsafe request could be older than its effect.
    @Test(arguments: [200, 301]) func responseThatIsOlderThanARemovalIsNotStored(_ status: Int) async throws {
        let box = Mutex<(@Sendable () -> Void)?>(nil)
        defer { box.withLock { $0 = nil } }  // the closure retains the handler that retains it
        let world = CachingWorld(
            OriginHandler { request, _ in
                if request.url.path == "/a" { box.withLock { $0 }?() }
                return exchange(request, request.url.path == "/a" ? status : 200, "Cache-Control: max-age=60", "Location: /b")
            })
        let (url, other) = (try URLRecord(parsing: "http://host.example/a#x"), try URLRecord(parsing: "http://host.example/c"))
        box.withLock { $0 = { world.cache.removeResponses(for: url) } }
        _ = try await world.get()
        #expect(!world.store.entries.contains { $0.key.url.path == "/a" })
        box.withLock { $0 = { world.cache.removeResponses(for: other) } }
        _ = try await world.get()
        #expect(world.store.entries.contains { $0.key.url.path == "/a" })
    }

    /// A load is released at its end, also if a stored redirect or an error has ended it.
    @Test func loadsAreReleased() async throws {
        let world = CachingWorld(
            OriginHandler { request, number in
                switch request.url.path {
                case "/a": exchange(request, 301, "Location: /b", "Cache-Control: max-age=60")
                default:
                    number == 2 ? exchange(request, 200, "Cache-Control: max-age=0, stale-if-error=60") : exchange(request, 503, body: "x")
                }
            })
        let tasks = Mutex<[Weak]>([])
        for _ in 0..<4 {
            let delegate = EndDelegate()
            let task = world.loader.task(for: try Request("http://host.example/a"), delegate: delegate)
            tasks.withLock { $0.append(Weak(delegate)) }
            task.resume()
            #expect(task.state == .ended)
        }
        #expect(tasks.withLock { $0.allSatisfy { $0.object == nil } })
    }

    private final class EndDelegate: LoadDelegate {}
    private struct Weak { weak var object: EndDelegate?; init(_ object: EndDelegate) { self.object = object } }

    // MARK: - Flow

    /// A stored body waits for a slow reader, and a stop ends its delivery.
    @Test func storedBodyIsPausedAndStopped() async throws {
        let body = String(repeating: "x", count: 900 << 10)
        let world = CachingWorld(
            OriginHandler { request, _ in exchange(request, 200, "Cache-Control: max-age=60", body: body) }, byteLimit: 16 << 20)
        _ = try await world.get()
        let request = try Request("http://host.example/a")
        let delegate = PausingDelegate()
        let task = world.loader.task(for: request, delegate: delegate)
        task.resume()
        #expect(delegate.counts.pieces == 1)
        while task.state != .ended { task.resume() }
        #expect(delegate.counts.pieces > 2 && delegate.counts.bytes == body.utf8.count)

        let stopped = PausingDelegate()
        let other = world.loader.task(for: request, delegate: stopped)
        other.resume()
        other.cancel()
        #expect(stopped.counts.pieces == 1 && other.state == .ended)
    }

    private final class PausingDelegate: LoadDelegate {
        private let state = Mutex((pieces: 0, bytes: 0))
        var counts: (pieces: Int, bytes: Int) { state.withLock { $0 } }
        func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
            let count = bytes.byteCount
            state.withLock { $0 = ($0.pieces + 1, $0.bytes + count) }
            return .pause
        }
    }

    @Test func bodyThatTheCallerStopsIsKeptAsAPart() async throws {
        let world = CachingWorld(
            OriginHandler { request, number in
                if number > 1 { return rangesExchange(request) }
                var response = Response(url: request.url, expectedLength: 10, status: .ok)
                response.fields = [.cacheControl: "max-age=60", .eTag: "\"x\""]
                return [.response(response), .data(Array("0123".utf8)), .data(Array("456789".utf8)), .finish]
            })
        let task = world.loader.task(for: try Request("http://host.example/a"), delegate: PausingDelegate())
        task.resume()
        task.cancel()
        #expect(world.store.entries.first?.body.ranges.ranges == [0..<4])
        #expect(try await world.get().body == "0123456789")
    }

    // MARK: - Other policies

    /// A stored `Strict-Transport-Security` must not prolong what its host said when it was received.
    @Test func policiesLearnNothingFromStoredResponses() async throws {
        let policy = CountingPolicy()
        let world = CachingWorld(OriginHandler { request, _ in exchange(request, 200, "Cache-Control: max-age=60") }) {
            $0.upgradePolicy = policy
        }
        for source in [ResponseSource.network, .cache] { #expect(try await world.get().source == source) }
        #expect(policy.sources == [.network])
    }

    private final class CountingPolicy: UpgradePolicy {
        private let log = Mutex<[ResponseSource]>([])
        var sources: [ResponseSource] { log.withLock { $0 } }
        func upgraded(_ url: URLRecord) -> URLRecord? { nil }
        func learn(from response: Response) -> String? {
            log.withLock { $0.append(response.source) }
            return nil
        }
    }

    // MARK: - Other protocols

    /// A handler of another protocol receives its stored response, confirms it, and the caller gets the stored body.
    @Test func storedResponseOfAnotherProtocolIsConfirmed() async throws {
        let handler = ConfirmingHandler()
        var configuration = Loader.Configuration()
        configuration.cache = ResponseCache()
        configuration.handlers = [handler]
        let loader = Loader(configuration: configuration, registry: ProtocolRegistry())
        for (source, count) in [(ResponseSource.network, 1), (.validated, 2)] {
            let (body, response) = try await loader.data(for: Request("tide:today"))
            #expect(String(decoding: body, as: UTF8.self) == "high" && response.source == source && handler.count == count)
            #expect(response.status == nil && response.fields[.eTag] == "\"x\"")
        }
    }

    private final class ConfirmingHandler: ProtocolHandler {
        let identifier = "test.tide"
        let schemes = SchemeSet.only(["tide"])
        let traits: HandlerTraits = [.cacheable, .stopsAsynchronously]
        private let loads = Mutex(0)
        var count: Int { loads.withLock { $0 } }

        func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
            loads.withLock { $0 += 1 }
            guard let cachedResponse else {
                var response = Response(url: request.url)
                response.fields = [.eTag: "\"x\"", .cacheControl: "no-cache"]
                return StorableLoad(response, Array("high".utf8), client)
            }
            return ConfirmingLoad(cachedResponse, client)
        }
    }

    private final class StorableLoad: ProtocolLoad {
        private let (response, body, client): (Response, [UInt8], any ProtocolClient)
        init(_ response: Response, _ body: [UInt8], _ client: any ProtocolClient) {
            (self.response, self.body, self.client) = (response, body, client)
        }
        func startLoading() {
            _ = client.didReceive(response, storage: .allowed)
            let octets = body
            let span = octets.span
            _ = unsafe client.didLoad(span.bytes)
            client.didFinishLoading()
        }
        func stopLoading() {}
        func resumeLoading() {}
    }

    private final class ConfirmingLoad: ProtocolLoad {
        private let (cached, client): (CachedResponse, any ProtocolClient)
        init(_ cached: CachedResponse, _ client: any ProtocolClient) { (self.cached, self.client) = (cached, client) }
        func startLoading() {
            client.cachedResponseIsValid(cached, newer: nil)
            client.didFinishLoading()
        }
        func stopLoading() {}
        func resumeLoading() {}
    }

    /// A load that the cache does not concern has no step through it.
    @Test func handlersWithoutTheTraitAreNotStored() async throws {
        let world = CachingWorld(OriginHandler { request, _ in exchange(request, 200) }) { configuration in
            configuration.handlers.append(
                AsyncHandler(identifier: "test.plain", schemes: ["plain"]) { _, client in
                    var response = Response(url: try URLRecord(parsing: "plain:x"))
                    response.fields = [.cacheControl: "max-age=60"]
                    try await client.didReceive(response)
                })
        }
        for _ in 0..<2 { #expect(try await world.get("plain:x").source == .network) }
        #expect(world.store.entries.isEmpty)
    }
}
