// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

extension HTTPLoad: HTTPTransaction {
    func didSend(bodyBytes: Int) {
        sentBodyByteCount += Int64(bodyBytes)
        client.didSend(bodyBytes: Int64(bodyBytes), total: sentBodyByteCount, expected: upload?.length)
    }

    func requestIsSent() { client.didReach(.requestSent) }

    private func reportFirstByte() {
        guard !hasResponseBegun else { return }
        hasResponseBegun = true
        client.didReach(.firstByte)
    }

    /// Fails the load if a response arrives before the request was sent.
    ///
    /// - Returns: whether the request was sent.
    private func checkRequestWasSent() -> Bool {
        guard case .evaluatingTrust(let stream, _) = state else { return true }
        cancelOpenChallenge()
        fail(LoadError(.badResponse, message: "\(key) sent a response before the request"))
        stream.cancel(self)
        return false
    }

    func didReceiveInterim(_ head: ResponseHead) {
        guard checkRequestWasSent() else { return }
        reportFirstByte()
        client.didReceiveInterim(
            ReceivedResponse(head, from: request.url, bodyLength: nil, contentTypeCache: &loopWithPool.contentTypeCache).response)
    }

    func didReceive(_ head: ResponseHead, bodyLength length: Int64?) -> Flow {
        guard checkRequestWasSent() else { return .stopped }
        reportFirstByte()
        guard case .transferring(let stream) = state else { return .stopped }
        let received = ReceivedResponse(
            head, from: request.url, bodyLength: length, isVerified: isVerified, contentTypeCache: &loopWithPool.contentTypeCache)
        if head.status == 417, preparedRequest.expectsContinue, preparedRequest.addsExpectation {
            return retryWithoutExpectation(received, from: stream)
        }
        if delaysBody, (200..<300).contains(head.status) { return sendAgain(after: received, from: stream) }
        if head.status == 401 || head.status == 407, let decision = authentication.decision(for: head) {
            state = .deciding(stream, received)
            if case .sendChallenge(let challenge) = decision {
                sendChallenge(challenge)
            } else {
                loopWithPool.loop.execute { [self] in performWhileDeciding(decision) }
            }
            return .pause
        }
        do throws(LoadError) { try recordAuthentication(by: received) } catch {
            client.didTransfer(stream.report)
            fail(error)
            return .stopped
        }
        if let successor = request.redirected(by: received.response) {
            state = .deciding(stream, received)
            switch client.wasRedirected(to: successor, redirectResponse: received.response) {
            case .stopped:
                // The client can have stopped the load in that call.
                guard case .deciding = state else { return .stopped }
                end()
                client.didTransfer(stream.report)
                return .stopped
            case .pause: return .pause
            case .keepGoing: break
            }
            guard case .deciding = state else { return .stopped }
        }
        state = .transferring(stream)
        return deliverResponse(received)
    }

    private func retryWithoutExpectation(_ received: ReceivedResponse, from stream: any HTTPStream) -> Flow {
        allowsExpectation = false
        return sendAgain(after: received, from: stream)
    }

    /// Sends the request again, because of a response that the caller does not receive.
    private func sendAgain(after received: ReceivedResponse, from stream: any HTTPStream) -> Flow {
        client.willResend(after: received.response)
        // The client can have stopped the load in that call.
        if case .over = state { return .stopped }
        client.didTransfer(stream.report)
        sendAgain()
        return .stopped
    }

    /// Delivers the response to the caller.
    private func deliverResponse(_ received: ReceivedResponse) -> Flow {
        stage = BodyStages(decoding: configuration.decodingLimits, multipart: configuration.multipartLimits).make(
            for: received.response, isCoded: received.mayBeDecoded, transferCodings: received.head.framing.transferCodings, to: request,
            client: client)
        // The fields say whether the response may be stored (`HandlerTraits.httpFields`).
        let flow = (stage ?? client).didReceive(received.response, storage: .allowed)
        if flow == .stopped { end() }
        return flow
    }

    func deliver(_ received: ReceivedResponse, from stream: any HTTPStream) {
        state = .transferring(stream)
        switch deliverResponse(received) {
        case .stopped: stream.cancel(self)
        case .pause: break
        case .keepGoing: stream.resumeReading(self)
        }
    }

    func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        let flow = if let stage { stage.didLoad(bytes) } else { client.didLoad(bytes) }
        if flow == .stopped { end() }
        return flow
    }

    func didEnd(trailers: HTTPFields?, report: TransferReport) {
        if let trailers, let proof, let information = HTTPChallenge.information(in: trailers) {
            do throws(LoadError) { try proof.check(information, host: key.host) } catch {
                client.didTransfer(report)
                return fail(error)
            }
        }
        end()
        client.didTransfer(report)
        let sink = stage ?? client
        if let trailers { sink.didReceiveTrailers(trailers) }
        sink.didFinishLoading()
    }

    func didFail(_ error: LoadError, eligibility: RetryEligibility, report: TransferReport) {
        if case .evaluatingTrust = state { cancelOpenChallenge() }
        let failure = ResendPolicy.Failure(
            eligibility: eligibility, hasResponse: hasResponseBegun, isReused: report.isReused, isIdempotent: request.method.isIdempotent,
            mayUseHTTP1: key.version == nil)
        switch resendPolicy.decide(after: failure) {
        case .sendAgain:
            // The server has probably closed other idle connections, too.
            if case .noResponse = eligibility { loopWithPool.pool?.closeIdleConnections(for: key) }
            if case .needsHTTP1 = eligibility { key.version = .http1 }
            if case .notProcessed = eligibility { wasNotProcessed = true }
            sendAgain(after: error)
        case .fail:
            client.didTransfer(report)
            fail(error)
        case .giveUp(let count):
            client.didTransfer(report)
            fail(error.afterSending(count))
        }
    }
}

extension LoadError {
    /// The error of the last of `count` attempts.
    fileprivate func afterSending(_ count: Int) -> LoadError {
        addingNote("tried \(count) times")
    }
}
