// SPDX-License-Identifier: Apache-2.0
// Why a shim: it names a missing package.
#ifndef PORTOLAN_XXHASH_SHIM_H
#define PORTOLAN_XXHASH_SHIM_H

#if !__has_include(<xxhash.h>)
#error "xxHash's header is missing: apt-get install libxxhash-dev"
#endif

#include <xxhash.h>

#if XXH_VERSION_NUMBER < 800
#error "xxHash is older than 0.8: it has no XXH3"
#endif

#endif
