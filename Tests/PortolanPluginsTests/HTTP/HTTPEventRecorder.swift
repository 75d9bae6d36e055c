// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization

/// Records every event of a load as a line, without details that only depend on how bytes were split.
final class HTTPEventRecorder: LoadDelegate {
    /// How the recorder decides about redirects.
    enum RedirectAction: Sendable { case follow, deliver, followLater, deliverLater }

    private struct State {
        var lines: [String] = []
        /// The bytes of the body since the last line.
        var bodyBytes: [UInt8] = []
        var sent: Int64?
        var waiter: CheckedContinuation<Void, Never>?
        var hasEnded = false
    }

    private let state = Mutex(State())
    private let answers: [ChallengeAnswer]
    private let redirectAction: RedirectAction
    private let pauses: Bool

    /// - Parameters:
    ///   - answers: the answers to challenges, by the number of previous failures; after the last,
    ///     `continueWithoutCredential`.
    ///   - pauses: whether each delivery returns a pause.
    init(answers: [ChallengeAnswer] = [], redirects: RedirectAction = .follow, pauses: Bool = false) {
        self.answers = answers
        redirectAction = redirects
        self.pauses = pauses
    }

    var lines: [String] { state.withLock { $0.lines } }

    func ended() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.waiter = continuation }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    /// Appends a line for the data and the sent bytes since the last line, then `line`.
    private func record(_ line: String) {
        state.withLock { state in
            if !state.bodyBytes.isEmpty { state.lines.append("data \(Self.summary(of: state.bodyBytes))") }
            state.bodyBytes = []
            if let sent = state.sent { state.lines.append("sent \(sent)") }
            state.sent = nil
            state.lines.append(line)
        }
    }

    static func summary(of bytes: [UInt8]) -> String {
        let sum = bytes.reduce(UInt64(14_695_981_039_346_656_037)) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
        return bytes.count <= 40 ? "'\(String(decoding: bytes, as: UTF8.self))'" : "\(bytes.count) bytes, \(sum)"
    }

    private static func text(of response: Response) -> String {
        let fields = response.fields.filter { $0.name != .date }.map { "\($0.name.canonicalName): \($0.value)" }.joined(separator: "; ")
        return "\(response.status?.code ?? 0) \(response.url) [\(fields)]"
    }

    private func flow(_ task: LoadTask) -> Flow {
        guard pauses else { return .keepGoing }
        Task { task.resume() }
        return .pause
    }

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow {
        let type = "\(response.mimeType?.essence ?? "-") \(response.textEncodingName ?? "-")"
        let length = response.expectedLength.map(String.init) ?? "-"
        record("response \(Self.text(of: response)), \(type), length \(length), name '\(response.suggestedFilename)'")
        return flow(task)
    }
    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        unsafe bytes.withUnsafeBytes { bytes in state.withLock { state in unsafe state.bodyBytes.append(contentsOf: bytes) } }
        return flow(task)
    }
    func loadTask(_ task: LoadTask, didReceiveInterim response: Response) { record("interim \(Self.text(of: response))") }
    func loadTask(_ task: LoadTask, didReceiveTrailers fields: HTTPFields) {
        record("trailers \(fields.map { "\($0.name.canonicalName): \($0.value)" })")
    }
    func loadTask(_ task: LoadTask, didReach step: LoadStep) {
        // Omits the steps that differ: the built-in handler reuses connections, and the fixture resolves no names.
        if [.requestSent, .firstByte].contains(step) { record("step \(step)") }
    }
    func loadTaskDidSend(_ task: LoadTask) { state.withLock { $0.sent = task.progress.bytesSent } }
    func loadTask(
        _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
    ) {
        let fields = request.fields.map { "\($0.name.canonicalName): \($0.value)" }.joined(separator: "; ")
        let body = request.body.map { "a body of \($0.length.map(String.init) ?? "-")" } ?? "no body"
        record("redirect \(response.status?.code ?? 0) to \(request.method) \(request.url) [\(fields)], \(body)")
        switch redirectAction {
        case .follow: decide(.follow(request))
        case .deliver: decide(.deliver)
        case .followLater: Task { decide(.follow(request)) }
        case .deliverLater: Task { decide(.deliver) }
        }
    }
    func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) {
        let previous = challenge.previousError.map { "\($0.code)" } ?? "-"
        let space = challenge.protectionSpace
        let spaceText = "\(space.protocolName)://\(space.host):\(space.port ?? -1) realm '\(space.realm ?? "-")'"
        let failureCount = challenge.previousFailureCount
        record("challenge \(space.kind) of \(spaceText), proxy \(space.isProxy), failures \(failureCount), previous \(previous)")
        challenge.answer(failureCount < answers.count ? answers[failureCount] : .continueWithoutCredential)
    }
    func loadTask(_ task: LoadTask, needsNewBody answer: @escaping @Sendable (Body?) -> Void) {
        record("needs a new body")
        answer(nil)
    }
    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {
        record(error.map { "failed \($0.code)" } ?? "finished")
        let waiter = state.withLock { state in
            state.hasEnded = true
            return state.waiter.take()
        }
        waiter?.resume()
    }
}
