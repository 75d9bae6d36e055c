// SPDX-License-Identifier: Apache-2.0

import CPortolan
import HTTPTypes
import PortolanCore

/// The client functions that report events.
extension HostedLoad {
    /// Delivers body bytes. This is the hot path: it compares the thread, and then calls the client.
    func didLoad(_ bytes: UnsafeRawPointer?, _ length: Int) -> portolan_flow {
        guard isInCall else { return stoppedByMisplacedCall() }
        guard let bytes = unsafe bytes, UInt(bitPattern: length) <= Self.lengthLimit else {
            return unsafe didLoadWithoutBytes(bytes, length)
        }
        let flow = unsafe client.didLoad(UnsafeRawBufferPointer(start: bytes, count: length).bytes)
        return flow == .keepGoing ? PORTOLAN_CONTINUE : apply(flow)
    }

    /// A length that is larger than the memory of any process.
    private static var lengthLimit: UInt { 1 << 46 }

    private func didLoadWithoutBytes(_ bytes: UnsafeRawPointer?, _ length: Int) -> portolan_flow {
        guard length == 0 else {
            return failAndStop(
                ContractViolation(
                    .bytesAreReadable,
                    "did_load was called with \(UInt(bitPattern: length)) bytes at "
                        + "NULL, or with an impossible length"))
        }
        return unsafe apply(client.didLoad(UnsafeRawBufferPointer(start: nil, count: 0).bytes))
    }

    func didReceiveInterim(_ response: UnsafePointer<portolan_response>?) {
        reportEvent { () throws(ContractViolation) in
            client.didReceiveInterim(try unsafe Response(reading: response, for: request, isInterim: true))
        }
    }

    func didReceive(_ response: UnsafePointer<portolan_response>?) -> portolan_flow {
        deliverEvent { () throws(ContractViolation) in
            let cResponse = unsafe try portolan_response.read(response)
            let storage = try unsafe CacheStoragePolicy(cResponse.storage)
            return client.didReceive(try unsafe Response(cResponse, for: request, isInterim: false), storage: storage)
        }
    }

    func didReceiveTrailers(_ fields: UnsafePointer<portolan_field>?, _ count: Int) {
        reportEvent { () throws(ContractViolation) in
            client.didReceiveTrailers(try unsafe HTTPFields(reading: fields, count: count))
        }
    }

    func wasRedirected(to change: UnsafePointer<portolan_change>?, _ response: UnsafePointer<portolan_response>?) -> portolan_flow {
        deliverEvent { () throws(ContractViolation) in
            let cChange = unsafe try portolan_change.read(change)
            let head = try unsafe response == nil ? Response(url: request.url) : Response(reading: response, for: request, isInterim: false)
            guard unsafe !cChange.url.isPresent else {
                return client.wasRedirected(to: try unsafe request.applying(cChange), redirectResponse: head)
            }
            switch RedirectTarget(of: head) {
            case .url(let target):
                return client.wasRedirected(to: try unsafe request.applying(cChange, target: target), redirectResponse: head)
            // The load then delivers the response, and the core rejects that response, as for every handler.
            case .malformed, .ambiguous: return .keepGoing
            case .noRedirect, .unnamed:
                throw ContractViolation(
                    .redirectParses, "a redirect has no target; set an absolute URL, or pass a response with a Location")
            }
        }
    }

    func cachedResponseIsValid(_ newer: UnsafePointer<portolan_response>?) {
        reportEvent { () throws(ContractViolation) in
            guard let cachedResponse else {
                throw ContractViolation(
                    .confirmsOnlyWhatWasOffered, "cached_response_is_valid was called, but `make` received no stored response")
            }
            var response = try unsafe newer == nil ? nil : Response(reading: newer, for: request, isInterim: false)
            // No body follows, so the length says nothing about the stored body.
            response?.expectedLength = nil
            client.cachedResponseIsValid(cachedResponse, newer: response)
        }
    }

    func didFinish() {
        guard isInCall else { return rejectMisplacedCall() }
        recordEnd()
        client.didFinishLoading()
    }

    func didFail(_ error: UnsafePointer<portolan_error>?) {
        guard isInCall else { return rejectMisplacedCall() }
        let failure: LoadError
        do throws(ContractViolation) {
            failure = try unsafe LoadError(reading: error)
        } catch {
            failure = LoadError(error, by: handler.identifier)
        }
        recordEnd()
        client.didFail(with: failure)
    }

    /// Records that the load has reported its end. The host then does not call the plugin's `stop`.
    private func recordEnd() {
        wipeAnswer()
        watches?.giveUp()
        calls.recordEnd()
        setEnded()
    }

    func didReach(_ step: portolan_step) {
        // Steps of later versions of the contract are ignored.
        reportEvent { () throws(ContractViolation) in
            if let step = LoadStep(rawValue: step.rawValue) { client.didReach(step) }
        }
    }
}

/// Common code at the start and the end of the client functions.
extension HostedLoad {
    /// Handles a client function that was called on a wrong thread or at a wrong time.
    ///
    /// - Returns: PORTOLAN_STOPPED.
    func stoppedByMisplacedCall() -> portolan_flow {
        rejectMisplacedCall()
        return PORTOLAN_STOPPED
    }

    /// Fails the load for a violation in a function that returns a flow decision.
    ///
    /// - Returns: PORTOLAN_STOPPED.
    func failAndStop(_ violation: ContractViolation) -> portolan_flow {
        fail(with: violation)
        return stopped()
    }

    /// Records that the load learns of its end, because a client function returns PORTOLAN_STOPPED.
    ///
    /// - Returns: PORTOLAN_STOPPED.
    func stopped() -> portolan_flow {
        watches?.giveUp()
        calls.recordEnd()
        setEnded()
        return PORTOLAN_STOPPED
    }

    /// Converts the client's flow decision. For a pause, a blocking load waits until the reader is ready.
    func apply(_ flow: Flow) -> portolan_flow {
        switch flow {
        case .keepGoing: return PORTOLAN_CONTINUE
        case .stopped: return stopped()
        case .pause:
            let flow = calls.pause()
            return flow == PORTOLAN_STOPPED ? stopped() : flow
        }
    }

    /// Reports an event that returns a flow decision.
    func deliverEvent(_ deliver: () throws(ContractViolation) -> Flow) -> portolan_flow {
        guard isInCall else { return stoppedByMisplacedCall() }
        wipeAnswer()
        do throws(ContractViolation) {
            return apply(try deliver())
        } catch {
            return failAndStop(error)
        }
    }

    /// Reports an event that returns nothing.
    func reportEvent(_ deliver: () throws(ContractViolation) -> Void) {
        guard isInCall else { return rejectMisplacedCall() }
        wipeAnswer()
        do throws(ContractViolation) {
            try deliver()
        } catch {
            fail(with: error)
        }
        calls.clientCallDidReturn(self)
    }
}
