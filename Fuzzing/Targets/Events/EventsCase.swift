// SPDX-License-Identifier: Apache-2.0

import Portolan

/// A script of what a handler, its caller and its delegate do, played on one load of a real loader: what the delegate hears, what the handler is
/// answered and told, and which rules are reported as broken is what ``TaskModel`` says.
///
/// The input's first byte says what the handler declares and where the delegate is called; each further one is a step, or an answer that a step
/// needs. On a queue only the order is judged, for there the delegate hears of things later.
enum EventsCase {
    static func judge(_ input: [UInt8]) throws(Finding) {
        let play = EventPlay(input)
        try play.run()
        try play.windUp()
        try judgeOrder(play.heard, allowsParts: play.traits.allowsParts)
    }

    /// The order of events as the contract draws it, whatever the model says.
    private static func judgeOrder(_ events: [Heard], allowsParts: Bool) throws(Finding) {
        var (hasResponse, hasTrailers) = (false, false)
        for (index, event) in events.enumerated() {
            let isRight: Bool
            switch event {
            case .interim, .redirect: isRight = !hasResponse
            case .response:
                isRight = !hasResponse || (allowsParts && !hasTrailers)
                hasResponse = true
            case .data(let bytes): isRight = hasResponse && !hasTrailers && !bytes.isEmpty
            case .trailers:
                isRight = hasResponse && !hasTrailers
                hasTrailers = true
            case .end(let ending): isRight = index == events.count - 1 && (ending != nil || hasResponse)
            case .challenge, .newBody: isRight = !hasTrailers
            case .challengeWithdrawn, .sent, .step: isRight = true
            }
            try require(isRight, "\(event) is out of order after \(events[..<index])")
        }
        guard case .end? = events.last else { throw Finding("the load never ended; the delegate heard \(events)") }
    }
}
