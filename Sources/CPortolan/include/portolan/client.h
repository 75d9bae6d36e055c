/* SPDX-License-Identifier: Apache-2.0 */
/// The functions with which a load reports events and makes requests. The host enforces this order:
///
///     (interim | challenge | sent | redirect not taken)*
///         then  redirect taken | did_fail | cached_response_is_valid, did_finish
///           or  response, (data | sent | challenge | response, where multipart)*, trailers?, did_finish | did_fail
///
/// A load that violates the order is ended with PORTOLAN_ERROR_PROTOCOL_VIOLATION and the rule's ID. A load has exactly
/// one end: did_finish, did_fail, or a redirect that is taken.
#ifndef PORTOLAN_CLIENT_H
#define PORTOLAN_CLIENT_H

#include "base.h"
#include "challenge.h"
#include "error.h"
#include "request.h"
#include "response.h"
#include "text.h"

PORTOLAN_BEGIN

/// How to continue after a client call. Functions that return a count return negative values in its place.
PORTOLAN_ENUM(portolan_flow) {
    /// Event-driven loads only: nothing is there yet. The host calls `woken` (after a challenge: `answered`) when there
    /// is. The load may ask again earlier.
    PORTOLAN_WAIT = -2,
    /// The load is over for the caller: clean up and return. Further client calls do nothing and return this again. The
    /// load need not report an end. `destroy` follows, and `stop` may come first. Check: FLOW-06
    PORTOLAN_STOPPED = -1,
    /// Event-driven loads only: the event was taken. Deliver no response, data, trailers, redirect, confirmed cached
    /// response or finish until `resume`. A failure is allowed. did_send, did_reach, the reads and a challenge are not
    /// deliveries. Check: FLOW-01, FLOW-07
    PORTOLAN_PAUSE = 0,
    /// Continue.
    PORTOLAN_CONTINUE = 1
};

/// A step that a load reaches. The host records the time of each step for the load's metrics.
PORTOLAN_ENUM(portolan_step) {
    PORTOLAN_NAME_FOUND = 1,   ///< The host name is resolved.
    PORTOLAN_CONNECTED = 2,    ///< A connection is made.
    PORTOLAN_SECURED = 3,      ///< It is encrypted and the peer is known.
    PORTOLAN_REUSED = 4,       ///< In place of the three above: an open connection is used.
    PORTOLAN_REQUEST_SENT = 5, ///< The last byte of the request, with its body, is sent.
    PORTOLAN_FIRST_BYTE = 6    ///< The first byte of the response is received.
};

/// The client of a load, valid until `destroy` has returned. Every function takes the client as its first argument.
/// Unless a function is marked [any], call it on the [load-thread], or [serial] during a call into the load, and never
/// during `make` or `destroy`.
/// Check: THREAD-01, ORDER-05, ORDER-06, LIFE-08
typedef struct portolan_client portolan_client;
struct portolan_client {
    uint32_t size, reserved;

    /// Delivers an interim response, status 100 to 199, before the response. There can be several.
    /// [serial] or [load-thread]. Check: ORDER-03
    void (*did_receive_interim)(portolan_client *, const portolan_response *);

    /// Delivers the response. If the handler has PORTOLAN_MULTIPART, delivers one for each part. Borrowed for the call.
    /// [serial] or [load-thread]. Check: ORDER-01, ORDER-08, BODY-09, CACHE-01, SEC-08
    portolan_flow (*did_receive_response)(portolan_client *, const portolan_response *);

    /// Delivers the next bytes of the body. `bytes` is borrowed until the call returns, and must not change before
    /// (BODY-03); the host copies what it keeps. Length 0 does nothing, and is not an end (BODY-04). Pieces of 4 KiB to
    /// 1 MiB are most efficient (BODY-05).
    /// [serial] or [load-thread], after did_receive_response. Check: ORDER-01, BODY-01, BODY-02, FLOW-01, FLOW-06
    portolan_flow (*did_load)(portolan_client *, const void *PORTOLAN_NULLABLE bytes, size_t length);

    /// Delivers the fields after the body. At most once, and last before did_finish.
    /// [serial] or [load-thread], after did_receive_response. Check: SEC-08
    void (*did_receive_trailers)(portolan_client *, const portolan_field *PORTOLAN_NULLABLE, size_t count);

    /// Reports that the whole body was delivered. This is an end. If the source cut the body short, call did_fail
    /// (BODY-10).
    /// [serial] or [load-thread], after did_receive_response or cached_response_is_valid.
    /// Check: ORDER-02, ORDER-11, FLOW-07, BODY-02
    void (*did_finish)(portolan_client *);

    /// Reports a failure. This is an end. Allowed at any time, also in a pause. The error is borrowed for the call.
    /// [serial] or [load-thread]. Check: ORDER-02, ORDER-11, ERR-01 to ERR-05
    void (*did_fail)(portolan_client *, const portolan_error *);

    /// Reports that the resource is at another URL. `to` has this URL and the other changes. The response is NULL if
    /// the protocol has none. Call this before the response. PORTOLAN_STOPPED: the redirect is taken. This is an end,
    /// and the host starts the next load. PORTOLAN_CONTINUE: the redirect is not taken. Deliver this response and its
    /// body as usual; without a response, fail with PORTOLAN_ERROR_BAD_REDIRECT. PORTOLAN_PAUSE (event-driven loads
    /// only): the decision is pending. `resume` then means not taken; `stop` or `destroy` means taken. A blocking load
    /// waits for the decision.
    /// Since version 1.1, `to` can have no URL. The redirect then leads to the response's Location, which can be
    /// relative (RFC 9110 section 10.2.2). A Location that is no valid target is not taken, and the host fails the load
    /// after the response is delivered, because text of a peer violates no rule of this contract.
    /// [serial] or [load-thread]. Check: ORDER-04, REDIR-01 to REDIR-06, SEC-03
    portolan_flow (*was_redirected)(portolan_client *, const portolan_change *to, const portolan_response *PORTOLAN_NULLABLE);

    /// Confirms the stored response of `make`, with these newer fields (RFC 9111 section 4.3.4; NULL: unchanged). The
    /// host ignores the other members of `newer`, except that they must be valid. Replaces a response. No data follows,
    /// only did_finish.
    /// [serial] or [load-thread]. Check: ORDER-10, CACHE-02, CACHE-03, CACHE-06
    void (*cached_response_is_valid)(portolan_client *, const portolan_response *PORTOLAN_NULLABLE newer);

    /// Reads the stored response's body from `offset` into `buffer`, in any order of offsets. Returns the number of
    /// bytes, 0 at or after the end or for a negative offset, or PORTOLAN_STOPPED, but never PORTOLAN_WAIT. If the body
    /// can't be read, returns PORTOLAN_STOPPED, and the host ends the load with an error. Without a stored response there
    /// are no bytes. `capacity` is at least 1.
    /// [serial] or [load-thread]. Check: CACHE-04
    int64_t (*read_cached)(portolan_client *, int64_t offset, void *buffer, size_t capacity);

    /// Requests a credential, or a decision whether to trust a chain. One challenge at a time. PORTOLAN_CONTINUE:
    /// `*answer` is set, and is borrowed until the next client call or until the load's function returns, whichever is
    /// first. PORTOLAN_STOPPED: the load is over. PORTOLAN_WAIT, in event-driven loads: the host calls `answered`. A
    /// blocking load waits, and passes a place for the answer. Pass NULL for `answer` to get the answer only in
    /// `answered`.
    /// [serial] or [load-thread]. Check: CHAL-01 to CHAL-10, CANCEL-06
    portolan_flow (*did_receive_challenge)(portolan_client *, const portolan_challenge *,
                                           const portolan_answer *PORTOLAN_NULLABLE *PORTOLAN_NULLABLE answer);

    /// Cancels an open challenge, because the peer closed the connection. `answered` is then not called.
    /// Event-driven loads only.
    /// [serial]. Check: CHAL-08
    void (*did_cancel_challenge)(portolan_client *);

    /// Reads the next bytes of the upload body into `buffer`. Returns the number of bytes, 0 at the end, PORTOLAN_WAIT,
    /// or PORTOLAN_STOPPED. If the body fails, returns PORTOLAN_STOPPED, and the host ends the load with the body's error.
    /// [serial] or [load-thread]. Check: UPLOAD-01 to UPLOAD-09, CANCEL-07
    int64_t (*read_body)(portolan_client *, void *buffer, size_t capacity);

    /// Reports the total number of body bytes that were sent to the peer. The total never falls, and never exceeds the
    /// body's length. After a rewind it starts again.
    /// [serial] or [load-thread]. Check: ORDER-09, UPLOAD-06
    void (*did_send)(portolan_client *, int64_t total);

    /// Reports that a step was reached now. Optional. Report each step once, and again after a rewind.
    /// [serial] or [load-thread]
    void (*did_reach)(portolan_client *, portolan_step);

    /// Requests the upload body from its start, to send it again. 1: `read_body` starts again. 0: the body is not
    /// available again, so fail with PORTOLAN_ERROR_BODY_FAILED. PORTOLAN_WAIT: ask again in `woken`. PORTOLAN_STOPPED:
    /// the load is over.
    /// [serial] or [load-thread]. Check: UPLOAD-07
    int32_t (*rewind_body)(portolan_client *);

    /// Returns 1 after the load was stopped. For loops that deliver nothing. Costs about as much as reading an atomic.
    /// [any]. Check: LIFE-06, CANCEL-05
    int32_t (*is_stopped)(portolan_client *);

    /// Makes the host call `woken` soon, at least once after this call, unless the load is over. Never waits. The
    /// plugin's threads can call only this function, and not after `destroy` has returned.
    /// [any]. Check: THREAD-01, LIFE-11, ORDER-12
    void (*wake)(portolan_client *);
};

PORTOLAN_END

#endif
