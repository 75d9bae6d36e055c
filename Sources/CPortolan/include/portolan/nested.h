/* SPDX-License-Identifier: Apache-2.0 */
/// An extension: nested loads, for layered schemes (`gzip:`, `zip:`) and for interposers.
///
/// The plugin pulls the data, in both styles, so it need not implement a client. In a blocking load each call waits. An
/// event-driven load gets PORTOLAN_WAIT, and the host calls `woken`. A plugin that does not read pauses the nested load
/// (NEST-04). Call these functions like those of the client: during a call into the load or on the load-thread,
/// and never during `make` or `destroy`. When the parent load is stopped, the nested load is also stopped. A load that
/// reports its end closes its nested loads (LEAK-07). The host closes those of a stopped load after `destroy`.
///
/// The host never offers the nested request to this handler (NEST-01). It follows redirects by the policy of the parent
/// load, answers challenges like those of the parent load (NEST-03), and limits the depth (NEST-07). An interposer opens an empty change and passes on what it receives.
#ifndef PORTOLAN_NESTED_H
#define PORTOLAN_NESTED_H

#include "base.h"
#include "client.h"
#include "error.h"
#include "request.h"
#include "response.h"

/// The identifier for `portolan_host.extension`, which returns a `portolan_nested_table`.
#define PORTOLAN_NESTED "portolan.nested/1"

PORTOLAN_BEGIN

/// One nested load. The host owns it. It ends with `close`, or after the `destroy` of the parent load.
typedef struct portolan_nested portolan_nested;

/// The functions for nested loads.
typedef struct portolan_nested_table {
    uint32_t size, reserved;

    /// Starts a nested load. Its request is the parent load's request with this change. A layered handler sets `url`, `drops_fields` and, unless it
    /// passes the upload body on, `drops_body`. If it needs the body also when the parent's method is HEAD, it sets the
    /// method GET. A body that is not dropped goes to the nested load, and
    /// `read_body` of the parent's client then returns its end. Never waits and never fails: `response` reports what is
    /// wrong with the request. The change is borrowed for the call.
    /// [serial] or [load-thread]. Check: NEST-01, NEST-07, SEC-01, SEC-03
    portolan_nested *PORTOLAN_NONNULL (*PORTOLAN_NONNULL open)(portolan_client *parent, const portolan_change *);

    /// Gets the response. PORTOLAN_CONTINUE: `*response` is set, and is borrowed until `close`. PORTOLAN_STOPPED: the
    /// load failed, see `error`. PORTOLAN_WAIT: not yet. A repeated call returns the same. Its `url` is that of the
    /// last redirect.
    /// [serial] or [load-thread]. Check: NEST-02
    portolan_flow (*response)(portolan_nested *, const portolan_response *PORTOLAN_NULLABLE *PORTOLAN_NONNULL response);

    /// Gets the next bytes of the body. If there are bytes, there is also a response. Returns the number of bytes at
    /// `*bytes`, which are borrowed until the next call of `next` or `close`. The number has no smallest or largest value
    /// (NEST-09). 0: the whole body was read.
    /// PORTOLAN_STOPPED: the load failed, see `error`, and the bytes before are not the whole body (NEST-05).
    /// PORTOLAN_WAIT: not yet.
    /// [serial] or [load-thread]. Check: NEST-04, NEST-05, NEST-06, NEST-08, NEST-09
    int64_t (*next)(portolan_nested *, const void *PORTOLAN_NULLABLE *PORTOLAN_NONNULL bytes);

    /// Returns the reason after PORTOLAN_STOPPED, borrowed until `close`. Use it as the `cause` of the parent load's
    /// failure. NULL: the parent load was stopped, so return.
    /// [serial] or [load-thread]. Check: NEST-02
    const portolan_error *PORTOLAN_NULLABLE (*PORTOLAN_NONNULL error)(portolan_nested *);

    /// Ends the nested load, also before its end. The pointer is invalid afterwards.
    /// [serial] or [load-thread]. Check: CANCEL-08, LEAK-07, NEST-08
    void (*close)(portolan_nested *);
} portolan_nested_table;

PORTOLAN_END

#endif
