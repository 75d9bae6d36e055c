// SPDX-License-Identifier: Apache-2.0
// This shim makes the error for a missing header name the package, and makes a newer function optional.
#ifndef PORTOLAN_NGHTTP2_SHIM_H
#define PORTOLAN_NGHTTP2_SHIM_H

#if !__has_include(<nghttp2/nghttp2.h>)
#error "nghttp2's headers are missing: apt-get install libnghttp2-dev"
#endif

#include <nghttp2/nghttp2.h>

/* nghttp2 1.61 added this function, and distributions added it to older releases for CVE-2024-28182. NULL if absent. */
extern void nghttp2_option_set_max_continuations(nghttp2_option *option, size_t count) __attribute__((weak));

/// - Returns: 1 if the library has the function, and the limit is then set; otherwise 0.
static inline int portolan_nghttp2_option_set_max_continuations(nghttp2_option *option, size_t count) {
    if (!nghttp2_option_set_max_continuations) return 0;
    nghttp2_option_set_max_continuations(option, count);
    return 1;
}

#endif
