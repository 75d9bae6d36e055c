// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCLI

/// Attempts that fail in a retryable way, and what they write to the output.
@Suite struct GetLoadRetryTests {
    /// Makes one attempt to load `x://h/` with a handler that responds with `response`. `retries` says whether another
    /// attempt would follow after a retryable failure.
    private func load(
        _ response: StubResponse, into output: RecordingOutput = RecordingOutput(), retries: Bool = true, failsOnHTTPError: Bool = false
    ) throws -> (load: GetLoad, retryableFailures: [RetryableFailure], failure: Failure?) {
        var configuration = Loader.Configuration()
        configuration.handlers = [StubHandler { _ in response }]
        let retryableFailures = Mutex<[RetryableFailure]>([])
        let load = GetLoad(output: output, observers: [], includesHead: true, failsOnHTTPError: failsOnHTTPError) { retryableFailure, _ in
            retryableFailures.withLock { $0.append(retryableFailure) }
            return retries ? .wait(.seconds(2)) : .giveUp(reason: "enough")
        }
        let request = try Request("x://h/")
        do throws(Failure) {
            try load.run(request, on: Loader(configuration: configuration, registry: ProtocolRegistry()), grace: .seconds(1))
            return (load, retryableFailures.withLock { $0 }, nil)
        } catch {
            return (load, retryableFailures.withLock { $0 }, error)
        }
    }

    private static func busyResponse(_ code: Int = 503) -> StubResponse {
        var response = StubResponse.text("busy")
        response.status = .init(code: code)
        return response
    }

    @Test func responseThatWillBeRetriedIsNotWritten() throws {
        let output = RecordingOutput()
        let (load, retryableFailures, failure) = try load(Self.busyResponse(), into: output)
        #expect(load.retry == GetLoad.Retry(retryableFailure: .status(503, wait: nil), wait: .seconds(2)))
        #expect(retryableFailures == [.status(503, wait: nil)])
        #expect(failure == Failure(.httpError, "the response for 'x://h/' is 503"))
        #expect(output.log == ["abandon"])
    }

    @Test func responseOfTheLastAttemptIsWritten() throws {
        let output = RecordingOutput()
        let (load, retryableFailures, failure) = try load(Self.busyResponse(), into: output, retries: false)
        #expect(load.retry == nil && retryableFailures.count == 1 && failure == nil && load.reasonNotToRetry == "enough")
        #expect(output.log.suffix(2) == ["write busy", "complete"])
        #expect(try self.load(Self.busyResponse(), retries: false, failsOnHTTPError: true).failure?.status == .httpError)
    }

    @Test func responseWith404IsNotRetried() throws {
        let (load, retryableFailures, failure) = try load(Self.busyResponse(404))
        #expect(load.retry == nil && retryableFailures.isEmpty && failure == nil)
    }

    @Test func timeoutInTheBodyIsRetriedIfTheOutputCanStartAgain() throws {
        var response = StubResponse.text("half")
        response.announcesLength = false
        response.failure = LoadError(.timedOut, message: "slow")
        #expect(try load(response).load.retry?.retryableFailure == .error(.timedOut))
        let (load, retryableFailures, failure) = try load(response, into: RecordingOutput(canStartAgain: false))
        #expect(load.retry == nil && retryableFailures == [.error(.timedOut)] && failure?.status == .timedOut)
        #expect(load.reasonNotToRetry == "a part of the body was already written, and can't be removed from the output")
    }

    @Test func outputFailureIsNotRetried() throws {
        var response = StubResponse.text("half")
        response.announcesLength = false
        response.failure = LoadError(.timedOut, message: "slow")
        let (load, retryableFailures, _) = try load(response, into: RecordingOutput(writeFailure: Failure(.writeFailed, "full")))
        #expect(load.retry == nil && retryableFailures.isEmpty)
    }
}
