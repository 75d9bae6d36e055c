/* SPDX-License-Identifier: Apache-2.0 */
/// What holds for every part of the contract, and the few macros that the headers are written with.
///
/// **Two styles of load, one client.** A *blocking* load is one function on a thread that the host owns. Each client call waits where
/// the reader is slow, where the upload body has nothing yet, where a credential is asked for. An *event-driven* load never blocks:
/// it is started, resumed, woken, answered and stopped, and returns from each at once.
///
/// **Turns.** All calls into one load are serial, so an author needs no lock. An event-driven load calls its client only from inside
/// a call that the host made into it; a thread or event loop of its own calls `wake`, and the host then calls `woken`. The host never
/// calls into a load from inside a client call: what a caller does there comes after the load's function has returned, so a `resume`
/// cannot overtake the PORTOLAN_PAUSE that it answers. The one exception is `stop` of a blocking load, [concurrent].
///
/// **Lending.** What `make` is given (request, stored response, client) lives until `destroy` has returned. All else that is lent, in
/// either direction, is lent for the length of the call unless its comment says otherwise: who keeps it copies it. Nobody frees what
/// the other side made, or writes to what its type calls const (LIFE-12), and there are no reference counts.
///
/// **Growth.** Structs that can grow begin with `size`, set to `sizeof` by whoever fills them, and are read up to the smaller of the
/// two sides' sizes, never under version 1's (DESC-05). Never copy a lent struct by its `size`: yours may be shorter. `portolan_string`,
/// `portolan_field` and `portolan_property` never grow. Reserved members are zero. New abilities are extensions, asked for by name.
///
/// **Values.** Arguments are values, so a load can live in another process; there PORTOLAN_CONTINUE may be said ahead of the reader,
/// up to a window, and PORTOLAN_STOPPED late.
///
/// **Leaving.** No exception, panic, longjmp or thread exit leaves a plugin's function. A load-thread has 512 KiB of stack and SIGPIPE
/// blocked; a plugin's own threads write with MSG_NOSIGNAL (FAULT-05).
///
/// **Thread words**, in brackets at each function:
/// - [any]: any thread, also several at the same time.
/// - [serial]: any thread, but never at the same time as another [serial] call of the same load.
/// - [load-thread]: on the thread of a blocking load.
/// - [concurrent]: while a [load-thread] call is running, and never on that thread.
///
/// `Check:` names the rules of the conformance suite that watch over the function.
#ifndef PORTOLAN_BASE_H
#define PORTOLAN_BASE_H

#include <stddef.h>
#include <stdint.h>

/// The contract's version. A host and a plugin of different majors do not load each other; a minor only appends members and names.
#define PORTOLAN_ABI_MAJOR 1u
#define PORTOLAN_ABI_MINOR 1u

/// On the entry function, so that a library built with `-fvisibility=hidden` still exports it.
#define PORTOLAN_EXPORT __attribute__((visibility("default")))

/* Pointers are never NULL unless marked. Structs that the host fills keep to that; in structs that a plugin fills every pointer is marked,
 * so that Swift can make them zeroed and the host can look before it calls. */
#ifdef __clang__
#define PORTOLAN_NULLABLE _Nullable
#define PORTOLAN_NONNULL _Nonnull
#define PORTOLAN_BEGIN_LANGUAGE \
    _Pragma("clang assume_nonnull begin") _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpedantic\"")
#define PORTOLAN_END_LANGUAGE _Pragma("clang diagnostic pop") _Pragma("clang assume_nonnull end")
#else
#define PORTOLAN_NULLABLE
#define PORTOLAN_NONNULL
#define PORTOLAN_BEGIN_LANGUAGE
#define PORTOLAN_END_LANGUAGE
#endif

#ifdef __cplusplus
#define PORTOLAN_BEGIN PORTOLAN_BEGIN_LANGUAGE extern "C" {
#define PORTOLAN_END } PORTOLAN_END_LANGUAGE
#else
#define PORTOLAN_BEGIN PORTOLAN_BEGIN_LANGUAGE
#define PORTOLAN_END PORTOLAN_END_LANGUAGE
#endif

/// An enumeration that is always 32 bits wide and signed. Any value may arrive in one: keep a default case.
#if defined(__clang__) || defined(__cplusplus)
#define PORTOLAN_ENUM(name) enum name : int32_t; typedef enum name name; enum name : int32_t
#else
#define PORTOLAN_ENUM(name) typedef int32_t name; enum
#endif

/// Does the other side's struct have this member? Only members newer than version 1 need the question.
#define PORTOLAN_HAS(type, pointer, member) ((pointer)->size >= offsetof(type, member) + sizeof((pointer)->member))

#endif
