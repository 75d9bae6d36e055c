// SPDX-License-Identifier: Apache-2.0

/// A call from a load to its client, with the arguments.
enum ClientCall: Hashable, Sendable {
    case interim(ReadStruct<ReadResponse>)
    case response(ReadStruct<ReadResponse>)
    /// The number of bytes, whether all of them were readable, and whether they changed during the call.
    case data(count: Int, isReadable: Bool, changed: Bool)
    case trailers([ReadField]?)
    case finish
    case failure(ReadStruct<ReadError>)
    case redirect(ReadStruct<ReadChange>, ReadStruct<ReadResponse>)
    case confirmed
    case readCached
    case challenge(ReadStruct<ReadChallenge>)
    case cancelledChallenge
    /// The return value: the number of bytes that the client gave, or a negative `portolan_flow`.
    case readBody(Int64)
    case sent(Int64)
    case reached(Int32)
    case rewind
    case isStopped
    case wake

    /// The name of the function in the C headers.
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

    /// Whether the call is an event. Events have a defined order.
    var isEvent: Bool {
        switch self {
        case .interim, .response, .data, .trailers, .finish, .failure, .redirect, .confirmed, .challenge, .cancelledChallenge, .sent,
            .reached:
            true
        case .readCached, .readBody, .rewind, .isStopped, .wake: false
        }
    }

    /// Whether the call is a delivery. A paused load makes no deliveries.
    var isDelivery: Bool {
        switch self {
        case .response, .data, .trailers, .finish, .redirect, .confirmed: true
        default: false
        }
    }

    /// Whether the call occurs once per piece of a body.
    var carriesBody: Bool {
        switch self {
        case .data, .readBody, .sent: true
        default: false
        }
    }

    /// Whether the call ends the load. A redirect ends it only if the client follows the redirect.
    var isEnd: Bool {
        switch self {
        case .finish, .failure, .redirect: true
        default: false
        }
    }

    /// Whether the return value can be STOPPED.
    var returnsFlow: Bool {
        switch self {
        case .response, .data, .redirect, .challenge, .readBody, .rewind, .readCached, .isStopped: true
        default: false
        }
    }

    /// Whether any thread can make the call.
    var isAllowedOnAnyThread: Bool {
        switch self {
        case .isStopped, .wake: true
        default: false
        }
    }
}

/// One call from a load to its client, with its result, its thread, and the state of the load.
struct RecordedCall: Hashable, Sendable {
    let call: ClientCall
    /// The client's decision, as the number of a `portolan_flow`, also for functions without a return value.
    let returnValue: Int64?
    /// The kernel's thread number.
    let thread: Int32
    /// The function of this load that was running on the same thread; `nil` if there was none.
    let within: LoadFunction?
    /// The number of calls to the same client that were running when this call began.
    let overlapCount: Int
    /// The stage of the load without the effect of this call.
    let stage: Stage

    enum Stage: Hashable, Sendable, Comparable {
        case made, started, paused, stopped, ended, destroyed
    }
}

/// A plugin function that the conformance runner calls.
enum LoadFunction: String, Hashable, Sendable {
    case canInit = "can_init"
    case canonicalRequest = "canonical_request"
    case isCacheEquivalent = "is_cache_equivalent"
    case make, run, start, resume, woken, answered, stop, destroy
}
