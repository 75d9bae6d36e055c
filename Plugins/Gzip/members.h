/* SPDX-License-Identifier: Apache-2.0 */
/* A gzip file, decompressed piece by piece: one or more members (RFC 1952 section 2.2), and zero bytes after the last one, as tape and
 * block devices leave them. Knows nothing of loads. */
#ifndef GZIP_MEMBERS_H
#define GZIP_MEMBERS_H

#include <stddef.h>
#include <stdint.h>
#define ZLIB_CONST
#include <zlib.h>

/* How the last member lies to what was read. */
typedef enum gzip_place {
    GZIP_AT_START, /* nothing was read */
    GZIP_IN_MEMBER,
    GZIP_BETWEEN, /* the last byte was a member's last */
    GZIP_IN_PADDING
} gzip_place;

typedef enum gzip_result {
    GZIP_NEEDS_INPUT, /* all input was taken */
    GZIP_IS_FULL,     /* no room is left for output; there may be more */
    GZIP_IS_BAD,      /* `words` says what; so does every later call */
    GZIP_NO_MEMORY
} gzip_result;

typedef struct gzip_members {
    z_stream zlib; /* `next_in` and `avail_in` are the input that waits */
    gzip_place place;
    uint64_t member;  /* counted from 1 */
    uint64_t taken;   /* bytes of input */
    uint64_t given;   /* bytes of output */
    const char *words; /* what is bad, as zlib says it where zlib does; static */
} gzip_members;

/* 0 where memory could not be had. After 1, `gzip_members_end`. */
int gzip_members_begin(gzip_members *);
void gzip_members_end(gzip_members *);

/* Decompresses into `buffer`, which `*length` bytes fill already, until it is full or the input has been taken. Input that nothing is made
 * of, such as padding, counts as taken, too. */
gzip_result gzip_members_read(gzip_members *, unsigned char *buffer, size_t capacity, size_t *length);

/* May the file end here? */
int gzip_members_may_end(const gzip_members *);

#endif
