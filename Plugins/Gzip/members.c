/* SPDX-License-Identifier: Apache-2.0 */
#include "members.h"
#include <string.h>

/* The first byte of a member's header (RFC 1952 section 2.3.1). */
#define FIRST_BYTE 0x1f
/* A window of 32 KiB, plus 16 so that zlib expects the gzip format and makes its checks: inflateInit2 in zlib.h. */
#define GZIP_WINDOW (15 + 16)

int gzip_members_begin(gzip_members *members) {
    memset(members, 0, sizeof *members);
    return inflateInit2(&members->zlib, GZIP_WINDOW) == Z_OK;
}

void gzip_members_end(gzip_members *members) { inflateEnd(&members->zlib); }

int gzip_members_may_end(const gzip_members *members) {
    return members->place == GZIP_BETWEEN || members->place == GZIP_IN_PADDING;
}

static gzip_result bad(gzip_members *members, const char *problem) {
    members->problem = problem;
    return GZIP_IS_BAD;
}

/* Skips zero bytes. Returns whether the input has no other bytes. */
static int skip_padding(gzip_members *members) {
    z_stream *zlib = &members->zlib;
    while (zlib->avail_in > 0 && *zlib->next_in == 0) {
        zlib->next_in++;
        zlib->avail_in--;
        members->input_count++;
    }
    return zlib->avail_in == 0;
}

/* Handles the next input byte, which is not inside a member. Returns what is wrong with it, or NULL. */
static const char *begin_member(gzip_members *members) {
    unsigned char first = *members->zlib.next_in;
    if (members->place != GZIP_AT_START && first == 0) members->place = GZIP_IN_PADDING;
    if (members->place == GZIP_IN_PADDING) return skip_padding(members) ? NULL : "something follows the zeros after its end";
    if (first != FIRST_BYTE) return members->place == GZIP_AT_START ? "incorrect header check" : "something follows its end";
    if (members->place == GZIP_BETWEEN) inflateReset(&members->zlib);
    members->place = GZIP_IN_MEMBER;
    members->member++;
    return NULL;
}

static gzip_result inflate_some(gzip_members *members, unsigned char *buffer, size_t capacity, size_t *length) {
    z_stream *zlib = &members->zlib;
    uInt room = capacity - *length < UINT32_MAX ? (uInt)(capacity - *length) : UINT32_MAX, waiting = zlib->avail_in;
    zlib->next_out = buffer + *length;
    zlib->avail_out = room;
    int status = inflate(zlib, Z_NO_FLUSH);
    *length += room - zlib->avail_out;
    members->output_count += room - zlib->avail_out;
    members->input_count += waiting - zlib->avail_in;
    switch (status) {
    case Z_STREAM_END: members->place = GZIP_BETWEEN; return GZIP_NEEDS_INPUT;
    case Z_OK:
    case Z_BUF_ERROR: return GZIP_NEEDS_INPUT; /* no progress was possible: no input, or no room; the caller checks which */
    case Z_MEM_ERROR: return GZIP_NO_MEMORY;
    default: return bad(members, zlib->msg ? zlib->msg : "incorrect data");
    }
}

gzip_result gzip_members_read(gzip_members *members, unsigned char *buffer, size_t capacity, size_t *length) {
    if (members->problem) return GZIP_IS_BAD;
    for (;;) {
        if (members->place != GZIP_IN_MEMBER) {
            if (members->zlib.avail_in == 0) return GZIP_NEEDS_INPUT;
            const char *problem = begin_member(members);
            if (problem) return bad(members, problem);
            continue;
        }
        if (*length == capacity) return GZIP_IS_FULL;
        gzip_result result = inflate_some(members, buffer, capacity, length);
        if (result != GZIP_NEEDS_INPUT) return result;
        /* If there is room left, zlib has consumed all input that it can, unless a member has ended. */
        if (members->place == GZIP_IN_MEMBER && *length < capacity && members->zlib.avail_in == 0) return result;
    }
}
