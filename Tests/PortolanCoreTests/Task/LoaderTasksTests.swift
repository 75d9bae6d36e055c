// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

@Suite struct LoaderTasksTests {
    private final class Recorder: LoaderDelegate {
        let log = Mutex<[String]>([])
        var entries: [String] { log.withLock { $0 } }
        func add(_ entry: String) { log.withLock { $0.append(entry) } }
        func loadTask(_ task: LoadTask, didEndWith error: LoadError?) { add("end \(error?.name ?? "complete")") }
        func loaderDidBecomeInvalid(_ loader: Loader) { add("invalid") }
    }

    /// A handler whose loads wait until a test ends them.
    private let handler = ManualHandler(schemes: .only(["x"]))

    private func makeLoader(_ delegate: (any LoaderDelegate)? = nil) -> Loader {
        var configuration = Loader.Configuration()
        configuration.handlers = [handler]
        return Loader(configuration: configuration, registry: ProtocolRegistry(), delegate: delegate)
    }

    private func request(_ name: String) throws -> Request { try Request("x:\(name)") }

    private final class Answering: LoaderDelegate {
        let count = Mutex(0)
        func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) {
            count.withLock { $0 += 1 }
            challenge.answer(.use(.password(user: "u", password: "p")))
        }
    }

    private final class Refusing: LoadDelegate {
        func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) { challenge.answer(.continueWithoutCredential) }
    }

    private final class Silent: LoadDelegate {}

    /// Asks another delegate, which has no method for challenges.
    private final class Wrapper: LoaderDelegate {
        let inner = Silent()
        let count = Mutex(0)
        func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) {
            count.withLock { $0 += 1 }
            inner.loadTask(task, didReceive: challenge)
        }
        func loadTask(_ task: LoadTask, didCancel challenge: AuthenticationChallenge) {
            count.withLock { $0 += 10 }
            inner.loadTask(task, didCancel: challenge)
        }
    }

    @Test(arguments: [true, false]) func loaderDelegateReceivesAChallengeOnce(isDelegateOfTask: Bool) throws {
        let wrapper = Wrapper()
        let loader = makeLoader(wrapper)
        let task = loader.task(for: try request("a"), delegate: isDelegateOfTask ? wrapper : Silent())
        task.resume()
        let client = try #require(handler.loads.first).client
        let space = ProtectionSpace(kind: .password(scheme: "basic"), protocolName: "x", host: "h", port: 1, realm: "r")
        let answers = Mutex<[String]>([])
        let challenge = AuthenticationChallenge(protectionSpace: space) { answer in
            let name = if case .performDefault = answer { "default" } else { "other" }
            answers.withLock { $0.append(name) }
        }
        client.didReceive(challenge)
        #expect(wrapper.count.withLock { $0 } == 1)
        client.didCancel(challenge)
        #expect([1, 11].contains(wrapper.count.withLock { $0 }))
        task.cancel()
        #expect(answers.withLock { $0 }.count <= 1)
        loader.invalidateAndCancel()
    }

    /// As in URLSession.
    @Test func loaderDelegateAnswersWhatTheDelegateOfATaskDoesNot() async throws {
        let handler = AsyncHandler(identifier: "test.challenge", schemes: ["x"]) { request, client in
            let space = ProtectionSpace(kind: .password(scheme: "basic"), protocolName: "x", host: "h", port: 1, realm: "r")
            let answer = try await client.challenge(space)
            let text = if case .use = answer { "used" } else { "none" }
            try await client.didReceive(Response(url: request.url))
            try await client.didLoad(text)
        }
        var configuration = Loader.Configuration()
        configuration.handlers = [handler]
        let delegate = Answering()
        let loader = Loader(configuration: configuration, registry: ProtocolRegistry(), delegate: delegate)
        for (own, expected) in [(Silent(), "used"), (ClosureDelegate(), "used"), (Refusing(), "none")] as [(any LoadDelegate, String)] {
            let (data, _) = try await loader.data(for: request("a"), delegate: own)
            #expect(String(decoding: data, as: UTF8.self) == expected)
        }
        #expect(delegate.count.withLock { $0 } == 2)
        loader.invalidateAndCancel()
    }

    @Test func startedTasksAreListedUntilTheirEnd() throws {
        let (loader, recorder) = (makeLoader(), Recorder())
        let tasks = try ["a", "b", "c"].map { loader.task(for: try request($0), delegate: recorder) }
        #expect(loader.tasks.isEmpty && tasks.map(\.identifier) == [1, 2, 3])
        tasks[1].taskDescription = "second"
        for task in tasks { task.resume() }
        #expect(loader.tasks.map(\.identifier) == [1, 2, 3])
        #expect(loader.tasks.map(\.taskDescription) == [nil, "second", nil])
        tasks[1].suspend()
        #expect(loader.tasks.map(\.identifier) == [1, 2, 3])
        tasks[0].cancel()
        #expect(loader.tasks.map(\.identifier) == [2, 3])
        loader.cancelAll()
        #expect(loader.tasks.isEmpty)
        #expect(recorder.entries == ["end cancelled", "end cancelled", "end cancelled"])
    }

    @Test func listRetainsRunningTasksAndNoSuspendedOnes() throws {
        let loader = makeLoader()
        weak var running: LoadTask?
        weak var suspended: LoadTask?
        do {
            let first = loader.task(for: try request("a"), delegate: Recorder())
            let second = loader.task(for: try request("b"), delegate: Recorder())
            first.resume()
            second.resume()
            second.suspend()
            (running, suspended) = (first, second)
        }
        #expect(running != nil && suspended == nil && loader.tasks.count == 1)
        loader.cancelAll()
        #expect(running == nil && loader.tasks.isEmpty)
    }

    @Test func runningTasksEndAndNoOtherStarts() throws {
        let (recorder, own, late) = (Recorder(), Recorder(), Recorder())
        let loader = makeLoader(recorder)
        let task = loader.task(for: try request("a"), delegate: own)
        task.resume()
        loader.finishTasksAndInvalidate()
        loader.task(for: try request("b"), delegate: late).resume()
        #expect(late.entries == ["end cancelled"] && own.entries == [] && recorder.entries == [])
        #expect(loader.tasks.map(\.identifier) == [1])
        task.cancel()
        #expect(own.entries == ["end cancelled"] && recorder.entries == ["invalid"])
    }

    @Test func invalidLoaderTellsItsDelegateOnce() throws {
        let recorder = Recorder()
        let loader = makeLoader(recorder)
        let own = Recorder()
        loader.task(for: try request("a"), delegate: own).resume()
        loader.invalidateAndCancel()
        loader.invalidateAndCancel()
        #expect(own.entries == ["end cancelled"] && recorder.entries == ["invalid"])
        let idle = Recorder()
        makeLoader(idle).finishTasksAndInvalidate()
        #expect(idle.entries == ["invalid"])
    }

    @Test func delegateOfTheLoaderIsReleasedAtItsEnd() {
        weak var released: Recorder?
        let loader: Loader
        do {
            let recorder = Recorder()
            released = recorder
            loader = makeLoader(recorder)
        }
        #expect(released != nil)
        loader.finishTasksAndInvalidate()
        #expect(released == nil)
    }

    @Test func delegateOfTheLoaderServesTasksWithoutOne() async throws {
        final class Refusing: LoaderDelegate {
            func loadTask(
                _ task: LoadTask, willRedirectTo request: Request, response: Response,
                decide: @escaping @Sendable (RedirectDecision) -> Void
            ) {
                decide(.deliver)
            }
        }
        var configuration = Loader.Configuration()
        configuration.handlers = [
            AsyncHandler(identifier: "test.redirects", schemes: ["x"]) { request, client in
                let response = Response(url: request.url, status: .found)
                try await client.wasRedirected(to: try Request("x:next"), response: response)
                try await client.didReceive(response)
                try await client.didLoad("declined")
            }
        ]
        let loader = Loader(configuration: configuration, registry: ProtocolRegistry(), delegate: Refusing())
        let (body, response) = try await loader.data(from: "x:first")
        #expect(String(decoding: body, as: UTF8.self) == "declined" && response.status == .found)
    }
}
