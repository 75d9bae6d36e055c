// SPDX-License-Identifier: Apache-2.0
// Why a shim: it names a missing package, and chooses the function that uses the vector instructions of the processor.
#ifndef PORTOLAN_XXHASH_SHIM_H
#define PORTOLAN_XXHASH_SHIM_H

#if !__has_include(<xxhash.h>)
#error "xxHash's header is missing: apt-get install libxxhash-dev"
#endif

#include <xxhash.h>

#if XXH_VERSION_NUMBER < 800
#error "xxHash is older than 0.8: it has no XXH3"
#endif

// The header is there if the library has functions that choose AVX2 or AVX-512 when they run. For x86, the others have
// only SSE2, which takes four times as long for large blocks. The header replaces the names of the functions.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

static inline XXH64_hash_t portolan_xxh3(const void *octets, size_t count, XXH64_hash_t seed) {
    return XXH3_64bits_withSeed(octets, count, seed);
}

#endif
