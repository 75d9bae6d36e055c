/* SPDX-License-Identifier: Apache-2.0 */
/// An extension: nested loads, for layered schemes (`gzip:`, `zip:`) and for interposers.
///
/// The plugin pulls the data, in both styles, so it need not implement a client. In a blocking load each call waits. An
/// event-driven load gets PORTOLAN_WAIT, and the host calls `woken`. A plugin that does not read pauses the nested load
/// (NEST-04). Call these functions like those of the outer client: during a call into the load or on the load-thread,
/// and never during `make` or `destroy`. When the outer load is stopped, the nested load is stopped, too. A load that
/// reports its own end closes what it has opened (LEAK-07). What a stopped load has opened, the host closes after its
/// `destroy`.
///
/// The host marks the nested request, so that it does not ask this handler about it (NEST-01). It follows the redirects
/// by the outer load's policy, answers the challenges like those of the outer load (NEST-03), and limits the depth
/// (NEST-07). An interposer opens an empty change and passes on what it receives.
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

/// One nested load. The host owns it. It ends with `close`, or after the `destroy` of the outer load.
typedef struct portolan_nested portolan_nested;

/// The functions for nested loads.
typedef struct portolan_nested_table {
    uint32_t size, reserved;

    /// Starts a nested load: the outer request, changed. A layered handler sets `url`, `drops_fields` and, unless it
    /// passes the upload body on, `drops_body`. An outer body that is not dropped goes to the nested load, and
    /// `read_body` of the outer client then returns its end. Never waits and never fails: `response` reports what is
    /// wrong with the request. The change is borrowed for the call.
    /// [serial] or [load-thread]. Check: NEST-01, NEST-07, SEC-01, SEC-03
    portolan_nested *PORTOLAN_NONNULL (*PORTOLAN_NONNULL open)(portolan_client *outer, const portolan_change *);

    /// Gets the response. PORTOLAN_CONTINUE: `*response` is set, and is borrowed until `close`. PORTOLAN_STOPPED: the
    /// load failed, see `error`. PORTOLAN_WAIT: not yet. A repeated call returns the same. Its `url` is that of the
    /// last redirect.
    /// [serial] or [load-thread]. Check: NEST-02
    portolan_flow (*response)(portolan_nested *, const portolan_response *PORTOLAN_NULLABLE *PORTOLAN_NONNULL response);

    /// Gets the next bytes of the body. If there are bytes, there is also a response. Returns the number of bytes at
    /// `*bytes`, which are borrowed until the next call of `next` or `close`. 0: the whole body was read.
    /// PORTOLAN_STOPPED: the load failed, see `error`, and the bytes so far are not the whole body (NEST-05).
    /// PORTOLAN_WAIT: not yet.
    /// [serial] or [load-thread]. Check: NEST-04, NEST-05, NEST-06
    int64_t (*next)(portolan_nested *, const void *PORTOLAN_NULLABLE *PORTOLAN_NONNULL bytes);

    /// Returns the reason after PORTOLAN_STOPPED, borrowed until `close`. It may be the `cause` of the outer load's
    /// failure. NULL: the outer load was stopped, so return.
    /// [serial] or [load-thread]. Check: NEST-02
    const portolan_error *PORTOLAN_NULLABLE (*PORTOLAN_NONNULL error)(portolan_nested *);

    /// Ends the nested load, also before its end. The pointer is invalid afterwards.
    /// [serial] or [load-thread]. Check: CANCEL-08, LEAK-07, NEST-08
    void (*close)(portolan_nested *);
} portolan_nested_table;

PORTOLAN_END

#endif
