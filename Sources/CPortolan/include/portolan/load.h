/* SPDX-License-Identifier: Apache-2.0 */
/// The functions that the host calls on a load. All loads of a handler share one table. `load` is what `make` returned.
#ifndef PORTOLAN_LOAD_H
#define PORTOLAN_LOAD_H

#include "base.h"
#include "challenge.h"

PORTOLAN_BEGIN

/// Either `run` (blocking), or `start`, `resume` and `woken` (event-driven), and always `destroy`. The host refuses a
/// table with both styles, with neither style, or without `destroy` (DESC-05). Calls can come on different threads, one
/// after another. A function that is NULL is not called. Check: THREAD-01, THREAD-02
typedef struct portolan_load_table {
    uint32_t size, reserved;

    /// Runs a blocking load, from the first event to the end. Called once, or never if the load is stopped first. It is
    /// a failure to return without an end (did_finish, did_fail, a redirect taken), unless a client call has returned
    /// PORTOLAN_STOPPED.
    /// [load-thread]. Check: LIFE-02, ORDER-02, LIFE-04
    void (*PORTOLAN_NULLABLE run)(void *load);

    /// Starts an event-driven load. Returns within 50 ms, as `resume`, `woken` and `answered` do (LIFE-03); `woken` handles
    /// what is not ready. Called once, or never if the load is stopped first.
    /// [serial]. Check: LIFE-03, LIFE-04
    void (*PORTOLAN_NULLABLE start)(void *load);

    /// Called when the reader is ready again after PORTOLAN_PAUSE. After a pending redirect, it means that the redirect
    /// is not taken. Delivers what waits. Does nothing without a pause before it.
    /// [serial]. Check: FLOW-02, FLOW-03, FLOW-04, REDIR-06
    void (*PORTOLAN_NULLABLE resume)(void *load);

    /// Called after `wake`, or after PORTOLAN_WAIT when the wait is over, or without a reason. Checks everything that
    /// can be ready. Several wakes can cause one call. It is also called while the load is paused, and then delivers
    /// nothing.
    /// [serial]. Check: FLOW-01, UPLOAD-02
    void (*PORTOLAN_NULLABLE woken)(void *load);

    /// Receives the answer to a challenge that returned PORTOLAN_WAIT. Called once, or never if the load is stopped or
    /// the challenge is cancelled. The answer is borrowed for the call. NULL only in loads that never send a challenge.
    /// [serial]. Check: CHAL-02, CANCEL-06
    void (*PORTOLAN_NULLABLE answered)(void *load, const portolan_answer *);

    /// Stops the load, because nobody wants the rest. Called at most once, never before `start` or `run`, and never
    /// after an end; NULL is allowed. Returns within 100 ms (CANCEL-04) and does not wait for `run`. An event-driven load releases what
    /// it can, and delivers nothing more. For a blocking load, `stop` interrupts a system call of the load (shuts the
    /// socket down, writes to a pipe); the host has already released client calls that wait. `stop` can be called while
    /// `run` is returning; `destroy` waits for both. `stop` can call only the [any] functions of the client.
    /// [serial]; of a blocking load [concurrent]. Check: CANCEL-01 to CANCEL-09, LIFE-05, LIFE-06, FLOW-05
    void (*PORTOLAN_NULLABLE stop)(void *load);

    /// The last call: frees everything. It is also called for a load that was not started. Returns when no thread of
    /// the load can call the client any more, and within a second. Calls no client function. The client is invalid
    /// afterwards.
    /// [serial]. Check: LIFE-07, LIFE-08, LIFE-11, ORDER-06, ORDER-12
    void (*PORTOLAN_NULLABLE destroy)(void *load);
} portolan_load_table;

PORTOLAN_END

#endif
