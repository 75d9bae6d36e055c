/* SPDX-License-Identifier: Apache-2.0 */
/// The rules for every part of the contract, and the macros that the headers use.
///
/// **Two styles of load, one client.** A *blocking* load is one function on a thread that the host owns. A client call
/// waits if the reader is slow, if the upload body has no bytes yet, or if a challenge has no answer yet. An
/// *event-driven* load never blocks. The host starts, resumes, wakes, answers and stops it, and each of these calls
/// returns within 50 ms (LIFE-03), a stop within 100 ms (CANCEL-04).
///
/// **Serial calls.** All calls into one load are serial, so an author needs no lock. An event-driven load calls its
/// client only during a call from the host into the load. A thread or an event loop of the plugin calls `wake`, and the
/// host then calls `woken`. The host never calls into a load during a client call. It handles the caller's actions
/// after the load's function has returned, so a `resume` cannot overtake the PORTOLAN_PAUSE before it. The only
/// exception is `stop` of a blocking load, which is [concurrent].
///
/// **Lifetime.** The arguments of `make` (request, stored response, client) are valid until `destroy` has returned.
/// Every other argument and result is borrowed for the length of the call, in both directions, unless its comment says
/// otherwise. The receiver copies what it keeps. No side frees what the other side made, or writes to what its type
/// declares const (LIFE-12). There are no reference counts.
///
/// **Growth.** A struct that can grow begins with `size`. The side that fills the struct sets `size` to `sizeof`. The
/// other side reads up to the smaller of the two sizes, and at least the size of version 1 (DESC-05). Never copy a
/// borrowed struct by its `size`, because your struct can be shorter. `portolan_string`, `portolan_field` and
/// `portolan_property` never grow. Reserved members are zero: the host ignores them, because a later version can use
/// them, and the runner reports other values, and a `size` larger than it knows (DESC-05). New abilities are
/// extensions, which a plugin requests by name.
///
/// **Zero.** Zero a struct before you fill it, and set `size`. A member that you leave zero says nothing: a string is
/// absent, a list is empty, a function does not exist, a flag is off. Where 0 is a value, as for a port, the
/// member's comment names the value for "none". The comment of each struct names the members that must be set. The
/// runner finds memory that was not set (MEM-02).
///
/// **Values.** Arguments are values, so a load can run in another process. There, a call can return PORTOLAN_CONTINUE
/// before the reader has taken the bytes, up to a window, and PORTOLAN_STOPPED late.
///
/// **Leaving.** No exception, panic, longjmp or thread exit leaves a function of a plugin. A load-thread has 512 KiB of
/// stack, and SIGPIPE is blocked there. The plugin's own threads write with MSG_NOSIGNAL (FAULT-05).
///
/// **Thread words**, in brackets at each function:
/// - [any]: any thread, also several at the same time.
/// - [serial]: any thread, but never at the same time as another [serial] call of the same load.
/// - [load-thread]: on the thread of a blocking load.
/// - [concurrent]: during a [load-thread] call, and never on that thread.
///
/// `Check:` names the rules that the conformance runner checks for the function.
#ifndef PORTOLAN_BASE_H
#define PORTOLAN_BASE_H

#include <stddef.h>
#include <stdint.h>

/// The version of the contract. A host and a plugin with different major versions do not load each other. A minor
/// version only appends members and names.
#define PORTOLAN_ABI_MAJOR 1u
#define PORTOLAN_ABI_MINOR 3u

/// For the entry function: exports it even if the library is built with `-fvisibility=hidden`.
#define PORTOLAN_EXPORT __attribute__((visibility("default")))

/* Pointers are never NULL unless marked. Structs that the host fills obey this rule. In structs that a plugin fills,
 * every pointer is marked, so that Swift can create them zeroed and the host can check a pointer before it calls. */
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

/// An enumeration that is always 32 bits wide and signed. It can have any value, so keep a default case.
#if defined(__clang__) || defined(__cplusplus)
#define PORTOLAN_ENUM(name) enum name : int32_t; typedef enum name name; enum name : int32_t
#else
#define PORTOLAN_ENUM(name) typedef int32_t name; enum
#endif

/// Whether the other side's struct has this member. Only members newer than version 1 need this test.
#define PORTOLAN_HAS(type, pointer, member) ((pointer)->size >= offsetof(type, member) + sizeof((pointer)->member))

#endif
