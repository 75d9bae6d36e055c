// SPDX-License-Identifier: Apache-2.0
// Why a shim: inflateInit2 is a macro with sizeof in it, which Swift does not import.
#ifndef PORTOLAN_CZLIB_SHIM_H
#define PORTOLAN_CZLIB_SHIM_H

#include <zlib.h>

static inline int portolan_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

#endif
