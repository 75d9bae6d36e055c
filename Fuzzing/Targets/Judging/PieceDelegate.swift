// SPDX-License-Identifier: Apache-2.0

import Portolan
import Synchronization

/// Records a load of one response, in any number of pieces, and violations of the event order.
final class PieceDelegate: LoadDelegate {
    enum End: Equatable {
        case finished
        case failed(LoadError.Code)
    }

    struct Heard {
        var count = 0
        var response: Response?
        var body: [UInt8] = []
        var end: End?
        /// The first violation of the event order.
        var disorder: String?

        var hasEnded: Bool { end != nil }
    }

    private let state = Mutex(Heard())
    private let answer: Flow
    private let stopsAt: Int?

    /// - Parameters:
    ///   - answer: the return value for the response and each piece.
    ///   - stopsAt: the number, from 0, of the event that returns a stop.
    init(answer: Flow, stopsAt: Int?) {
        self.answer = answer
        self.stopsAt = stopsAt
    }

    var heard: Heard { state.withLock { $0 } }

    @discardableResult
    private func note(_ change: (inout Heard) -> String?) -> Flow {
        state.withLock { heard in
            let disorder = heard.hasEnded ? "an event came after the end" : change(&heard)
            heard.disorder = heard.disorder ?? disorder
            heard.count += 1
            return heard.count - 1 == stopsAt ? .stopped : answer
        }
    }

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow {
        note { heard in
            defer { heard.response = response }
            return heard.response == nil ? nil : "a second response came"
        }
    }

    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        let copy = unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) }
        return note { heard in
            heard.body += copy
            if copy.isEmpty { return "a piece was empty" }
            return heard.response == nil ? "data came before the response" : nil
        }
    }

    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        note { heard in
            heard.end = error.map { .failed($0.code) } ?? .finished
            return error == nil && heard.response == nil ? "the load finished without a response" : nil
        }
    }
}
