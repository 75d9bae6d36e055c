// SPDX-License-Identifier: Apache-2.0

/// A call that a load made of its client, with what it gave.
enum ClientCall: Hashable, Sendable {
    case interim(ReadStruct<DecodedResponse>)
    case response(ReadStruct<DecodedResponse>)
    /// How many bytes; whether each of them could be read; whether they changed while the client looked.
    case data(count: Int, isReadable: Bool, changed: Bool)
    case trailers([ReadField]?)
    case finish
    case failure(ReadStruct<ReadError>)
    case redirect(ReadStruct<ReadChange>, ReadStruct<DecodedResponse>)
    case confirmed
    case readCached
    case challenge(ReadStruct<ReadChallenge>)
    case cancelledChallenge
    /// How many bytes were given; negative: a `portolan_flow`.
    case readBody(Int64)
    case sent(Int64)
    case reached(Int32)
    case rewind
    case isStopped
    case wake

    /// As the headers call the function.
    var function: String {
        switch self {
        case .interim: "did_receive_interim"
        case .response: "did_receive_response"
        case .data: "did_load"
        case .trailers: "did_receive_trailers"
        case .finish: "did_finish"
        case .failure: "did_fail"
        case .redirect: "was_redirected"
        case .confirmed: "cached_response_is_valid"
        case .readCached: "read_cached"
        case .challenge: "did_receive_challenge"
        case .cancelledChallenge: "did_cancel_challenge"
        case .readBody: "read_body"
        case .sent: "did_send"
        case .reached: "did_reach"
        case .rewind: "rewind_body"
        case .isStopped: "is_stopped"
        case .wake: "wake"
        }
    }

    /// Whether it tells the caller something, and so counts among the events of which there is an order.
    var isEvent: Bool {
        switch self {
        case .interim, .response, .data, .trailers, .finish, .failure, .redirect, .confirmed, .challenge, .cancelledChallenge, .sent,
            .reached:
            true
        case .readCached, .readBody, .rewind, .isStopped, .wake: false
        }
    }

    /// Whether it hands the caller something that a pause holds back.
    var isDelivery: Bool {
        switch self {
        case .response, .data, .trailers, .finish, .redirect, .confirmed: true
        default: false
        }
    }

    /// Whether it is one of as many as a body has pieces.
    var isOfBody: Bool {
        switch self {
        case .data, .readBody, .sent: true
        default: false
        }
    }

    /// Whether it is an end, whatever it is answered.
    var isEnd: Bool {
        switch self {
        case .finish, .failure, .redirect: true
        default: false
        }
    }

    /// Whether its answer can say that nobody wants the rest.
    var isAnswered: Bool {
        switch self {
        case .response, .data, .redirect, .challenge, .readBody, .rewind, .readCached, .isStopped: true
        default: false
        }
    }

    /// Whether it may come from any thread.
    var isForAnyThread: Bool {
        switch self {
        case .isStopped, .wake: true
        default: false
        }
    }
}

/// One call across the boundary, and where it stood.
struct RecordedCall: Hashable, Sendable {
    let call: ClientCall
    /// What it was answered; `nil` for functions without an answer.
    let answer: Int64?
    /// The kernel's number of the thread.
    let thread: Int32
    /// The function of this load that the same thread was in; `nil`: none, so the call came from outside.
    let within: LoadFunction?
    /// How many calls of the same client ran when this one began.
    let overlaps: Int
    /// What had happened to the load before.
    let stage: Stage

    enum Stage: Hashable, Sendable, Comparable {
        case made, started, paused, stopped, ended, destroyed
    }
}

/// A function of a plugin's that the judge is in.
enum LoadFunction: String, Hashable, Sendable {
    case canInit = "can_init"
    case canonicalRequest = "canonical_request"
    case isCacheEquivalent = "is_cache_equivalent"
    case make, run, start, resume, woken, answered, stop, destroy
}
