/* SPDX-License-Identifier: Apache-2.0 */
/// What everybody who is measured does with the bytes of a body, be it Portolan, a peer, a raw loop or the plugin: one definition in C,
/// inlined into all of them.
#ifndef BENCH_TALLY_H
#define BENCH_TALLY_H

#include <stddef.h>
#include <stdint.h>

/// The bytes of one body: how many came, and the sum of every 64th. Reading one byte of each cache line brings all of them to the
/// processor; places are counted from the body's start, so it does not matter in which pieces it comes.
typedef struct bench_tally {
    uint64_t count, sum;
} bench_tally;

/// Adds the next `length` bytes.
static inline void bench_tally_add(bench_tally *tally, const void *bytes, size_t length) {
    const uint8_t *start = (const uint8_t *)bytes;
    uint64_t sum = tally->sum; /* in a register: bytes may lie anywhere, for all that a compiler knows in the tally itself */
    for (size_t i = (size_t)(-tally->count & 63); i < length; i += 64) sum += start[i];
    tally->sum = sum;
    tally->count += length;
}

#endif
