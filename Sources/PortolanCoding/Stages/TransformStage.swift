// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCore

/// Runs a ``BodyTransform`` between a load and its client. Buffers input while the client pauses, and the end until
/// everything before it was delivered.
///
/// A body that is not transformed costs one branch per event.
package final class TransformStage<Transform: BodyTransform & ~Copyable>: ResumableStage, @unchecked Sendable {
    // … because the calls of one load, and `resume()`, are serial, so their state needs no lock.
    package let next: any ProtocolClient
    private let downstream: (any ResumableStage)?
    private var transform: Transform
    private var state = State.passing
    private var clientCall = ClientCall.none
    private var buffered = BufferedEvents()

    private enum State {
        /// Nothing is transformed, or no response has arrived yet.
        case passing
        case transforming
        /// The client paused. Events are buffered.
        case paused
        /// The client has received the end, or has stopped the load.
        case ended
    }

    /// Whether a call of the client is running, and whether the client resumed during that call.
    private enum ClientCall { case none, running, resumed }

    package init(_ transform: consuming Transform, next: any ProtocolClient) {
        self.transform = transform
        self.next = next
        downstream = next as? any ResumableStage
    }

    // MARK: From the load

    package func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        if state == .ended { return .stopped }
        var response = response
        do throws(LoadError) {
            switch try transform.begin(&response) {
            case .passes:
                state = .passing
                return next.didReceive(response, storage: storage)
            case .transforms:
                state = .transforming
                clientCall = .running
                defer { clientCall = .none }
                return applyClientResult(next.didReceive(response, storage: storage))
            case .replaces:
                state = .transforming
                return .keepGoing
            }
        } catch {
            return fail(with: error)
        }
    }

    package func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        switch state {
        case .passing: return next.didLoad(bytes)
        case .transforming:
            var position = 0
            let flow = advance(bytes, from: &position)
            if flow == .pause { buffered.bytes.append(bytes.extracting(position...)) }
            return flow
        case .paused:
            buffered.bytes.append(bytes)
            return .pause
        case .ended: return .stopped
        }
    }

    package func didReceiveTrailers(_ fields: HTTPFields) {
        switch state {
        case .passing: next.didReceiveTrailers(fields)
        case .transforming, .paused: buffered.trailers = fields
        case .ended: break
        }
    }

    package func didFinishLoading() {
        switch state {
        case .passing: next.didFinishLoading()
        case .transforming: _ = finish()
        case .paused: buffered.end = .finished
        case .ended: break
        }
    }

    package func didFail(with error: LoadError) {
        switch state {
        case .passing: next.didFail(with: error)
        case .transforming: _ = fail(with: error)
        case .paused: buffered.end = .failed(error)
        case .ended: break
        }
    }

    package func resume() -> Flow {
        if clientCall != .none {
            // The client resumed before its call returned. The running delivery continues by itself.
            clientCall = .resumed
            return .pause
        }
        if let flow = downstream?.resume(), flow != .keepGoing { return flow }
        switch state {
        case .passing, .transforming: return .keepGoing
        case .ended: return .stopped
        case .paused: state = .transforming
        }
        let flow = buffered.bytes.consume { advance($0, from: &$1) }
        guard flow == .keepGoing, let end = buffered.end else { return flow }
        switch end {
        case .finished: return finish()
        case .failed(let error): return fail(with: error)
        }
    }

    package var hasBufferedEvents: Bool { state == .paused || downstream?.hasBufferedEvents ?? false }

    // MARK: To the client

    private func advance(_ bytes: borrowing RawSpan, from position: inout Int) -> Flow {
        clientCall = .running
        defer { clientCall = .none }
        do throws(LoadError) {
            while true {
                let flow = try transform.advance(bytes, from: &position, to: next)
                if flow == .keepGoing { return flow }
                let result = applyClientResult(flow)
                if result != .keepGoing { return result }
            }
        } catch {
            return fail(with: error)
        }
    }

    private func finish() -> Flow {
        clientCall = .running
        defer { clientCall = .none }
        do throws(LoadError) {
            while true {
                let flow = try transform.finish(to: next)
                if flow == .keepGoing { break }
                let result = applyClientResult(flow)
                if result == .pause { buffered.end = .finished }
                if result != .keepGoing { return result }
            }
        } catch {
            return fail(with: error)
        }
        state = .ended
        if let trailers = buffered.trailers { next.didReceiveTrailers(trailers) }
        next.didFinishLoading()
        return resultAfterEnd
    }

    private func fail(with error: LoadError) -> Flow {
        state = .ended
        next.didFail(with: error)
        return resultAfterEnd
    }

    /// The result after the next client received the end. The next client may be a stage that buffers the end.
    private var resultAfterEnd: Flow { hasBufferedEvents ? .pause : .stopped }

    /// Applies the client's result.
    ///
    /// - Returns: `.keepGoing` also for a pause that ended before the call returned.
    private func applyClientResult(_ clientResult: Flow) -> Flow {
        var flow = clientResult
        while flow == .pause, clientCall == .resumed {
            clientCall = .running
            flow = downstream?.resume() ?? .keepGoing
        }
        switch flow {
        case .keepGoing: break
        case .pause: state = .paused
        case .stopped: state = .ended
        }
        return flow
    }
}
