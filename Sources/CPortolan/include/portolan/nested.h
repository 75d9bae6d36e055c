/* SPDX-License-Identifier: Apache-2.0 */
/// An extension: loads inside loads, for layered schemes (`gzip:`, `zip:`) and for interposers.
///
/// They are pulled, in both styles, so that no plugin has to be a client: a blocking load waits in each call, an event-driven one gets
/// PORTOLAN_WAIT and is woken. Not reading is the pause (NEST-04). Everything here is called as the outer client is: from inside a call
/// into the load or on the load-thread, and neither from `make` nor from `destroy`. Stopping the outer load stops the inner one. A load that
/// comes to its own end closes what it has opened (LEAK-07); what a stopped one has open, the host closes after its `destroy`.
///
/// The host marks the inner request, so that this handler is not asked about it (NEST-01), follows its redirects by the outer's policy, has
/// its challenges answered as the outer's (NEST-03), and limits the depth (NEST-07). An interposer opens a change of nothing and passes on
/// what comes.
#ifndef PORTOLAN_NESTED_H
#define PORTOLAN_NESTED_H

#include "base.h"
#include "client.h"
#include "error.h"
#include "request.h"
#include "response.h"

/// What `portolan_host.extension` is asked for; the answer is a `portolan_nested_table`.
#define PORTOLAN_NESTED "portolan.nested/1"

PORTOLAN_BEGIN

/// One inner load. The host's; it ends with `close`, or after the outer's `destroy`.
typedef struct portolan_nested portolan_nested;

typedef struct portolan_nested_table {
    uint32_t size, reserved;

    /// Begins an inner load: the outer's request, changed. A layered handler gives `url`, `drops_fields` and, unless it uploads through,
    /// `drops_body`. An outer body that is not dropped goes to the inner load, and `read_body` of the outer then gives its end. Never waits
    /// and never fails: what is wrong with the request, `response` tells. The change is lent for the call.
    /// [serial] or [load-thread]. Check: NEST-01, NEST-07, SEC-01, SEC-03
    portolan_nested *PORTOLAN_NONNULL (*PORTOLAN_NONNULL open)(portolan_client *outer, const portolan_change *);

    /// Gets the response. PORTOLAN_CONTINUE: `*response` is set and lent until `close`; PORTOLAN_STOPPED: it failed, see `error`;
    /// PORTOLAN_WAIT. Asked again, it says the same. Its `url` is that of the last redirect.
    /// [serial] or [load-thread]. Check: NEST-02
    portolan_flow (*response)(portolan_nested *, const portolan_response *PORTOLAN_NULLABLE *PORTOLAN_NONNULL response);

    /// Gets the next body bytes, which imply the response. > 0: that many at `*bytes`, lent until the next call of `next` or `close`; 0:
    /// the whole body was read; PORTOLAN_STOPPED: it failed, see `error`, and what was read is not the whole (NEST-05); PORTOLAN_WAIT.
    /// [serial] or [load-thread]. Check: NEST-04, NEST-05, NEST-06
    int64_t (*next)(portolan_nested *, const void *PORTOLAN_NULLABLE *PORTOLAN_NONNULL bytes);

    /// After PORTOLAN_STOPPED: why, lent until `close`, and fit to be the `cause` of the outer's failure. NULL: the outer was stopped, so
    /// return.
    /// [serial] or [load-thread]. Check: NEST-02
    const portolan_error *PORTOLAN_NULLABLE (*PORTOLAN_NONNULL error)(portolan_nested *);

    /// Ends the inner load, also in the middle. The pointer is dead afterwards.
    /// [serial] or [load-thread]. Check: CANCEL-08, LEAK-07, NEST-08
    void (*close)(portolan_nested *);
} portolan_nested_table;

PORTOLAN_END

#endif
