// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization

/// A client that records the events of a load, and returns the flow that the test decides.
final class FileRecordingClient: ProtocolClient, HandlerLoadObserver {
    struct Recording: Sendable {
        var responses: [Response] = []
        /// The number of bytes of each piece.
        var pieceSizes: [Int] = []
        var bytes: [UInt8] = []
        var finishCount = 0
        var errors: [LoadError] = []
        var violations: [ContractRule] = []
        /// Events that a file load must not report.
        var unexpectedEvents: [String] = []

        var response: Response? { responses.first }
        var error: LoadError? { errors.first }
        var endCount: Int { finishCount + errors.count }

        /// Whether exactly these bytes arrived. A test uses this for long bodies, because a failed comparison of arrays
        /// prints each element.
        func hasBytes(_ expected: [UInt8]) -> Bool { bytes == expected }
    }

    /// Returns the flow for an event. The response has the number 0, and the pieces have the numbers from 1.
    typealias OnEvent = @Sendable (_ event: Int) -> Flow

    private let onEvent: OnEvent
    /// Is called when the load has ended.
    private let onEnd: @Sendable () -> Void
    private let state = Mutex(Recording())

    init(onEvent: @escaping OnEvent, onEnd: @escaping @Sendable () -> Void = {}) {
        self.onEvent = onEvent
        self.onEnd = onEnd
    }

    var recording: Recording { state.withLock { $0 } }

    private func record(_ change: (inout Recording) -> Void) { state.withLock { change(&$0) } }
    private func recordUnexpected(_ name: String) { record { $0.unexpectedEvents.append(name) } }

    func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        record { $0.responses.append(response) }
        return onEvent(0)
    }

    func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        let copy = unsafe bytes.withUnsafeBytes { unsafe Array($0) }
        let event = state.withLock { recording in
            recording.pieceSizes.append(copy.count)
            recording.bytes += copy
            return recording.pieceSizes.count
        }
        return onEvent(event)
    }

    func didFinishLoading() {
        record { $0.finishCount += 1 }
    }

    func didFail(with error: LoadError) {
        record { $0.errors.append(error) }
    }

    func handlerLoadObserved(violationOf rule: ContractRule, by handler: String, isFirst: Bool) { record { $0.violations.append(rule) } }
    func handlerLoadEnded() { onEnd() }

    func wasRedirected(to request: Request, redirectResponse: Response) -> Flow {
        recordUnexpected(#function)
        return .keepGoing
    }
    func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?) { recordUnexpected(#function) }
    func didReceiveInterim(_ response: Response) { recordUnexpected(#function) }
    func didReceiveTrailers(_ fields: HTTPFields) { recordUnexpected(#function) }
    func didSend(bodyBytes: Int64, total: Int64, expected: Int64?) { recordUnexpected(#function) }
    func didReach(_ step: LoadStep) {}
    func needsNewBody(_ answer: @escaping @Sendable (Body?) -> Void) { recordUnexpected(#function) }
    func didReceive(_ challenge: AuthenticationChallenge) { recordUnexpected(#function) }
    func didCancel(_ challenge: AuthenticationChallenge) { recordUnexpected(#function) }
    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        FailedLoad(LoadError(.notOffered, message: "no nested loads here"), client: client)
    }
}

/// A failed expectation prints the elements of its values. This description therefore omits the bytes.
extension FileRecordingClient.Recording: CustomReflectable, CustomStringConvertible {
    var customMirror: Mirror { Mirror(self, children: ["description": description]) }

    var description: String {
        "\(responses.count) responses, \(bytes.count) bytes in \(pieceSizes.count) pieces, \(finishCount) finishes, errors \(errors), "
            + "violations \(violations), unexpected events \(unexpectedEvents)"
    }
}
