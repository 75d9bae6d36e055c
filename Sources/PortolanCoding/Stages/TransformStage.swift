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
    private var place = Place.passing
    private var turn = Turn.none
    private var kept = BufferedEvents()

    private enum Place {
        /// Nothing is transformed, or no response has arrived yet.
        case passing
        case transforming
        /// The client paused. Events are buffered.
        case held
        /// The client has received the end, or wants none.
        case over
    }

    /// Whether a call of the client is running, and whether the client resumed during that call.
    private enum Turn { case none, delivering, resumed }

    package init(_ transform: consuming Transform, next: any ProtocolClient) {
        self.transform = transform
        self.next = next
        downstream = next as? any ResumableStage
    }

    // MARK: From the load

    package func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        if place == .over { return .stopped }
        var response = response
        do throws(LoadError) {
            switch try transform.begin(&response) {
            case .passes:
                place = .passing
                return next.didReceive(response, storage: storage)
            case .transforms:
                place = .transforming
                turn = .delivering
                defer { turn = .none }
                return settle(next.didReceive(response, storage: storage))
            case .replaces:
                place = .transforming
                return .keepGoing
            }
        } catch {
            return fail(with: error)
        }
    }

    package func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        switch place {
        case .passing: return next.didLoad(bytes)
        case .transforming:
            var position = 0
            let flow = advance(bytes, from: &position)
            if flow == .pause { kept.bytes.append(bytes.extracting(position...)) }
            return flow
        case .held:
            kept.bytes.append(bytes)
            return .pause
        case .over: return .stopped
        }
    }

    package func didReceiveTrailers(_ fields: HTTPFields) {
        switch place {
        case .passing: next.didReceiveTrailers(fields)
        case .transforming, .held: kept.trailers = fields
        case .over: break
        }
    }

    package func didFinishLoading() {
        switch place {
        case .passing: next.didFinishLoading()
        case .transforming: _ = finish()
        case .held: kept.end = .finished
        case .over: break
        }
    }

    package func didFail(with error: LoadError) {
        switch place {
        case .passing: next.didFail(with: error)
        case .transforming: _ = fail(with: error)
        case .held: kept.end = .failed(error)
        case .over: break
        }
    }

    package func resume() -> Flow {
        if turn != .none {
            // The client resumed before its call returned. The running delivery continues by itself.
            turn = .resumed
            return .pause
        }
        if let flow = downstream?.resume(), flow != .keepGoing { return flow }
        switch place {
        case .passing, .transforming: return .keepGoing
        case .over: return .stopped
        case .held: place = .transforming
        }
        let flow = kept.bytes.take { advance($0, from: &$1) }
        guard flow == .keepGoing, let end = kept.end else { return flow }
        switch end {
        case .finished: return finish()
        case .failed(let error): return fail(with: error)
        }
    }

    package var isHolding: Bool { place == .held || downstream?.isHolding ?? false }

    // MARK: To the client

    private func advance(_ bytes: borrowing RawSpan, from position: inout Int) -> Flow {
        turn = .delivering
        defer { turn = .none }
        do throws(LoadError) {
            while true {
                let flow = try transform.advance(bytes, from: &position, to: next)
                if flow == .keepGoing { return flow }
                let settled = settle(flow)
                if settled != .keepGoing { return settled }
            }
        } catch {
            return fail(with: error)
        }
    }

    private func finish() -> Flow {
        turn = .delivering
        defer { turn = .none }
        do throws(LoadError) {
            while true {
                let flow = try transform.finish(to: next)
                if flow == .keepGoing { break }
                let settled = settle(flow)
                if settled == .pause { kept.end = .finished }
                if settled != .keepGoing { return settled }
            }
        } catch {
            return fail(with: error)
        }
        place = .over
        if let trailers = kept.trailers { next.didReceiveTrailers(trailers) }
        next.didFinishLoading()
        return afterEnd
    }

    private func fail(with error: LoadError) -> Flow {
        place = .over
        next.didFail(with: error)
        return afterEnd
    }

    /// The result after the next client received the end. The next client may be a stage that buffers the end.
    private var afterEnd: Flow { isHolding ? .pause : .stopped }

    /// Applies the client's result.
    ///
    /// - Returns: `.keepGoing` also for a pause that ended before the call returned.
    private func settle(_ returned: Flow) -> Flow {
        var flow = returned
        while flow == .pause, turn == .resumed {
            turn = .delivering
            flow = downstream?.resume() ?? .keepGoing
        }
        switch flow {
        case .keepGoing: break
        case .pause: place = .held
        case .stopped: place = .over
        }
        return flow
    }
}
