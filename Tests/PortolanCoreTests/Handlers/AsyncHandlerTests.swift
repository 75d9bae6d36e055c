// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct AsyncHandlerTests {
    private struct Failure: Error {}

    /// A handler of `x:` URLs whose load is this function.
    private func handler(_ load: @escaping @Sendable (Request, AsyncClient) async throws -> Void) -> AsyncHandler {
        AsyncHandler(identifier: "org.example.async", schemes: ["x"], load: load)
    }

    @Test func oneFunctionLoadsARequest() async throws {
        let handler = handler { request, client in
            try await client.didReceiveInterim(Response(url: request.url, status: .earlyHints))
            try await client.didReceive(Response(url: request.url, mimeType: MIMEType(parsing: "text/plain")))
            try await client.didLoad("Hello, ")
            try await client.didLoad(Data(request.url.path.utf8))
            try await client.didLoad([33])
            try await client.didReceiveTrailers([:])
        }
        let delegate = RecordingDelegate()
        loader(handler).task(for: try Request("x:you"), delegate: delegate).resume()
        await delegate.ended()
        #expect(delegate.text == "Hello, you!")
        #expect(delegate.events.first == .interim)
        #expect(delegate.events.suffix(2) == [.trailers, .finished])
    }

    @Test func handlerIsUsedOnlyForItsSchemes() async throws {
        let loader = loader(handler { _, _ in })
        await #expect(throws: LoadError.self) { try await loader.data(from: "y:1") }
        #expect(loader.schemes == ["x"])
    }

    @Test func thrownErrorsFailTheLoad() async throws {
        let handler = handler { request, client in
            try await client.didReceive(Response(url: request.url))
            switch request.url.path {
            case "load": throw LoadError(.cannotConnect, message: "no way")
            case "cancel": throw CancellationError()
            default: throw Failure()
            }
        }
        for (path, code) in [("load", LoadError.Code.cannotConnect), ("cancel", .cancelled), ("other", .unknown)] {
            let error = await #expect(throws: LoadError.self) { try await loader(handler).data(from: "x:\(path)") }
            #expect(error?.code == code, "\(path)")
            #expect(path == "load" || error?.message.contains("org.example.async") == true, "\(error?.message ?? "")")
        }
    }

    @Test(arguments: ["my scheme", "", "1x", "x:", "é"]) func impossibleSchemeIsNamedInTheErrorOfALoad(scheme: String) async throws {
        let loader = loader(AsyncHandler(identifier: "org.example.impossible", schemes: ["x", scheme]) { _, _ in })
        let error = await #expect(throws: LoadError.self) { try await loader.data(from: "my-scheme:1") }
        #expect(error?.code == .unsupportedScheme)
        #expect(error?.message.contains("the handler org.example.impossible names '\(scheme)', which is not a URL scheme") == true)
    }

    @Test func loadWithoutAResponseFails() async throws {
        let error = await #expect(throws: LoadError.self) { try await loader(handler { _, _ in }).data(from: "x:1") }
        #expect(error?.code == .protocolViolation)
    }

    /// `didLoad` does not return while the delegate has paused the load.
    @Test func aSlowReaderPausesTheFunction() async throws {
        let deliveredCount = Mutex(0)
        let handler = handler { request, client in
            try await client.didReceive(Response(url: request.url))
            for _ in 0..<3 {
                try await client.didLoad([1])
                deliveredCount.withLock { $0 += 1 }
            }
        }
        let (pauses, pauseSource) = AsyncStream.makeStream(of: Void.self)
        let delegate = RecordingDelegate { event, _ in
            guard case .data = event else { return .keepGoing }
            pauseSource.yield()
            return .pause
        }
        let task = loader(handler).task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        var pauseIterator = pauses.makeAsyncIterator()
        for count in 0..<3 {
            _ = await pauseIterator.next()
            #expect(deliveredCount.withLock { $0 } <= count)
            task.resume()
        }
        await delegate.ended()
        #expect(delegate.events.last == .finished && deliveredCount.withLock { $0 } == 3)
    }

    @Test(arguments: [false, true]) func stopCancelsTheFunction(whilePaused: Bool) async throws {
        let (ends, endSource) = AsyncStream.makeStream(of: Bool.self)
        let (starts, startSource) = AsyncStream.makeStream(of: Void.self)
        let handler = handler { request, client in
            do {
                try await client.didReceive(Response(url: request.url))
                try await client.didLoad([1])
                startSource.yield()
                try await Task.sleep(for: .seconds(1000))
            } catch is CancellationError {
                endSource.yield(client.isStopped)
                throw CancellationError()
            }
        }
        let delegate = RecordingDelegate { event, _ in
            guard case .data = event, whilePaused else { return .keepGoing }
            startSource.yield()
            return .pause
        }
        let task = loader(handler).task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        for await _ in starts { break }
        task.cancel()
        for await isStopped in ends {
            #expect(isStopped)
            break
        }
        await delegate.ended()
        #expect(delegate.events.last == .failed(.cancelled))
    }

    @Test func aDelegateThatStopsEndsTheFunction() async throws {
        let (ends, endSource) = AsyncStream.makeStream(of: Bool.self)
        let handler = handler { request, client in
            do {
                try await client.didReceive(Response(url: request.url))
                endSource.yield(false)
            } catch {
                endSource.yield(error is CancellationError)
                throw error
            }
        }
        let delegate = RecordingDelegate { event, _ in if case .response = event { .stopped } else { .keepGoing } }
        loader(handler).task(for: try Request("x:1"), delegate: delegate).resume()
        for await isCancelled in ends {
            #expect(isCancelled)
            break
        }
        await delegate.ended()
        #expect(delegate.events.last == .failed(.cancelled))
    }

    @Test(arguments: [true, false]) func redirectsAreFollowedOrDelivered(follows: Bool) async throws {
        let handler = handler { request, client in
            if request.url.path == "1" {
                try await client.wasRedirected(to: Request("x:2"), response: Response(url: request.url))
                try await client.didReceive(Response(url: request.url))
                return try await client.didLoad("declined")
            }
            try await client.didReceive(Response(url: request.url))
            try await client.didLoad("followed")
        }
        // The decision comes later, on another thread.
        let delegate = RecordingDelegate(onRedirect: { request, decide in Task { decide(follows ? .follow(request) : .deliver) } })
        loader(handler).task(for: try Request("x:1"), delegate: delegate).resume()
        await delegate.ended()
        #expect(delegate.text == (follows ? "followed" : "declined"))
        #expect(delegate.events.last == .finished)
    }

    @Test func challengesWaitForTheirAnswer() async throws {
        let handler = handler { request, client in
            let answer = try await client.challenge(
                ProtectionSpace(kind: .password(scheme: ""), protocolName: "x", host: "h"))
            guard case .use(.password(let user, _, _)) = answer else { throw Failure() }
            try await client.didReceive(Response(url: request.url))
            try await client.didLoad(user)
        }
        let delegate = ClosureDelegate(onChallenge: { _ in
            await Task.yield()
            return .use(.password(user: "me", password: "pw"))
        })
        let (body, _) = try await loader(handler).data(for: Request("x:1"), delegate: delegate)
        #expect(body == Data("me".utf8))
    }

    /// The delegate retains the challenge and does not answer it.
    @Test func cancelEndsTheWaitForAnAnswer() async throws {
        let (ends, endSource) = AsyncStream.makeStream(of: Bool.self)
        let handler = handler { _, client in
            do {
                _ = try await client.challenge(ProtectionSpace(kind: .password(scheme: ""), protocolName: "x", host: "h"))
                endSource.yield(false)
            } catch {
                endSource.yield(error is CancellationError)
                throw error
            }
        }
        let receivedChallenges = Mutex<[AuthenticationChallenge]>([])
        let (challengeSignals, challengeSource) = AsyncStream.makeStream(of: Void.self)
        let delegate = RecordingDelegate(onChallenge: { challenge in
            receivedChallenges.withLock { $0.append(challenge) }
            challengeSource.yield()
        })
        let task = loader(handler).task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        for await _ in challengeSignals { break }
        task.cancel()
        for await isCancelled in ends {
            #expect(isCancelled)
            break
        }
        await delegate.ended()
        #expect(receivedChallenges.withLock { $0.count } == 1)
    }
}
