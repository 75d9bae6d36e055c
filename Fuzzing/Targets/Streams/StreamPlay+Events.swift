// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanStreams

/// The handlers of a play.
extension StreamPlay {
    func didReceive(_ event: StreamEvent, of stream: PlayedStream, _ number: Int) {
        let problem = stream.events.didReport(
            event, to: number, isInput: stream.isInput, isInCall: stream.callDepth > 0, openingFailed: stream.openingResult == false)
        if let problem {
            check(false, "\(stream.name): \(problem)")
            return
        }
        defer { stream.events.didHandle() }
        checkState(of: stream, at: event)
        guard !isOver, !script.isEmpty else { return }
        let byte = script.next()
        if byte & 1 == 0 { respond(to: event, of: stream, 1 + Int(byte >> 1 & 7)) }
        for _ in 0..<Int(byte >> 4 & 3) { nestedStep() }
    }

    /// Checks that the stream is in the state that it reports.
    private func checkState(of stream: PlayedStream, at event: StreamEvent) {
        guard let status = stream.status else { return }
        switch event {
        case .openCompleted: break
        case .bytesAvailable, .spaceAvailable: check(status == .open, "\(event) was reported, and the status is \(status)")
        case .endEncountered:
            check(status == .atEnd, "endEncountered was reported, and the status is \(status)")
            // What a call has moved is known when it returns.
            if input.callDepth + output.callDepth == 0 {
                check(hasReadAll, "endEncountered was reported after byte \(input.positions.position)")
            }
        case .errorOccurred(let error):
            check(status == .error && stream.error == error, "\(event) was reported, and the status is \(status)")
        }
    }

    /// Reads or writes. After an event that the stream is ready, the first call must move bytes.
    private func respond(to event: StreamEvent, of stream: PlayedStream, _ count: Int) {
        let keepsContract = stream.endpoint?.keepsContract ?? true
        switch event {
        case .bytesAvailable, .spaceAvailable: break
        case .openCompleted, .endEncountered, .errorOccurred: return
        }
        guard !stream.isReleased else { return }
        switch move(stream, atMost: count) {
        case .moved(1...): break
        case let outcome:
            if keepsContract, stream.endpoint?.keepsContract ?? true {
                check(false, "the response to \(event) moved nothing: \(String(describing: outcome))")
            }
        }
    }
}
