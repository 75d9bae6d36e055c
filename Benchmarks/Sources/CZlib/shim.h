/* SPDX-License-Identifier: Apache-2.0 */
/* zlib. inflateInit2 is a macro, which Swift does not see. */
#ifndef BENCH_ZLIB_H
#define BENCH_ZLIB_H

// As Portolan's own shim has it: one module graph takes one form of the header.
#define ZLIB_CONST
#include <zlib.h>

/* For gzip and zlib streams, as the header says. */
static inline int bench_inflate_init(z_stream *stream) { return inflateInit2(stream, 15 + 32); }

#endif
