// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization

/// Records the events of a load, and responds as the test decides.
final class FileRecordingClient: ProtocolClient, HandlerLoadObserver {
    struct Recording: Sendable {
        var responses: [Response] = []
        var pieces: [Int] = []
        var bytes: [UInt8] = []
        var finishes = 0
        var errors: [LoadError] = []
        var breaches: [ContractRule] = []
        /// Events that a file load must not report.
        var strays: [String] = []

        var response: Response? { responses.first }
        var error: LoadError? { errors.first }
        var ends: Int { finishes + errors.count }

        /// Whether exactly these bytes arrived. Used for long bodies, because a failed comparison of arrays is written
        /// out element by element.
        func holds(_ expected: [UInt8]) -> Bool { bytes == expected }
    }

    /// Returns the answer for the event of this number, from 0 for the response.
    typealias Answer = @Sendable (_ event: Int) -> Flow

    private let answer: Answer
    /// Called when the load has ended.
    private let ended: @Sendable () -> Void
    private let state = Mutex(Recording())

    init(answer: @escaping Answer, ended: @escaping @Sendable () -> Void = {}) {
        self.answer = answer
        self.ended = ended
    }

    var recording: Recording { state.withLock { $0 } }

    private func record(_ change: (inout Recording) -> Void) { state.withLock { change(&$0) } }
    private func stray(_ name: String) { record { $0.strays.append(name) } }

    func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        record { $0.responses.append(response) }
        return answer(0)
    }

    func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        let copy = unsafe bytes.withUnsafeBytes { unsafe Array($0) }
        let event = state.withLock { recording in
            recording.pieces.append(copy.count)
            recording.bytes += copy
            return recording.pieces.count
        }
        return answer(event)
    }

    func didFinishLoading() {
        record { $0.finishes += 1 }
    }

    func didFail(with error: LoadError) {
        record { $0.errors.append(error) }
    }

    func handlerLoadObserved(violationOf rule: ContractRule, by handler: String, isFirst: Bool) { record { $0.breaches.append(rule) } }
    func handlerLoadEnded() { ended() }

    func wasRedirected(to request: Request, redirectResponse: Response) -> Flow {
        stray(#function)
        return .keepGoing
    }
    func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?) { stray(#function) }
    func didReceiveInterim(_ response: Response) { stray(#function) }
    func didReceiveTrailers(_ fields: HTTPFields) { stray(#function) }
    func didSend(bodyBytes: Int64, total: Int64, expected: Int64?) { stray(#function) }
    func didReach(_ step: LoadStep) {}
    func needsNewBody(_ answer: @escaping @Sendable (Body?) -> Void) { stray(#function) }
    func didReceive(_ challenge: AuthenticationChallenge) { stray(#function) }
    func didCancel(_ challenge: AuthenticationChallenge) { stray(#function) }
    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        FailedLoad(LoadError(.notOffered, message: "no nested loads here"), client: client)
    }
}

/// The description omits the bytes, because a failed expectation writes out its values element by element.
extension FileRecordingClient.Recording: CustomReflectable, CustomStringConvertible {
    var customMirror: Mirror { Mirror(self, children: ["description": description]) }

    var description: String {
        "\(responses.count) responses, \(bytes.count) bytes in \(pieces.count) pieces, \(finishes) finishes, errors \(errors), "
            + "breaches \(breaches), strays \(strays)"
    }
}
