// SPDX-License-Identifier: Apache-2.0
// Why a shim: Swift does not import the macro inflateInit2, because it contains sizeof. Input is const only with
// ZLIB_CONST.
#ifndef PORTOLAN_CZLIB_SHIM_H
#define PORTOLAN_CZLIB_SHIM_H

#define ZLIB_CONST
#include <zlib.h>

static inline int portolan_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

#endif
