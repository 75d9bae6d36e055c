/* SPDX-License-Identifier: Apache-2.0 */
/// Small inline functions for plugin authors. They are not part of the contract: portolan/portolan.h does not include
/// them, and no host needs them. They exist because authors are most likely to make mistakes in decoding and in joining
/// paths. None of them allocates, and none writes past `capacity`.
#ifndef PORTOLAN_HELPERS_H
#define PORTOLAN_HELPERS_H

#include <string.h>

#include "base.h"
#include "text.h"

PORTOLAN_BEGIN

/// Why `portolan_decode` or `portolan_join` refuses its input. All values are negative, so none of them is a length.
PORTOLAN_ENUM(portolan_refused) {
    PORTOLAN_REFUSED_ESCAPE = -1,    ///< A `%` without two hexadecimal digits after it.
    PORTOLAN_REFUSED_NUL = -2,       ///< A NUL, plain or as `%00`: a C string would end there.
    PORTOLAN_REFUSED_CR = -3,        ///< A CR, plain or as `%0D`: in a peer's line protocol it could start another command.
    PORTOLAN_REFUSED_LF = -4,        ///< An LF, plain or as `%0A`: likewise.
    PORTOLAN_REFUSED_PARENT = -5,    ///< A `..` segment, plain or encoded.
    PORTOLAN_REFUSED_BACKSLASH = -6, ///< A `\`, plain or encoded: on other systems it separates segments.
    PORTOLAN_REFUSED_ROOT = -7       ///< The root is empty or absent: a joined path would start at `/`.
};

/* Returns the byte at `*at`, percent-encoded or plain, and moves `*at` past it; or returns why the byte is refused. */
static inline int32_t portolan_decode_byte(portolan_string text, size_t *at) {
    unsigned char byte = (unsigned char)text.bytes[(*at)++];
    if (byte == '%') {
        unsigned value = 0;
        if (text.length - *at < 2) return PORTOLAN_REFUSED_ESCAPE;
        for (int digit = 0; digit < 2; digit++) {
            unsigned char c = (unsigned char)text.bytes[(*at)++];
            if (c >= '0' && c <= '9') value = value * 16 + (c - (unsigned)'0');
            else if (c >= 'a' && c <= 'f') value = value * 16 + (c - (unsigned)'a') + 10;
            else if (c >= 'A' && c <= 'F') value = value * 16 + (c - (unsigned)'A') + 10;
            else return PORTOLAN_REFUSED_ESCAPE;
        }
        byte = (unsigned char)value;
    }
    if (byte == '\0') return PORTOLAN_REFUSED_NUL;
    if (byte == '\r') return PORTOLAN_REFUSED_CR;
    if (byte == '\n') return PORTOLAN_REFUSED_LF;
    return byte;
}

/* Writes a byte if there is room for it and for a NUL after it. Always counts it. */
static inline void portolan_put(char *PORTOLAN_NULLABLE buffer, size_t capacity, size_t *length, char byte) {
    if (buffer && *length + 1 < capacity) buffer[*length] = byte;
    ++*length;
}

/* Ends the output with a NUL if all of it had room. Otherwise makes it an empty string, so that no part is used as the
 * whole. */
static inline int64_t portolan_put_end(char *PORTOLAN_NULLABLE buffer, size_t capacity, int64_t result) {
    if (buffer && capacity > 0) buffer[result >= 0 && (uint64_t)result < capacity ? (size_t)result : 0] = '\0';
    return result;
}

/// Percent-decodes `encoded` once: `%2541` becomes `%41`. A `+` stays a `+`. Writes the bytes and a NUL after them.
/// Returns the number of bytes without the NUL. If it is not below `capacity`, only a NUL was written, and the call
/// needs a buffer that is one byte larger than the returned number (`buffer` can be NULL if `capacity` is 0). Returns a
/// `portolan_refused` for refused input. An absent string gives 0. Check: SEC-01, CAN-07
static inline int64_t portolan_decode(portolan_string encoded, char *PORTOLAN_NULLABLE buffer, size_t capacity) {
    size_t at = 0, length = 0;
    while (encoded.bytes && at < encoded.length) {
        int32_t byte = portolan_decode_byte(encoded, &at);
        if (byte < 0) return portolan_put_end(buffer, capacity, byte);
        portolan_put(buffer, capacity, &length, (char)byte);
    }
    return portolan_put_end(buffer, capacity, (int64_t)length);
}

/// Decodes a URL's path once, and appends it to `root`, which is a path of the system and is not decoded. `/` separates
/// segments, plain or encoded. Empty segments and `.` are left out, so a leading `/` means the root, not that of the
/// system. A `..` is refused, even if it would stay inside the root, because after a symbolic link it can leave the root. An empty path
/// gives the root. The result has no `/` at its end, unless it is `/`. The rest is as in `portolan_decode`. The file
/// system is not read: if links can lead out of the root, open with openat2(2) and RESOLVE_BENEATH. Check: SEC-02
static inline int64_t portolan_join(portolan_string root, portolan_string path, char *PORTOLAN_NULLABLE buffer, size_t capacity) {
    /* `dots`: the segment's first dots, which are not written yet. `written`: whether any byte of it is written. */
    size_t at = 0, length = 0, dots = 0, written = 0;
    if (!root.bytes || root.length == 0) return portolan_put_end(buffer, capacity, PORTOLAN_REFUSED_ROOT);
    if (memchr(root.bytes, '\0', root.length)) return portolan_put_end(buffer, capacity, PORTOLAN_REFUSED_NUL);
    while (root.length > 0 && root.bytes[root.length - 1] == '/') root.length--;
    for (size_t i = 0; i < root.length; i++) portolan_put(buffer, capacity, &length, root.bytes[i]);
    while (path.bytes && at < path.length) {
        int32_t byte = portolan_decode_byte(path, &at);
        if (byte < 0) return portolan_put_end(buffer, capacity, byte);
        if (byte == '\\') return portolan_put_end(buffer, capacity, PORTOLAN_REFUSED_BACKSLASH);
        if (byte == '/') {
            if (!written && dots == 2) return portolan_put_end(buffer, capacity, PORTOLAN_REFUSED_PARENT);
            dots = written = 0;
        } else if (byte == '.' && !written && dots < 2) {
            dots++;
        } else {
            if (!written) {
                portolan_put(buffer, capacity, &length, '/');
                for (size_t i = 0; i < dots; i++) portolan_put(buffer, capacity, &length, '.');
                written = 1;
            }
            portolan_put(buffer, capacity, &length, (char)byte);
        }
    }
    if (!written && dots == 2) return portolan_put_end(buffer, capacity, PORTOLAN_REFUSED_PARENT);
    if (length == 0) portolan_put(buffer, capacity, &length, '/');
    return portolan_put_end(buffer, capacity, (int64_t)length);
}

/// Returns 1 if both have the same bytes. Absent equals absent, but not empty.
static inline int32_t portolan_equal(portolan_string a, portolan_string b) {
    if (!a.bytes || !b.bytes) return !a.bytes && !b.bytes;
    return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

/// Like `portolan_equal`, but ASCII letters match in either case, in every locale: for schemes, hosts and field names.
static inline int32_t portolan_equal_ignoring_case(portolan_string a, portolan_string b) {
    if (!a.bytes || !b.bytes) return !a.bytes && !b.bytes;
    if (a.length != b.length) return 0;
    for (size_t i = 0; i < a.length; i++) {
        unsigned char x = (unsigned char)a.bytes[i], y = (unsigned char)b.bytes[i];
        if (x >= 'A' && x <= 'Z') x = (unsigned char)(x | 0x20);
        if (y >= 'A' && y <= 'Z') y = (unsigned char)(y | 0x20);
        if (x != y) return 0;
    }
    return 1;
}

/// Returns the first field of that name, in either case, or NULL.
static inline const portolan_field *PORTOLAN_NULLABLE portolan_find_field(const portolan_field *PORTOLAN_NULLABLE fields, size_t count,
                                                                          portolan_string name) {
    for (size_t i = 0; fields && i < count; i++)
        if (portolan_equal_ignoring_case(fields[i].name, name)) return &fields[i];
    return NULL;
}

/// Returns the property of exactly that name, or NULL. Check its `kind` before its value (PROP-02).
static inline const portolan_property *PORTOLAN_NULLABLE portolan_find_property(const portolan_property *PORTOLAN_NULLABLE properties,
                                                                                size_t count, portolan_string name) {
    for (size_t i = 0; properties && i < count; i++)
        if (portolan_equal(properties[i].name, name)) return &properties[i];
    return NULL;
}

/// Returns the value of the first `name=value` in a URL's query, still percent-encoded. Empty if the name has no value,
/// absent if the name is not there. `name` is compared as it is written in the URL.
static inline portolan_string portolan_query_item(portolan_string query, portolan_string name) {
    portolan_string value = {NULL, 0};
    size_t start = 0;
    while (query.bytes && start < query.length) {
        size_t end = start, equals;
        while (end < query.length && query.bytes[end] != '&') end++;
        for (equals = start; equals < end && query.bytes[equals] != '=';) equals++;
        portolan_string key = {query.bytes + start, equals - start};
        if (portolan_equal(key, name)) {
            value.bytes = query.bytes + (equals < end ? equals + 1 : end);
            value.length = (size_t)(query.bytes + end - value.bytes);
            return value;
        }
        start = end + 1;
    }
    return value;
}

PORTOLAN_END

#endif
