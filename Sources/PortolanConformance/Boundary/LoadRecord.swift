// SPDX-License-Identifier: Apache-2.0

/// The record of one load.
struct LoadRecord: Hashable, Sendable {
    struct CallTime: Hashable, Sendable {
        let function: LoadFunction
        let duration: Duration

        init(_ function: LoadFunction, _ duration: Duration) { (self.function, self.duration) = (function, duration) }
    }

    let calls: [RecordedCall]
    let body: [UInt8]
    /// The error from `make`, if it made no load.
    let refusal: ReadStruct<ReadError>?
    let isMade: Bool
    /// Whether all calls into the load had returned.
    let isIdle: Bool
    /// How long each call into the load took, without the time in the client.
    let callTimes: [CallTime]
    /// The changes that calls into the load left on their thread, for example `run had returned, the rounding mode
    /// changed`.
    let threadChanges: [String]
    /// The changes with which the load opened its nested loads.
    let nestedChanges: [ReadStruct<ReadChange>]

    /// The calls that are events.
    var events: [RecordedCall] { calls.filter(\.call.isEvent) }

    /// The number of challenges.
    var challengeCount: Int { calls.count(where: \.isChallenge) }

    /// The calls that are ends: finish, failure, and a redirect that was followed.
    var ends: [RecordedCall] {
        calls.filter { call in
            switch call.call {
            case .finish, .failure: true
            case .redirect: call.returnValue == -1
            default: false
            }
        }
    }

    var didFinish: Bool { calls.contains { $0.call == .finish } }

    var responses: [ReadStruct<ReadResponse>] {
        calls.compactMap { if case .response(let response) = $0.call { response } else { nil } }
    }

    /// The error that the load failed with, or that `make` gave; `nil` if there was none.
    var failure: ReadStruct<ReadError>? {
        refusal ?? calls.compactMap { if case .failure(let error) = $0.call { error } else { nil } }.first
    }

    /// A short form for a finding.
    var summary: String {
        guard isMade else { return "make refused it" }
        let names = events.map(\.call.function)
        guard names.count > 8 else { return names.isEmpty ? "no event" : names.joined(separator: ", ") }
        return names.prefix(5).joined(separator: ", ") + ", …, " + names.suffix(2).joined(separator: ", ") + " (\(names.count) events)"
    }
}
