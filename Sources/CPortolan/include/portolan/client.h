/* SPDX-License-Identifier: Apache-2.0 */
/// What a load reports to, and asks. The order is enforced:
///
///     (interim | challenge | sent | redirect not taken)*
///         then  redirect taken | did_fail | cached_response_is_valid, did_finish
///           or  response, (data | sent | challenge | response, where multipart)*, trailers?, did_finish | did_fail
///
/// A load that breaks it is ended with PORTOLAN_ERROR_PROTOCOL_VIOLATION and the rule's ID. Exactly one end: did_finish, did_fail, or a
/// redirect that was taken.
#ifndef PORTOLAN_CLIENT_H
#define PORTOLAN_CLIENT_H

#include "base.h"
#include "challenge.h"
#include "error.h"
#include "request.h"
#include "response.h"
#include "text.h"

PORTOLAN_BEGIN

/// How to go on after a client call. Functions that return a count give the negative ones in its place.
PORTOLAN_ENUM(portolan_flow) {
    /// Event-driven loads only: nothing yet. `woken` (after a challenge: `answered`) is called when there is. Asking again earlier is
    /// allowed.
    PORTOLAN_WAIT = -2,
    /// The load is over for the caller: clean up and return. Further client calls do nothing and say this again; no end is owed; `destroy`
    /// follows, and `stop` may come first. Check: FLOW-06
    PORTOLAN_STOPPED = -1,
    /// Event-driven loads only: taken, but deliver no response, data, trailers, redirect, confirmed cached response or finish until
    /// `resume`. A failure may come, and did_send, did_reach, the reads and a challenge are no deliveries. Check: FLOW-01, FLOW-07
    PORTOLAN_PAUSE = 0,
    /// Go on.
    PORTOLAN_CONTINUE = 1
};

/// A point that a load passes on its way; the host notes the time of each for the load's metrics.
PORTOLAN_ENUM(portolan_step) {
    PORTOLAN_NAME_FOUND = 1,   ///< The host name is resolved.
    PORTOLAN_CONNECTED = 2,    ///< A connection is made.
    PORTOLAN_SECURED = 3,      ///< It is encrypted and the peer is known.
    PORTOLAN_REUSED = 4,       ///< In place of the three above: a connection was at hand.
    PORTOLAN_REQUEST_SENT = 5, ///< The last byte of the request, with its body, is out.
    PORTOLAN_FIRST_BYTE = 6    ///< The first byte of the answer is in.
};

/// Lives until `destroy` has returned. Every function takes the client itself first. Unless marked [any] it is called on the [load-thread],
/// or [serial] from inside a call into the load, and never from inside `make` or `destroy`.
/// Check: THREAD-01, ORDER-05, ORDER-06, LIFE-08
typedef struct portolan_client portolan_client;
struct portolan_client {
    uint32_t size, reserved;

    /// An interim response, status 100 to 199, before the response. Any number may come.
    /// [serial] or [load-thread]. Check: ORDER-03
    void (*did_receive_interim)(portolan_client *, const portolan_response *);

    /// The response; again for each part, where the handler has PORTOLAN_MULTIPART. Lent for the call.
    /// [serial] or [load-thread]. Check: ORDER-01, ORDER-08, BODY-09, CACHE-01, SEC-08
    portolan_flow (*did_receive_response)(portolan_client *, const portolan_response *);

    /// The next run of body bytes. `bytes` is borrowed until the call returns, and must not change meanwhile (BODY-03); the host copies
    /// what it keeps. Length 0 does nothing, and is no end (BODY-04). Runs of 4 KiB to 1 MiB travel best (BODY-05).
    /// [serial] or [load-thread], after did_receive_response. Check: ORDER-01, BODY-01, BODY-02, FLOW-01, FLOW-06
    portolan_flow (*did_load)(portolan_client *, const void *PORTOLAN_NULLABLE bytes, size_t length);

    /// Fields that came after the body. Once at most, last before did_finish.
    /// [serial] or [load-thread], after did_receive_response. Check: SEC-08
    void (*did_receive_trailers)(portolan_client *, const portolan_field *PORTOLAN_NULLABLE, size_t count);

    /// The whole body was delivered. An end. A body cut short at its source is a failure, never this (BODY-10).
    /// [serial] or [load-thread], after did_receive_response or cached_response_is_valid. Check: ORDER-02, ORDER-11, FLOW-07, BODY-02
    void (*did_finish)(portolan_client *);

    /// It failed. An end, possible at any time, in a pause too. The error is lent for the call.
    /// [serial] or [load-thread]. Check: ORDER-02, ORDER-11, ERR-01 to ERR-05
    void (*did_fail)(portolan_client *, const portolan_error *);

    /// The resource is elsewhere: `to` names its URL and what else changes; the response is NULL where the protocol has none. Before the
    /// response. PORTOLAN_STOPPED: taken, an end; the host starts the next load. PORTOLAN_CONTINUE: not taken: deliver this response and
    /// its body as any other, or, where there is none, fail with PORTOLAN_ERROR_BAD_REDIRECT. PORTOLAN_PAUSE (event-driven loads only):
    /// being decided; `resume` means not taken, `stop` or `destroy` taken. A blocking load waits for the decision.
    /// `to` without a URL, since version 1.1: where the response's Location leads, which may be relative (RFC 9110 section 10.2.2). One that
    /// leads nowhere is not taken, and the host fails the load once it is delivered: what a peer wrote breaks no rule of this contract.
    /// [serial] or [load-thread]. Check: ORDER-04, REDIR-01 to REDIR-06, SEC-03
    portolan_flow (*was_redirected)(portolan_client *, const portolan_change *to, const portolan_response *PORTOLAN_NULLABLE);

    /// The stored response that `make` was given is still right, with these newer fields (RFC 9111 section 4.3.4; NULL: unchanged). In
    /// place of a response; no data follows, only did_finish.
    /// [serial] or [load-thread]. Check: ORDER-10, CACHE-02, CACHE-03, CACHE-06
    void (*cached_response_is_valid)(portolan_client *, const portolan_response *PORTOLAN_NULLABLE newer);

    /// Reads the stored response's body from `offset`: > 0 that many bytes are in `buffer`, 0 there are no more, or PORTOLAN_STOPPED. Never
    /// says PORTOLAN_WAIT. Without a stored response there are none.
    /// [serial] or [load-thread]. Check: CACHE-04
    int64_t (*read_cached)(portolan_client *, int64_t offset, void *buffer, size_t capacity);

    /// Asks for a credential, or whether a chain is to be trusted. One at a time. PORTOLAN_CONTINUE: `*answer` is set, and lent until the
    /// next client call or until the load's function returns, whichever is first; PORTOLAN_STOPPED; or, event-driven, PORTOLAN_WAIT:
    /// `answered` is called. A blocking load waits, and passes a place for the answer; NULL for `answer` is for loads that only want it in
    /// `answered`.
    /// [serial] or [load-thread]. Check: CHAL-01 to CHAL-10, CANCEL-06
    portolan_flow (*did_receive_challenge)(portolan_client *, const portolan_challenge *,
                                           const portolan_answer *PORTOLAN_NULLABLE *PORTOLAN_NULLABLE answer);

    /// The peer went away while a challenge waited: it is withdrawn, and `answered` does not come. Event-driven loads only.
    /// [serial]. Check: CHAL-08
    void (*did_cancel_challenge)(portolan_client *);

    /// Reads the upload body into `buffer`, in order: > 0 that many bytes, 0 its end, PORTOLAN_WAIT, or PORTOLAN_STOPPED, also for a body
    /// that failed, which ends the load with its own cause.
    /// [serial] or [load-thread]. Check: UPLOAD-01 to UPLOAD-09, CANCEL-07
    int64_t (*read_body)(portolan_client *, void *buffer, size_t capacity);

    /// That many bytes of the body have been sent to the peer, in total. Never falls, and never passes the body's length; after a rewind it
    /// begins again.
    /// [serial] or [load-thread]. Check: ORDER-09, UPLOAD-06
    void (*did_send)(portolan_client *, int64_t total);

    /// A step was reached now. Optional; each once, but again after a rewind.
    /// [serial] or [load-thread]
    void (*did_reach)(portolan_client *, portolan_step);

    /// Asks for the upload body from its start, to send it again. 1: `read_body` begins anew; 0: it cannot be had again, so fail with
    /// PORTOLAN_ERROR_BODY_FAILED; PORTOLAN_WAIT: ask again when woken; PORTOLAN_STOPPED.
    /// [serial] or [load-thread]. Check: UPLOAD-07
    int32_t (*rewind_body)(portolan_client *);

    /// 1 once nobody wants the rest; for loops that deliver nothing. Costs about as much as reading an atomic.
    /// [any]. Check: LIFE-06, CANCEL-05
    int32_t (*is_stopped)(portolan_client *);

    /// Has the host call `woken`, soon, at least once after this, unless the load is over. Never waits. The only call for own threads,
    /// which make it no more once `destroy` has returned.
    /// [any]. Check: THREAD-01, LIFE-11, ORDER-12
    void (*wake)(portolan_client *);
};

PORTOLAN_END

#endif
