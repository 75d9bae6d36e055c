/* SPDX-License-Identifier: Apache-2.0 */
/* Decompresses a gzip file piece by piece: one or more members (RFC 1952 section 2.2), and zero bytes after the last
 * one, as tapes and block devices leave them. Independent of loads. */
#ifndef GZIP_MEMBERS_H
#define GZIP_MEMBERS_H

#include <stddef.h>
#include <stdint.h>
#define ZLIB_CONST
#include <zlib.h>

/* The position in the file after the input that was read. */
typedef enum gzip_place {
    GZIP_AT_START, /* no input yet */
    GZIP_IN_MEMBER,
    GZIP_BETWEEN, /* the last byte ended a member */
    GZIP_IN_PADDING
} gzip_place;

typedef enum gzip_result {
    GZIP_NEEDS_INPUT, /* all input was consumed */
    GZIP_IS_FULL,     /* the output buffer is full; there can be more output */
    GZIP_IS_BAD,      /* `problem` says why; every later call returns this again */
    GZIP_NO_MEMORY
} gzip_result;

typedef struct gzip_members {
    z_stream zlib; /* `next_in` and `avail_in` are the input that is left */
    gzip_place place;
    uint64_t member;  /* counted from 1 */
    uint64_t input_count;  /* bytes of consumed input */
    uint64_t output_count; /* bytes of output */
    const char *problem;   /* what is wrong with the input, in the words of zlib if zlib found it; static; NULL if nothing is */
} gzip_members;

/* Returns 0 if there is no memory. After 1, call `gzip_members_end`. */
int gzip_members_begin(gzip_members *);
void gzip_members_end(gzip_members *);

/* Decompresses into `buffer`, after the `*length` bytes that it already has, until it is full or all input was consumed.
 * Input without output, such as padding, also counts as consumed. */
gzip_result gzip_members_read(gzip_members *, unsigned char *buffer, size_t capacity, size_t *length);

/* Whether the file can end here. */
int gzip_members_may_end(const gzip_members *);

#endif
