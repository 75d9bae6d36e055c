// SPDX-License-Identifier: Apache-2.0

import CPortolan
import HTTPTypes
import PortolanCore

/// The client functions that report events.
extension HostedLoad {
    /// Hot path for body bytes: compares the thread, then calls the client.
    func didLoad(_ bytes: UnsafeRawPointer?, _ length: Int) -> portolan_flow {
        guard isInCall else { return stray() }
        guard let bytes = unsafe bytes, UInt(bitPattern: length) <= Self.largestRun else { return unsafe didLoadNothing(bytes, length) }
        let flow = unsafe client.didLoad(UnsafeRawBufferPointer(start: bytes, count: length).bytes)
        return flow == .keepGoing ? PORTOLAN_CONTINUE : goOn(flow)
    }

    /// No process can have so much memory.
    private static var largestRun: UInt { 1 << 46 }

    private func didLoadNothing(_ bytes: UnsafeRawPointer?, _ length: Int) -> portolan_flow {
        guard length == 0 else {
            return violate(
                ContractViolation(
                    .bytesAreReadable,
                    "did_load was given \(UInt(bitPattern: length)) bytes at NULL, or an "
                        + "impossible length"))
        }
        return unsafe goOn(client.didLoad(UnsafeRawBufferPointer(start: nil, count: 0).bytes))
    }

    func didReceiveInterim(_ response: UnsafePointer<portolan_response>?) {
        reporting { () throws(ContractViolation) in
            client.didReceiveInterim(try unsafe Response(reading: response, for: request, isInterim: true))
        }
    }

    func didReceive(_ response: UnsafePointer<portolan_response>?) -> portolan_flow {
        answering { () throws(ContractViolation) in
            let read = unsafe try portolan_response.read(response)
            let storage = try unsafe CacheStoragePolicy(read.storage)
            return client.didReceive(try unsafe Response(read, for: request, isInterim: false), storage: storage)
        }
    }

    func didReceiveTrailers(_ fields: UnsafePointer<portolan_field>?, _ count: Int) {
        reporting { () throws(ContractViolation) in
            client.didReceiveTrailers(try unsafe HTTPFields(reading: fields, count: count))
        }
    }

    func wasRedirected(to change: UnsafePointer<portolan_change>?, _ response: UnsafePointer<portolan_response>?) -> portolan_flow {
        answering { () throws(ContractViolation) in
            let read = unsafe try portolan_change.read(change)
            let head = try unsafe response == nil ? Response(url: request.url) : Response(reading: response, for: request, isInterim: false)
            guard unsafe !read.url.isPresent else {
                return client.wasRedirected(to: try unsafe request.applying(read), redirectResponse: head)
            }
            switch RedirectTarget(of: head) {
            case .url(let target):
                return client.wasRedirected(to: try unsafe request.applying(read, movingTo: target), redirectResponse: head)
            // If the response is delivered, the core rejects it as for any handler.
            case .malformed, .ambiguous: return .keepGoing
            case .noRedirect, .unnamed:
                throw ContractViolation(
                    .redirectParses, "a redirect has no target; give an absolute URL, or a response with a Location")
            }
        }
    }

    func cachedResponseIsValid(_ newer: UnsafePointer<portolan_response>?) {
        reporting { () throws(ContractViolation) in
            guard let cached else {
                throw ContractViolation(.confirmsOnlyWhatWasOffered, "a stored response was confirmed, but `make` was given none")
            }
            let response = try unsafe newer == nil ? nil : Response(reading: newer, for: request, isInterim: false)
            client.cachedResponseIsValid(cached, newer: response)
        }
    }

    func didFinish() {
        guard isInCall else { return strayCall() }
        endsItself()
        client.didFinishLoading()
    }

    func didFail(_ error: UnsafePointer<portolan_error>?) {
        guard isInCall else { return strayCall() }
        let failure: LoadError
        do throws(ContractViolation) {
            failure = try unsafe LoadError(reading: error)
        } catch {
            failure = LoadError(error, by: handler.identifier)
        }
        endsItself()
        client.didFail(with: failure)
    }

    /// The load knows that it is over, so it must not be stopped any more.
    private func endsItself() {
        wipeAnswer()
        watches?.giveUp()
        calls.noteEnd()
        noteOver()
    }

    func didReach(_ step: portolan_step) {
        // Ignores steps of later versions, because a client of this version does not know them.
        reporting { () throws(ContractViolation) in
            if let step = LoadStep(rawValue: step.rawValue) { client.didReach(step) }
        }
    }
}

/// How each client function begins and returns.
extension HostedLoad {
    func stray() -> portolan_flow {
        strayCall()
        return PORTOLAN_STOPPED
    }

    /// Ends the load for a violation in a function with a result.
    ///
    /// - Returns: PORTOLAN_STOPPED, which notifies the load.
    func violate(_ violation: ContractViolation) -> portolan_flow {
        cut(by: violation)
        return stopped()
    }

    /// Records that the load is notified of its end.
    ///
    /// - Returns: PORTOLAN_STOPPED.
    func stopped() -> portolan_flow {
        watches?.giveUp()
        calls.noteEnd()
        noteOver()
        return PORTOLAN_STOPPED
    }

    /// Converts the client's flow decision. If it is a pause, a blocking load waits until it ends.
    func goOn(_ flow: Flow) -> portolan_flow {
        switch flow {
        case .keepGoing: return PORTOLAN_CONTINUE
        case .stopped: return stopped()
        case .pause:
            let flow = calls.pause()
            return flow == PORTOLAN_STOPPED ? stopped() : flow
        }
    }

    /// Reports an event that returns a flow decision.
    func answering(_ deliver: () throws(ContractViolation) -> Flow) -> portolan_flow {
        guard isInCall else { return stray() }
        wipeAnswer()
        do throws(ContractViolation) {
            return goOn(try deliver())
        } catch {
            return violate(error)
        }
    }

    /// Reports an event that returns nothing.
    func reporting(_ deliver: () throws(ContractViolation) -> Void) {
        guard isInCall else { return strayCall() }
        wipeAnswer()
        do throws(ContractViolation) {
            try deliver()
        } catch {
            cut(by: error)
        }
        calls.clientReturned(self)
    }
}
