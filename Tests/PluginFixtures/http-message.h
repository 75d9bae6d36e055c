/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1 messages (RFC 9112) for http.c: reads heads and chunks from pieces of any size, and writes a request's head.
 * Has only what the fixture needs, and is strict only if it would otherwise read too far. */
#ifndef FIXTURES_HTTP_MESSAGE_H
#define FIXTURES_HTTP_MESSAGE_H

#include <inttypes.h>
#include <portolan/helpers.h>
#include <portolan/text.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { HEAD_LIMIT = 65536, FIELD_LIMIT = 256 };

/* ---- fields ---- */

/* The head of a response, or the fields after its body. */
typedef struct http_head {
    int32_t status, minor;
    size_t length, field_count;
    portolan_field fields[FIELD_LIMIT]; /* they point into `text` */
    char text[HEAD_LIMIT];
} http_head;

static void head_begin(http_head *head) { head->length = head->field_count = 0; }

/* Begins with a line end, because trailers have no status line before them. Empty trailers then also end with an empty
 * line. */
static void head_begin_trailers(http_head *head) {
    head_begin(head);
    memcpy(head->text, "\r\n", head->length = 2);
}

/* Appends bytes up to the empty line. Returns 1 if the head is complete, 0 if it needs more bytes, -1 if it is too long. */
static int head_append(http_head *head, const char *bytes, size_t count, size_t *consumed) {
    for (*consumed = 0; *consumed < count;) {
        if (head->length == HEAD_LIMIT) return -1;
        head->text[head->length++] = bytes[(*consumed)++];
        if (head->length >= 4 && memcmp(head->text + head->length - 4, "\r\n\r\n", 4) == 0) return 1;
    }
    return 0;
}

static portolan_string trim(const char *from, const char *to) {
    while (from < to && (*from == ' ' || *from == '\t')) from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r')) to--;
    return (portolan_string){ from, (size_t)(to - from) };
}

/* Reads the lines from `at` to the empty line. Returns 0 if a line is not a field. */
static int head_read_fields(http_head *head, const char *at) {
    const char *end = head->text + head->length - 2;
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at)), *colon;
        if (!line || head->field_count == FIELD_LIMIT) return 0;
        colon = memchr(at, ':', (size_t)(line - at));
        if (!colon || colon == at || at[0] == ' ' || at[0] == '\t') return 0;
        head->fields[head->field_count++] = (portolan_field){ { at, (size_t)(colon - at) }, trim(colon + 1, line) };
        at = line + 1;
    }
    return 1;
}

/* Reads a status line and fields. Returns 0 for other text. */
static int head_read(http_head *head) {
    const char *at = head->text, *line = memchr(at, '\n', head->length);
    if (!line || line - at < 13 || memcmp(at, "HTTP/1.", 7) != 0 || at[8] != ' ' || at[7] < '0' || at[7] > '1') return 0;
    head->minor = at[7] - '0';
    head->status = 0;
    for (int i = 9; i < 12; i++) {
        if (at[i] < '0' || at[i] > '9') return 0;
        head->status = head->status * 10 + (at[i] - '0');
    }
    return head->status >= 100 && (at[12] == ' ' || at[12] == '\r') && head_read_fields(head, line + 1);
}

static portolan_string field_value(const http_head *head, const char *name) {
    const portolan_field *field = portolan_find_field(head->fields, head->field_count, (portolan_string){ name, strlen(name) });
    return field ? field->value : (portolan_string){ NULL, 0 };
}
static int value_is(portolan_string value, const char *word) {
    return portolan_equal_ignoring_case(value, (portolan_string){ word, strlen(word) });
}

/* Returns the value of `; name=value` without quotes. */
static portolan_string parameter(portolan_string value, const char *name) {
    size_t length = strlen(name);
    for (size_t at = 0; value.bytes && at < value.length; at++) {
        const char *start = value.bytes + at + 1, *end = value.bytes + value.length, *stop;
        if (value.bytes[at] != ';' && value.bytes[at] != ' ' && value.bytes[at] != ',') continue;
        if ((size_t)(end - start) <= length || start[length] != '=' || !value_is((portolan_string){ start, length }, name)) continue;
        start += length + 1;
        if (start < end && *start == '"') {
            stop = memchr(start + 1, '"', (size_t)(end - start - 1));
            return stop ? (portolan_string){ start + 1, (size_t)(stop - start - 1) } : (portolan_string){ NULL, 0 };
        }
        for (stop = start; stop < end && *stop != ';' && *stop != ','; stop++) {}
        return trim(start, stop);
    }
    return (portolan_string){ NULL, 0 };
}

/* ---- bodies ---- */

enum framing { FRAMING_NONE, FRAMING_LENGTH, FRAMING_CHUNKED, FRAMING_CLOSE };
enum chunk_place { CHUNK_SIZE, CHUNK_EXTENSION, CHUNK_DATA, CHUNK_AFTER, CHUNK_TRAILERS };

typedef struct http_body {
    enum framing framing;
    enum chunk_place place;
    int64_t remaining; /* bytes of the body, or of the chunk */
    int digits;
} http_body;

/* Returns the number of decimal digits, or -1 for other text. */
static int64_t content_length(portolan_string text) {
    int64_t value = 0;
    if (!text.bytes || text.length == 0 || text.length > 18) return -1;
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9') return -1;
        value = value * 10 + (text.bytes[i] - '0');
    }
    return value;
}

/* Finds the end of a response's body (RFC 9112 section 6.3). Returns 0 if the fields are malformed. */
static int body_begin(http_body *body, const http_head *head, int is_head_request) {
    portolan_string length = field_value(head, "content-length"), coding = field_value(head, "transfer-encoding");
    *body = (http_body){ .framing = FRAMING_CLOSE };
    if (is_head_request || head->status == 204 || head->status == 304) body->framing = FRAMING_NONE;
    else if (coding.bytes) body->framing = value_is(coding, "chunked") ? FRAMING_CHUNKED : FRAMING_CLOSE;
    else if (length.bytes) body->framing = FRAMING_LENGTH, body->remaining = content_length(length);
    return body->remaining >= 0;
}

/* Skips the framing of a chunked body. Returns 1 if data or the trailers come next, 0 if more bytes are needed,
 * -1 if malformed. */
static int chunk_skip_framing(http_body *body, const char *bytes, size_t count, size_t *consumed) {
    for (*consumed = 0;;) {
        if (body->place == CHUNK_TRAILERS || (body->place == CHUNK_DATA && body->remaining > 0)) return 1;
        if (body->place == CHUNK_DATA) body->place = CHUNK_AFTER;
        if (*consumed == count) return 0;
        char byte = bytes[(*consumed)++];
        int value = byte >= '0' && byte <= '9' ? byte - '0' : (byte | 32) >= 'a' && (byte | 32) <= 'f' ? (byte | 32) - 'a' + 10 : -1;
        switch (body->place) {
        case CHUNK_AFTER:
            if (byte == '\n') *body = (http_body){ .framing = FRAMING_CHUNKED };
            else if (byte != '\r') return -1;
            break;
        case CHUNK_SIZE:
            if (value >= 0 && body->digits++ < 15) {
                body->remaining = body->remaining * 16 + value;
                break;
            }
            if (value >= 0 || body->digits == 0) return -1;
            body->place = CHUNK_EXTENSION;
            /* fallthrough */
        default:
            if (byte == '\n') body->place = body->remaining > 0 ? CHUNK_DATA : CHUNK_TRAILERS;
        }
    }
}

/* ---- writing ---- */

/* Appends to a buffer. Without enough room, `*length` becomes `capacity`, which means too long. */
static void append(char *buffer, size_t capacity, size_t *length, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int count = *length < capacity ? vsnprintf(buffer + *length, capacity - *length, format, arguments) : -1;
    va_end(arguments);
    *length = count < 0 || (size_t)count >= capacity - *length ? capacity : *length + (size_t)count;
}
static void append_string(char *buffer, size_t capacity, size_t *length, portolan_string text) {
    append(buffer, capacity, length, "%.*s", (int)(text.length < 65536 ? text.length : 65536), text.bytes ? text.bytes : "");
}

/* RFC 4648 section 4. */
static void append_base64(char *buffer, size_t capacity, size_t *length, const unsigned char *bytes, size_t count) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        uint32_t group = (uint32_t)bytes[i] << 16 | (i + 1 < count ? (uint32_t)bytes[i + 1] << 8 : 0) | (i + 2 < count ? bytes[i + 2] : 0u);
        append(buffer, capacity, length, "%c%c%c%c", digits[group >> 18], digits[group >> 12 & 63],
               i + 1 < count ? digits[group >> 6 & 63] : '=', i + 2 < count ? digits[group & 63] : '=');
    }
}

#endif
