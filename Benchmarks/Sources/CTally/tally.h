/* SPDX-License-Identifier: Apache-2.0 */
/// The work that every measured program does with the bytes of a body: Portolan, its peers, the raw loops and the
/// plugin. It has one definition in C, which is inlined everywhere.
#ifndef BENCH_TALLY_H
#define BENCH_TALLY_H

#include <stddef.h>
#include <stdint.h>

/// A tally of one body: the number of its bytes, and the sum of every 64th byte. Reading one byte of each cache line
/// loads all of them into the processor. Positions count from the start of the body, so the pieces in which it arrives
/// do not matter.
typedef struct bench_tally {
    uint64_t count, sum;
} bench_tally;

/// Adds the next `length` bytes.
static inline void bench_tally_add(bench_tally *tally, const void *bytes, size_t length) {
    const uint8_t *start = (const uint8_t *)bytes;
    uint64_t sum = tally->sum; /* in a register: for the compiler, `bytes` might overlap the tally */
    for (size_t i = (size_t)(-tally->count & 63); i < length; i += 64) sum += start[i];
    tally->sum = sum;
    tally->count += length;
}

#endif
