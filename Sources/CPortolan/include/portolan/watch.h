/* SPDX-License-Identifier: Apache-2.0 */
/// An extension: the host watches descriptors and timers for an event-driven load, so that a plugin of a network
/// protocol needs no thread.
///
/// When one of them is ready, the host calls `woken`, and calls into a load stay serial. The load then calls `ready`
/// and `fired`, or tries to read and write without waiting, as after any other `woken`. A whole load is a loop:
///
///     read until it says EAGAIN; watch(client, fd, PORTOLAN_READABLE); return
///
/// **One watch, one report.** `watch` arms a watch. The watch reports once, and is then disarmed until it is armed
/// again. It also reports what is already ready when it is armed (level-triggered). So nothing is missed between a read
/// with EAGAIN and the watch after it, and a descriptor that nobody reads from causes no further reports.
///
/// **Pauses.** While the load is paused, the host records readable descriptors and hang-ups, but does not report them.
/// They cause no `woken` before `resume` has returned, and none at all if `resume` has armed the watch again. Writable
/// descriptors and timers are also reported in a pause.
///
/// **Descriptors** belong to the plugin: it opens and closes them, and sets O_NONBLOCK. It calls `unwatch` before it
/// closes a watched descriptor (WATCH-03), but not in `stop` or `destroy`. Before these calls, and when the load
/// reports its end or receives PORTOLAN_STOPPED, the host has removed all watches and timers of the load. One load at a
/// time watches a descriptor.
///
/// Call these functions like those of the client: during a call into the load, and never during `make` or `destroy`.
/// Blocking loads wait by themselves (WATCH-01).
#ifndef PORTOLAN_WATCH_H
#define PORTOLAN_WATCH_H

#include "base.h"
#include "client.h"

/// The identifier for `portolan_host.extension`, which returns a `portolan_watch_table`.
#define PORTOLAN_WATCH "portolan.watch/1"

PORTOLAN_BEGIN

/// Bits: the readiness to watch for, and the readiness that was found.
PORTOLAN_ENUM(portolan_readiness) {
    PORTOLAN_READABLE = 1, ///< read(2) or accept(2) would not wait. Also at the end and after an error.
    PORTOLAN_WRITABLE = 2, ///< write(2) would not wait, or connect(2) has ended. Also after an error.
    PORTOLAN_HUNG_UP = 4   ///< The other side sends nothing more, or there was an error, which is reported even without this bit.
};

/// The number of descriptors and timers that one load can watch at the same time.
#define PORTOLAN_WATCH_LIMIT 64
#define PORTOLAN_TIMER_LIMIT 8

/// The functions that watch descriptors and timers.
typedef struct portolan_watch_table {
    uint32_t size, reserved;

    /// Watches `descriptor` until it is ready for one of the bits in `readiness`, at least one of which is set. An
    /// armed watch of the descriptor is changed, and its recorded readiness is dropped. Returns 0; PORTOLAN_STOPPED if
    /// the load has ended; otherwise an errno(3), and nothing is watched: EBADF for a descriptor that is not open, EPERM
    /// for one that is always ready, such as a regular file, EBUSY if another load watches it, EMFILE above
    /// PORTOLAN_WATCH_LIMIT, ENOSPC or ENOMEM if the system has no more.
    /// [serial]. Check: WATCH-01, WATCH-02, FLOW-09
    int32_t (*watch)(portolan_client *, int32_t descriptor, int32_t readiness);

    /// Returns what the descriptor was ready for since it was armed, once: the next call returns 0 until there is more.
    /// [serial]
    int32_t (*ready)(portolan_client *, int32_t descriptor);

    /// Stops watching the descriptor, and drops its recorded readiness. Does nothing if the descriptor is not watched.
    /// [serial]. Check: WATCH-03
    void (*unwatch)(portolan_client *, int32_t descriptor);

    /// Sets timer number `timer`, from 0, to fire once in `delay_ms` milliseconds, or never if `delay_ms` is negative.
    /// The previous setting is dropped. A timer can be late, but is never early. Returns 0, or PORTOLAN_STOPPED if the
    /// load is over.
    /// [serial]. Check: WATCH-01, WATCH-02
    int32_t (*set_timer)(portolan_client *, int32_t timer, int64_t delay_ms);

    /// Returns 1, once, if the timer has fired since it was set; otherwise 0.
    /// [serial]
    int32_t (*fired)(portolan_client *, int32_t timer);
} portolan_watch_table;

PORTOLAN_END

#endif
