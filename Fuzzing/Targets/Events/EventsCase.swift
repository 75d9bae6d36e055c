// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Plays a script on one load of a real loader: steps of the handler, of the caller and of the delegate. The delegate's
/// events, the handler's return values and calls, and the reported violations must match ``TaskModel``.
///
/// The first byte of the input selects the handler's traits and the delegate's queue. Each further byte is a step, or a
/// return value that a step needs. If the delegate has a queue, it receives events later, so only their order is
/// checked.
enum EventsCase {
    static func check(_ input: [UInt8]) throws(FuzzFinding) {
        let play = EventPlay(input)
        try play.run()
        try play.releaseAll()
        try checkOrder(play.received, allowsParts: play.traits.allowsParts)
    }

    /// Checks the order of events by the contract, independent of the model.
    private static func checkOrder(_ events: [DelegateEvent], allowsParts: Bool) throws(FuzzFinding) {
        var (hasResponse, hasTrailers) = (false, false)
        for (index, event) in events.enumerated() {
            let isInOrder: Bool
            switch event {
            case .interim, .redirect: isInOrder = !hasResponse
            case .response:
                isInOrder = !hasResponse || (allowsParts && !hasTrailers)
                hasResponse = true
            case .data(let bytes): isInOrder = hasResponse && !hasTrailers && !bytes.isEmpty
            case .trailers:
                isInOrder = hasResponse && !hasTrailers
                hasTrailers = true
            case .end(let ending): isInOrder = index == events.count - 1 && (ending != nil || hasResponse)
            case .challenge, .newBody: isInOrder = !hasTrailers
            case .challengeWithdrawn, .sent, .step: isInOrder = true
            }
            try require(isInOrder, "\(event) is out of order after \(events[..<index])")
        }
        guard case .end? = events.last else { throw FuzzFinding("the load never ended; the delegate received \(events)") }
    }
}
