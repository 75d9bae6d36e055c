// SPDX-License-Identifier: Apache-2.0
// Why a shim: inflateInit2 is a macro with sizeof in it, which Swift does not import; and input is const only where ZLIB_CONST asks for it.
#ifndef PORTOLAN_CZLIB_SHIM_H
#define PORTOLAN_CZLIB_SHIM_H

#define ZLIB_CONST
#include <zlib.h>

static inline int portolan_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

#endif
