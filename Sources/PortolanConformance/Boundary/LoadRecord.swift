// SPDX-License-Identifier: Apache-2.0

/// What came of one load.
struct LoadRecord: Hashable, Sendable {
    struct Turn: Hashable, Sendable {
        let function: LoadFunction
        let time: Duration

        init(_ function: LoadFunction, _ time: Duration) { (self.function, self.time) = (function, time) }
    }

    let calls: [RecordedCall]
    let body: [UInt8]
    /// What `make` gave where it made no load.
    let refusal: ReadStruct<ReadError>?
    let isMade: Bool
    /// Whether all calls into the load had returned.
    let isIdle: Bool
    /// How long each call into the load took.
    let turnTimes: [Turn]
    /// What calls into the load changed on their thread: as in `run had returned, the rounding mode was another`.
    let threadChanges: [String]

    /// The calls that tell the caller something.
    var events: [RecordedCall] { calls.filter(\.call.isEvent) }

    /// How often it asked for something.
    var questionCount: Int { calls.count(where: \.isChallenge) }

    /// The calls that are ends: finish, failure, and a redirect that was taken.
    var ends: [RecordedCall] {
        calls.filter { call in
            switch call.call {
            case .finish, .failure: true
            case .redirect: call.answer == -1
            default: false
            }
        }
    }

    var didFinish: Bool { calls.contains { $0.call == .finish } }

    var responses: [ReadStruct<DecodedResponse>] {
        calls.compactMap { if case .response(let response) = $0.call { response } else { nil } }
    }

    /// Why it failed, or was refused; `nil` where it did neither.
    var failure: ReadStruct<ReadError>? {
        refusal ?? calls.compactMap { if case .failure(let error) = $0.call { error } else { nil } }.first
    }

    /// In short, for a finding.
    var summary: String {
        guard isMade else { return "make refused it" }
        let names = events.map(\.call.function)
        guard names.count > 8 else { return names.isEmpty ? "no event" : names.joined(separator: ", ") }
        return names.prefix(5).joined(separator: ", ") + ", …, " + names.suffix(2).joined(separator: ", ") + " (\(names.count) events)"
    }
}
