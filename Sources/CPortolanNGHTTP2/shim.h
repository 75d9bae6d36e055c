// SPDX-License-Identifier: Apache-2.0
// Why a shim: it names a missing package, and finds a function that only some releases have.
#ifndef PORTOLAN_NGHTTP2_SHIM_H
#define PORTOLAN_NGHTTP2_SHIM_H

#if !__has_include(<nghttp2/nghttp2.h>)
#error "nghttp2's headers are missing: apt-get install libnghttp2-dev"
#endif

#include <nghttp2/nghttp2.h>

/* Since 1.61. Distributions have added it to earlier releases, too, to fix CVE-2024-28182. */
extern void nghttp2_option_set_max_continuations(nghttp2_option *option, size_t count) __attribute__((weak));

/// - Returns: whether the library has the limit.
static inline int portolan_nghttp2_option_set_max_continuations(nghttp2_option *option, size_t count) {
    if (!nghttp2_option_set_max_continuations) return 0;
    nghttp2_option_set_max_continuations(option, count);
    return 1;
}

#endif
