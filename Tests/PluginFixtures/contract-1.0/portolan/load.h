/* SPDX-License-Identifier: Apache-2.0 */
/// What a load can be told. One table serves all loads of a handler; `load` is what `make` returned.
#ifndef PORTOLAN_LOAD_H
#define PORTOLAN_LOAD_H

#include "base.h"
#include "challenge.h"

PORTOLAN_BEGIN

/// Either `run` (blocking), or `start`, `resume` and `woken` (event-driven), and always `destroy`. A table with both styles, with neither
/// or without `destroy` is refused (DESC-05). Calls may come on different threads, one after another. Check: THREAD-01, THREAD-02
typedef struct portolan_load_table {
    uint32_t size, reserved;

    /// A blocking load, whole: from the first event to the end. Called once, or never where the load is stopped first. Returning without an
    /// end (did_finish, did_fail, a redirect taken) and without having been told PORTOLAN_STOPPED is a failure.
    /// [load-thread]. Check: LIFE-02, ORDER-02, LIFE-04
    void (*PORTOLAN_NULLABLE run)(void *load);

    /// An event-driven load begins. Returns at once: what is not ready comes in `woken`. Called once, or never where the load is stopped
    /// first.
    /// [serial]. Check: LIFE-03, LIFE-04
    void (*PORTOLAN_NULLABLE start)(void *load);

    /// The reader is ready again after PORTOLAN_PAUSE; after a redirect being decided, it was not taken. Delivers what waits. Without a
    /// pause before it, does nothing.
    /// [serial]. Check: FLOW-02, FLOW-03, FLOW-04, REDIR-06
    void (*PORTOLAN_NULLABLE resume)(void *load);

    /// After `wake`, or after PORTOLAN_WAIT when what was waited for is there, or for nothing: looks at all that may be ready. Several
    /// wakes may bring one call. It comes while the load is paused, too, and then delivers nothing.
    /// [serial]. Check: FLOW-01, UPLOAD-02
    void (*PORTOLAN_NULLABLE woken)(void *load);

    /// The answer to a challenge that said PORTOLAN_WAIT: once, or never when the load is stopped or the challenge withdrawn. The answer is
    /// lent for the call. NULL only in loads that never ask.
    /// [serial]. Check: CHAL-02, CANCEL-06
    void (*PORTOLAN_NULLABLE answered)(void *load, const portolan_answer *);

    /// Nobody wants the rest. At most once, never before `start` or `run`, never after an end; NULL is allowed. Returns at once and does
    /// not wait for `run`. An event-driven load lets go of what it can, and delivers nothing more. For a blocking load it is there to
    /// interrupt a system call of the load's own (shut the socket down, write to a pipe): the client calls that wait have been let go
    /// already. It may come when `run` is about to return; `destroy` waits for both. Of the client it may use only what is marked [any].
    /// [serial]; of a blocking load [concurrent]. Check: CANCEL-01 to CANCEL-09, LIFE-05, LIFE-06, FLOW-05
    void (*PORTOLAN_NULLABLE stop)(void *load);

    /// The last call: frees everything. It comes without a start, too. Returns when no thread of the load can call the client any more, and
    /// within a second; calls nothing of the client itself, whose memory ends with it.
    /// [serial]. Check: LIFE-07, LIFE-08, LIFE-11, ORDER-06, ORDER-12
    void (*PORTOLAN_NULLABLE destroy)(void *load);
} portolan_load_table;

PORTOLAN_END

#endif
