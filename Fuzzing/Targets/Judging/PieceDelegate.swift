// SPDX-License-Identifier: Apache-2.0

import Portolan
import Synchronization

/// A delegate that records the events of a load with one response, and the first violation of the event order.
final class PieceDelegate: LoadDelegate {
    enum End: Equatable {
        case finished
        case failed(LoadError.Code)
    }

    struct Record {
        /// The number of events.
        var count = 0
        var response: Response?
        var body: [UInt8] = []
        var end: End?
        /// The first violation of the event order.
        var disorder: String?

        var hasEnded: Bool { end != nil }
    }

    private let state = Mutex(Record())
    private let flow: Flow
    private let stopsAt: Int?

    /// - Parameters:
    ///   - flow: the return value for the response and each piece.
    ///   - stopsAt: the number, from 0, of the event that returns a stop.
    init(flow: Flow, stopsAt: Int?) {
        self.flow = flow
        self.stopsAt = stopsAt
    }

    var received: Record { state.withLock { $0 } }

    @discardableResult
    private func record(_ change: (inout Record) -> String?) -> Flow {
        state.withLock { received in
            let disorder = received.hasEnded ? "an event came after the end" : change(&received)
            received.disorder = received.disorder ?? disorder
            received.count += 1
            return received.count - 1 == stopsAt ? .stopped : flow
        }
    }

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow {
        record { received in
            defer { received.response = response }
            return received.response == nil ? nil : "a second response came"
        }
    }

    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        let copy = unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) }
        return record { received in
            received.body += copy
            if copy.isEmpty { return "a piece was empty" }
            return received.response == nil ? "data came before the response" : nil
        }
    }

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        record { received in
            received.end = error.map { .failed($0.code) } ?? .finished
            return error == nil && received.response == nil ? "the load finished without a response" : nil
        }
    }
}
