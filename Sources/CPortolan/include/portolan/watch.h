/* SPDX-License-Identifier: Apache-2.0 */
/// An extension: the host watches descriptors and timers for an event-driven load, so that a plugin of a network protocol needs no thread of
/// its own.
///
/// What was ready brings a call of `woken`, in its turn: calls into a load stay serial. The load then asks `ready` and `fired`, or just tries
/// to read and write without waiting, as it does after any other `woken`. A whole load is a loop:
///
///     read until it says EAGAIN; watch(client, fd, PORTOLAN_READABLE); return
///
/// **One watch, one word.** A watch is armed by `watch`, tells once, and is then disarmed until it is armed again. What is ready already when
/// it is armed is told, too (level-triggered), so nothing is missed between a read that said EAGAIN and the watch that follows it, and a
/// descriptor that nobody reads from makes no noise.
///
/// **Pauses.** While the load is paused, what can be read and a hang-up are noted and not told: they bring no `woken` before `resume` has
/// returned, and none at all where that has armed the watch again. What can be written, and timers, are told in a pause, too.
///
/// **Descriptors** stay the plugin's: it opens and closes them, and sets O_NONBLOCK. It calls `unwatch` before it closes one that is watched
/// (WATCH-03), but not in `stop` or `destroy`: before them, and when the load reports its end or is told PORTOLAN_STOPPED, the host has given up
/// all watches and timers of the load. A descriptor is watched by one load at a time.
///
/// Everything here is called as the client is: from inside a call into the load, and neither from `make` nor from `destroy`. Blocking loads
/// wait for themselves (WATCH-01).
#ifndef PORTOLAN_WATCH_H
#define PORTOLAN_WATCH_H

#include "base.h"
#include "client.h"

/// What `portolan_host.extension` is asked for; the answer is a `portolan_watch_table`.
#define PORTOLAN_WATCH "portolan.watch/1"

PORTOLAN_BEGIN

/// Bits: what a descriptor is watched for, and what it turned out to be.
PORTOLAN_ENUM(portolan_readiness) {
    PORTOLAN_READABLE = 1, ///< read(2) or accept(2) would not wait; so it is at the end and after an error.
    PORTOLAN_WRITABLE = 2, ///< write(2) would not wait, or connect(2) has come to an end; so it is after an error.
    PORTOLAN_HUNG_UP = 4   ///< The other side sends nothing more, or there was an error. Errors are told where it was not asked for, too.
};

/// How much one load may have watched at once.
#define PORTOLAN_WATCH_LIMIT 64
#define PORTOLAN_TIMER_LIMIT 8

typedef struct portolan_watch_table {
    uint32_t size, reserved;

    /// Watches `descriptor` until it is ready for something of `readiness`, at least one of the bits; a watch of it that is armed is changed, and
    /// what was noted of it is forgotten. Returns 0; PORTOLAN_STOPPED where the load is over; or else a number of errno(3), and nothing is
    /// watched: EBADF for one that is not open, EPERM for one that is always ready, such as a regular file, EBUSY where another load watches it,
    /// EMFILE over PORTOLAN_WATCH_LIMIT, ENOSPC or ENOMEM where the system has no more.
    /// [serial]. Check: WATCH-01, WATCH-02, FLOW-09
    int32_t (*watch)(portolan_client *, int32_t descriptor, int32_t readiness);

    /// What the descriptor was ready for since it was armed, once: the next call says 0 until there is more.
    /// [serial]
    int32_t (*ready)(portolan_client *, int32_t descriptor);

    /// Watches it no more, and forgets what was noted. Does nothing for one that is not watched.
    /// [serial]. Check: WATCH-03
    void (*unwatch)(portolan_client *, int32_t descriptor);

    /// Has timer number `timer`, from 0, fire once in `delay_ms` milliseconds, or not at all where that is negative; what it was set to before is
    /// forgotten. A timer may be late, and is never early. Returns 0, or PORTOLAN_STOPPED where the load is over.
    /// [serial]. Check: WATCH-01, WATCH-02
    int32_t (*set_timer)(portolan_client *, int32_t timer, int64_t delay_ms);

    /// Has it fired since it was set? 1, once, or 0.
    /// [serial]
    int32_t (*fired)(portolan_client *, int32_t timer);
} portolan_watch_table;

PORTOLAN_END

#endif
