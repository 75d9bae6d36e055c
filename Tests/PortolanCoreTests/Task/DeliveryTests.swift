// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The threads and queues on which completion handlers and delegates are called.
@Suite(.timeLimit(.minutes(2))) struct DeliveryTests {
    private let stub = StubHandler(schemes: .only(["stub"])) { _ in .text("hello") }

    @Test func aCompletionHandlerMayWaitForAnotherLoad() throws {
        let handler = ManualHandler(schemes: .only(["x"]))
        let loader = loader(handler)
        let nestedResult = ConditionLock<Result<Int, LoadError>?>(nil)
        loader.load(try Request("x:outer")) { _ in
            do throws(LoadError) {
                let count = try loader.waitForData(for: Request("x:inner")).0.count
                nestedResult.withLockBroadcasting { $0 = .success(count) }
            } catch {
                nestedResult.withLockBroadcasting { $0 = .failure(error) }
            }
        }
        let first = try #require(handler.loads.first)
        first.respond()
        // This thread delivers the events of both loads, like the thread of an event loop.
        first.finish()
        let second = try #require(waitForLoad(2, of: handler))
        second.respond()
        second.deliver("inner")
        second.finish()
        #expect(nestedResult.wait(atMost: .seconds(60)) { $0 } == .success(5))
    }

    @Test func completionHandlersThatWaitForEachOtherAllRun() throws {
        let loader = loader(stub)
        let begunCount = ConditionLock(0)
        let count = 100
        for _ in 0..<count {
            loader.load(try Request("stub:1")) { _ in
                begunCount.withLockBroadcasting { $0 += 1 }
                begunCount.wait { $0 == count ? () : nil }
            }
        }
        #expect(begunCount.wait(atMost: .seconds(60)) { $0 == count ? true : nil } == true)
    }

    @Test func aThousandCompletionHandlersNeedFewThreads() throws {
        let threads = DeliveryThreads()
        let doneCount = ConditionLock(0)
        for _ in 0..<1000 { threads.run { doneCount.withLockBroadcasting { $0 += 1 } } }
        #expect(doneCount.wait(atMost: .seconds(60)) { $0 == 1000 ? true : nil } == true)
        #expect(threads.threadCount <= DeliveryThreads.maximumThreads)
    }

    @Test func anImmediateCompletionHandlerIsCalledBeforeTheCallReturns() throws {
        let thread = Mutex<UInt?>(nil)
        loader(stub).load(try Request("stub:1"), on: .immediate) { _ in thread.withLock { $0 = UInt(pthread_self()) } }
        #expect(thread.withLock { $0 } == UInt(pthread_self()))
    }

    @Test func callersQueueRunsTheDelegateBeforeTheCompletionHandler() throws {
        let jobs = Mutex<[@Sendable () -> Void]>([])
        let queue = DeliveryQueue { job in jobs.withLock { $0.append(job) } }
        let handler = ManualHandler { load in
            load.client.didReceiveInterim(Response(url: load.request.url))
            load.respond()
            load.finish()
        }
        let delegate = RecordingDelegate()
        let isDone = Mutex(false)
        loader(handler).load(try Request("x:1"), delegate: delegate, on: queue) { _ in
            #expect(delegate.events == [.interim, .finished])
            isDone.withLock { $0 = true }
        }
        #expect(delegate.events.isEmpty)
        while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { job() }
        #expect(isDone.withLock { $0 })
    }

    @Test func delegateThatAnswersSlowlyDoesNotBlockTheHandlersThread() async throws {
        let handler = ManualHandler()
        let loader = loader(handler)
        let mayAnswer = ConditionLock(false)
        let delegate = RecordingDelegate(onChallenge: { challenge in
            mayAnswer.wait { $0 ? () : nil }
            challenge.answer(.use(.password(user: "me", password: "")))
        })
        async let result = loader.data(for: Request("x:1"), delegate: delegate)
        let load = await handler.nextLoad()
        let receivedAnswer = ConditionLock<ChallengeAnswer?>(nil)
        let space = ProtectionSpace(kind: .password(scheme: ""), protocolName: "x", host: "h")
        load.client.didReceive(
            AuthenticationChallenge(protectionSpace: space) { answer in receivedAnswer.withLockBroadcasting { $0 = answer } })
        // `didReceive` has returned, although the delegate has not answered the challenge.
        mayAnswer.withLockBroadcasting { $0 = true }
        guard case .use(.password("me", _, _))? = receivedAnswer.wait(atMost: .seconds(60), for: { $0 }) else {
            Issue.record("the challenge got no answer")
            return
        }
        load.respond()
        load.deliver("secret")
        load.finish()
        #expect(try await String(decoding: result.0, as: UTF8.self) == "secret")
    }

    @Test func allDelegateCallsComeBeforeTheResult() async throws {
        let handler = ManualHandler { load in
            for step in [LoadStep.connected, .requestSent, .firstByte] { load.client.didReach(step) }
            load.respond()
            load.deliver("x")
            load.client.didReceiveTrailers([:])
            load.finish()
        }
        let loader = loader(handler)
        for _ in 0..<100 {
            let delegate = RecordingDelegate()
            _ = try await loader.data(for: Request("x:1"), delegate: delegate)
            #expect(delegate.events == [.step(.connected), .step(.requestSent), .step(.firstByte), .trailers, .finished])
            let bytesDelegate = RecordingDelegate()
            let (chunks, _) = try await loader.bytes(for: Request("x:1"), delegate: bytesDelegate)
            for try await _ in chunks {}
            #expect(bytesDelegate.events == delegate.events)
        }
    }

    @Test func blockingWaitOnAnEventLoopsThreadFailsImmediately() throws {
        let thread = UInt(pthread_self())
        let isEventLoopThread = Atomic(true)
        NonBlockingThreads.add { isEventLoopThread.load(ordering: .relaxed) && UInt(pthread_self()) == thread }
        defer { isEventLoopThread.store(false, ordering: .relaxed) }
        let handler = ManualHandler(schemes: .only(["x"]))
        let loader = loader(handler, stub)
        #expect(throws: LoadError.self) { try loader.waitForData(for: Request("x:1")) }
        #expect(handler.loads.first?.calls == [.start, .stop])
        // A request that could change the state of a server is not sent.
        var request = try Request("x:2")
        request.method = .post
        let postRequest = request
        #expect(throws: LoadError.self) { try loader.waitForData(for: postRequest) }
        #expect(handler.loads.count == 1)
        // A load that ends without waiting succeeds.
        #expect(try loader.waitForData(for: Request("stub:1")).0.count == 5)
    }

    @Test func blockingWaitBeyondTheThreadLimitSendsNoPOST() throws {
        let handler = ManualHandler(schemes: .only(["x"]))
        let loader = loader(handler)
        let threads = LoadThreadPool(limit: 1)
        for _ in 0..<LoadThreadPool.maximumWaitingForLoads { try threads.releaseSlot() }
        let outcome = ConditionLock<LoadError?>(nil)
        var request = try Request("x:1")
        request.method = .post
        try threads.run { [request] in
            do throws(LoadError) {
                _ = try loader.waitForData(for: request)
                outcome.withLockBroadcasting { $0 = LoadError(.unknown, message: "the POST was not refused") }
            } catch {
                outcome.withLockBroadcasting { $0 = error }
            }
        }
        #expect(outcome.wait(atMost: .seconds(60)) { $0 }?.code == .noResources)
        #expect(handler.loads.isEmpty)
    }

    @Test func suspendedTaskCallsItsDelegateAfterTheResume() async throws {
        let handler = ManualHandler()
        let loader = loader(handler)
        let isComplete = ConditionLock<Bool?>(nil)
        let delegate = RecordingDelegate()
        let task = loader.load(try Request("x:1"), delegate: delegate) { outcome in
            isComplete.withLockBroadcasting { $0 = (try? outcome.get()) != nil }
        }
        let load = try #require(handler.loads.first)
        task.suspend()
        load.client.didReach(.connected)
        load.respond()
        #expect(delegate.events.isEmpty)
        task.resume()
        let limit = MonotonicTime.now + .seconds(60)
        while !load.calls.contains(.resume), MonotonicTime.now < limit { sched_yield() }
        load.finish()
        #expect(isComplete.wait(atMost: .seconds(60)) { $0 } == true)
        #expect(delegate.events == [.step(.connected), .finished])
    }

    /// A failure is delivered before the resume, unless events from before the suspension are still queued.
    @Test(arguments: [false, true]) func failureOfASuspendedLoadIsDeliveredImmediately(hasEarlierEvents: Bool) throws {
        let jobs = Mutex<[@Sendable () -> Void]>([])
        let handler = ManualHandler()
        let delegate = RecordingDelegate()
        let queue = DeliveryQueue { job in jobs.withLock { $0.append(job) } }
        let task = loader(handler).task(for: try Request("x:1"), delegate: delegate, on: queue)
        task.resume()
        let load = try #require(handler.loads.first)
        if hasEarlierEvents { load.client.didReach(.connected) }
        task.suspend()
        load.client.didReach(.requestSent)
        load.client.didFail(with: LoadError(.cannotConnect, message: "no"))
        let runJobs = { while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { job() } }
        runJobs()
        #expect(delegate.events == (hasEarlierEvents ? [] : [.failed(.cannotConnect)]))
        task.resume()
        runJobs()
        #expect(delegate.events == (hasEarlierEvents ? [.step(.connected), .failed(.cannotConnect)] : [.failed(.cannotConnect)]))
    }

    /// Waits for at most 60 seconds until the handler has made `count` loads, and returns the last of them.
    private func waitForLoad(_ count: Int, of handler: ManualHandler) -> ManualLoad? {
        let limit = MonotonicTime.now + .seconds(60)
        while handler.loads.count < count, MonotonicTime.now < limit { sched_yield() }
        return handler.loads.count < count ? nil : handler.loads[count - 1]
    }
}
