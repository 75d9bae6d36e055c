// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCLI

/// The loads that request another try, and their output until then.
@Suite struct GetLoadRetryTests {
    /// Loads `x://h/` from a handler that responds with `answer`. Every retryable failure is worth another try if
    /// `retries` is `true`.
    private func load(
        _ answer: StubAnswer, into output: RecordingOutput = RecordingOutput(), retries: Bool = true, refusesBadStatus: Bool = false
    ) throws -> (load: GetLoad, setbacks: [RetryableFailure], failure: Failure?) {
        var configuration = Loader.Configuration.default
        configuration.handlers = [StubHandler { _ in answer }]
        let setbacks = Mutex<[RetryableFailure]>([])
        let load = GetLoad(output: output, observers: [], includesHead: true, refusesBadStatus: refusesBadStatus) { retryableFailure, _ in
            setbacks.withLock { $0.append(retryableFailure) }
            return retries ? .wait(.seconds(2)) : .giveUp(reason: "enough")
        }
        let request = try Request("x://h/")
        do throws(Failure) {
            try load.run(request, on: Loader(configuration: configuration, registry: ProtocolRegistry()), grace: .seconds(1))
            return (load, setbacks.withLock { $0 }, nil)
        } catch {
            return (load, setbacks.withLock { $0 }, error)
        }
    }

    private static func busy(_ code: Int = 503) -> StubAnswer {
        var answer = StubAnswer.text("busy")
        answer.status = .init(code: code)
        return answer
    }

    @Test func aStatusThatMayPassIsNotWritten() throws {
        let output = RecordingOutput()
        let (load, setbacks, failure) = try load(Self.busy(), into: output)
        #expect(load.retry == GetLoad.Retry(retryableFailure: .status(wait: nil), wait: .seconds(2)))
        #expect(setbacks == [.status(wait: nil)])
        #expect(failure == Failure(.statusRefused, "the answer for 'x://h/' is 503"))
        #expect(output.log == ["abandon"])
    }

    @Test func onTheLastTryItIs() throws {
        let output = RecordingOutput()
        let (load, setbacks, failure) = try load(Self.busy(), into: output, retries: false)
        #expect(load.retry == nil && setbacks.count == 1 && failure == nil && load.reasonNotToRetry == "enough")
        #expect(output.log.suffix(2) == ["write busy", "complete"])
        #expect(try self.load(Self.busy(), retries: false, refusesBadStatus: true).failure?.status == .statusRefused)
    }

    @Test func otherStatusesAreFinal() throws {
        let (load, setbacks, failure) = try load(Self.busy(404))
        #expect(load.retry == nil && setbacks.isEmpty && failure == nil)
    }

    @Test func aTimeOutInTheBodyIsTriedAgainWhereNothingIsWrittenForGood() throws {
        var answer = StubAnswer.text("half")
        answer.announcesLength = false
        answer.failure = LoadError(.timedOut, message: "slow")
        #expect(try load(answer).load.retry?.retryableFailure == .timedOut)
        let (load, setbacks, failure) = try load(answer, into: RecordingOutput(canStartAgain: false))
        #expect(load.retry == nil && setbacks == [.timedOut] && failure?.status == .timedOut)
        #expect(load.reasonNotToRetry == "a part of the body was written where it can't be taken back")
    }

    @Test func aFailureOfTheOutputIsFinal() throws {
        var answer = StubAnswer.text("half")
        answer.announcesLength = false
        answer.failure = LoadError(.timedOut, message: "slow")
        let (load, setbacks, _) = try load(answer, into: RecordingOutput(failure: Failure(.writeFailed, "full")))
        #expect(load.retry == nil && setbacks.isEmpty)
    }
}
