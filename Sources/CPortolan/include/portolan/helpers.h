/* SPDX-License-Identifier: Apache-2.0 */
/// Small inline functions for plugin authors. They are not part of the contract: portolan/portolan.h does not include
/// them, and no host needs them. They exist because authors are most likely to make mistakes in decoding and in joining
/// paths. None of them allocates, and none writes past `capacity`. The host offers the same functions as pointers to
/// languages that can't call inline functions (helper_table.h).
#ifndef PORTOLAN_HELPERS_H
#define PORTOLAN_HELPERS_H

#include <string.h>

#include "base.h"
#include "client.h"
#include "nested.h"
#include "text.h"

PORTOLAN_BEGIN

/// Why one of these functions refuses its input. All values are negative, so none of them is a length.
PORTOLAN_ENUM(portolan_refused) {
    PORTOLAN_REFUSED_ESCAPE = -1,    ///< A `%` without two hexadecimal digits after it.
    PORTOLAN_REFUSED_NUL = -2,       ///< A NUL, plain or as `%00`: a C string would end there.
    PORTOLAN_REFUSED_CR = -3,        ///< A CR, plain or as `%0D`: in a peer's line protocol it could start another command.
    PORTOLAN_REFUSED_LF = -4,        ///< An LF, plain or as `%0A`: likewise.
    PORTOLAN_REFUSED_PARENT = -5,    ///< A `..` segment, plain or encoded.
    PORTOLAN_REFUSED_BACKSLASH = -6, ///< A `\`, plain or encoded: on other systems it separates segments.
    PORTOLAN_REFUSED_ROOT = -7,      ///< The root is empty or absent: a joined path would start at `/`.
    PORTOLAN_REFUSED_RANGE = -8,     ///< A range that is empty, or begins before the first or after the last byte.
    PORTOLAN_REFUSED_SIZE = -9       ///< The body is larger than the buffer.
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

/* Returns the length of the UTF-8 sequence at `at` (RFC 3629), or 0 if there is none. */
static inline size_t portolan_utf8_length(portolan_string text, size_t at) {
    const unsigned char *byte = (const unsigned char *)text.bytes + at;
    size_t left = text.length - at, length = byte[0] < 0x80 ? 1 : byte[0] < 0xC2 ? 0 : byte[0] < 0xE0 ? 2 : byte[0] < 0xF0 ? 3 : byte[0] < 0xF5 ? 4 : 0;
    if (length == 0 || length > left) return 0;
    for (size_t i = 1; i < length; i++) {
        if ((byte[i] & 0xC0) != 0x80) return 0;
    }
    if (length == 3 && ((byte[0] == 0xE0 && byte[1] < 0xA0) || (byte[0] == 0xED && byte[1] > 0x9F))) return 0;
    if (length == 4 && ((byte[0] == 0xF0 && byte[1] < 0x90) || (byte[0] == 0xF4 && byte[1] > 0x8F))) return 0;
    return length;
}

/// Quotes a part of a URL, or text of a peer, for a message: `a b` becomes `'a b'`. Control characters and bytes that are
/// not UTF-8 become `?`. Of a text of more than 120 bytes, the first ones are kept, and `…` follows. An absent string gives `''`. Writes a
/// NUL after the text, and returns the number of bytes, as `portolan_decode` does. Check: ERR-02
static inline int64_t portolan_quote(portolan_string text, char *PORTOLAN_NULLABLE buffer, size_t capacity) {
    static const size_t limit = 120;
    size_t at = 0, length = 0;
    portolan_put(buffer, capacity, &length, '\'');
    while (text.bytes && at < text.length) {
        size_t size = portolan_utf8_length(text, at);
        unsigned char byte = (unsigned char)text.bytes[at];
        /* C1 control characters (U+0080 to U+009F), and the separators of lines and paragraphs (U+2028, U+2029). */
        int32_t is_control = byte < 0x20 || byte == 0x7F || (size == 2 && byte == 0xC2 && (unsigned char)text.bytes[at + 1] < 0xA0)
            || (size == 3 && memcmp(text.bytes + at, "\xE2\x80", 2) == 0 && ((unsigned char)text.bytes[at + 2] & 0xFE) == 0xA8);
        if (at + (size > 0 ? size : 1) > limit) {
            for (size_t i = 0; i < 3; i++) portolan_put(buffer, capacity, &length, "\xE2\x80\xA6"[i]);
            break;
        }
        if (size == 0 || is_control) {
            portolan_put(buffer, capacity, &length, '?');
        } else {
            for (size_t i = 0; i < size; i++) portolan_put(buffer, capacity, &length, text.bytes[at + i]);
        }
        at += size > 0 ? size : 1;
    }
    portolan_put(buffer, capacity, &length, '\'');
    return portolan_put_end(buffer, capacity, (int64_t)length);
}

/* Writes a number that is not negative in decimal digits. */
static inline void portolan_put_number(char *PORTOLAN_NULLABLE buffer, size_t capacity, size_t *length, int64_t number) {
    char digits[20];
    size_t count = 0;
    do digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0) portolan_put(buffer, capacity, length, digits[--count]);
}

/// Writes the value of a `Range` field (RFC 9110 section 14.1.2) for `count` bytes from `offset` on, such as `bytes=5-9`. With a
/// negative `count`, the range has no end: `bytes=5-`. Returns the number of bytes, as `portolan_decode` does;
/// PORTOLAN_REFUSED_RANGE if `offset` is negative, `count` is 0, or the last byte has no 64-bit number.
static inline int64_t portolan_range_value(int64_t offset, int64_t count, char *PORTOLAN_NULLABLE buffer, size_t capacity) {
    size_t length = 0;
    if (offset < 0 || count == 0 || (count > 0 && offset > INT64_MAX - (count - 1))) {
        return portolan_put_end(buffer, capacity, PORTOLAN_REFUSED_RANGE);
    }
    for (size_t i = 0; i < 6; i++) portolan_put(buffer, capacity, &length, "bytes="[i]);
    portolan_put_number(buffer, capacity, &length, offset);
    portolan_put(buffer, capacity, &length, '-');
    if (count > 0) portolan_put_number(buffer, capacity, &length, offset + (count - 1));
    return portolan_put_end(buffer, capacity, (int64_t)length);
}

/* Reads decimal digits at `*at`, and moves `*at` past them. Returns -1 if there are none. A number without 64 bits is INT64_MAX. */
static inline int64_t portolan_read_number(portolan_string text, size_t *at) {
    int64_t number = -1;
    for (; *at < text.length && text.bytes[*at] >= '0' && text.bytes[*at] <= '9'; ++*at) {
        int64_t digit = text.bytes[*at] - '0';
        if (number < 0) number = 0;
        number = number > (INT64_MAX - digit) / 10 ? INT64_MAX : number * 10 + digit;
    }
    return number;
}

/* Whether the first number is greater than the second. Both consist of digits, possibly more than 64 bits have. */
static inline int32_t portolan_is_greater(portolan_string a, portolan_string b) {
    for (; a.length > 0 && *a.bytes == '0'; a.length--) a.bytes++;
    for (; b.length > 0 && *b.bytes == '0'; b.length--) b.bytes++;
    if (a.length != b.length) return a.length > b.length;
    return a.length > 0 && memcmp(a.bytes, b.bytes, a.length) > 0;
}

/// Parses the value of a request's `Range` field for a resource of `length` bytes (RFC 9110 section 14.1.2). Returns 1, and
/// sets `*offset` and `*count`, for one range of bytes that begins in the resource. Returns 0 if the field must be
/// ignored: it is absent or malformed, has another unit, has several ranges, or names the last bytes of an empty resource.
/// Returns PORTOLAN_REFUSED_RANGE if no byte
/// is in the range: fail with PORTOLAN_ERROR_RANGE_NOT_SATISFIABLE.
static inline int32_t portolan_parse_range(portolan_string value, int64_t length, int64_t *offset, int64_t *count) {
    portolan_string unit = {value.bytes, 6};
    if (!value.bytes || value.length < 6 || length < 0 || !portolan_equal_ignoring_case(unit, PORTOLAN_STRING("bytes="))) return 0;
    size_t at = 6;
    int64_t first = portolan_read_number(value, &at);
    portolan_string first_digits = { value.bytes + 6, at - 6 };
    if (at >= value.length || value.bytes[at++] != '-') return 0;
    portolan_string last_digits = { value.bytes + at, value.length - at };
    int64_t last = portolan_read_number(value, &at);
    if (at != value.length || (first < 0 && last < 0)) return 0;
    if (first >= 0 && last >= 0 && portolan_is_greater(first_digits, last_digits)) return 0;
    if (first < 0) {
        /* The last bytes. */
        if (last == 0) return PORTOLAN_REFUSED_RANGE;
        if (length == 0) return 0;
        *count = last < length ? last : length;
        *offset = length - *count;
        return 1;
    }
    if (first >= length) return PORTOLAN_REFUSED_RANGE;
    *offset = first;
    *count = (last < 0 || last >= length ? length - 1 : last) - first + 1;
    return 1;
}

/// Reads the whole upload body into `buffer`, in a blocking load. Returns the number of bytes; PORTOLAN_STOPPED if the load
/// is over; PORTOLAN_REFUSED_SIZE if the body has more than `capacity` bytes, which can then be any part of the body.
/// [load-thread]. Check: UPLOAD-01, UPLOAD-03
static inline int64_t portolan_read_whole_body(portolan_client *client, void *buffer, size_t capacity) {
    size_t length = 0;
    char surplus;
    for (;;) {
        int64_t count = length < capacity ? client->read_body(client, (char *)buffer + length, capacity - length)
                                          : client->read_body(client, &surplus, 1);
        if (count <= 0) return count < 0 ? count : (int64_t)length;
        if (length == capacity) return PORTOLAN_REFUSED_SIZE;
        length += (size_t)count;
    }
}

/// Passes a nested load on, in a blocking load: its response, its bytes, and its end. Its error becomes the cause of a
/// failure with the same code, domain and message. Returns PORTOLAN_CONTINUE after `did_finish`, and PORTOLAN_STOPPED if
/// the load was stopped or has failed. The caller closes the nested load.
/// [load-thread]. Check: NEST-02, NEST-05
static inline portolan_flow portolan_forward(portolan_client *client, const portolan_nested_table *table, portolan_nested *nested) {
    const portolan_response *PORTOLAN_NULLABLE response = NULL;
    const void *PORTOLAN_NULLABLE bytes = NULL;
    int64_t count = PORTOLAN_STOPPED;
    if (table->response(nested, &response) == PORTOLAN_CONTINUE && response) {
        if (client->did_receive_response(client, response) == PORTOLAN_STOPPED) return PORTOLAN_STOPPED;
        while ((count = table->next(nested, &bytes)) > 0)
            if (client->did_load(client, bytes, (size_t)count) == PORTOLAN_STOPPED) return PORTOLAN_STOPPED;
    }
    if (count == 0) {
        client->did_finish(client);
        return PORTOLAN_CONTINUE;
    }
    const portolan_error *PORTOLAN_NULLABLE cause = table->error(nested);
    if (cause) {
        portolan_error error = { sizeof error, cause->code, cause->domain, cause->message, cause };
        client->did_fail(client, &error);
    }
    return PORTOLAN_STOPPED;
}

PORTOLAN_END

#endif
