/* SPDX-License-Identifier: Apache-2.0 */
/* One load. Bytes go one way: zlib reads the borrowed bytes of the nested URL, and writes to the load's only buffer,
 * which the client borrows. A load that does not read pauses the inner load (NEST-04), so memory does not grow with the
 * body. */
#include "gzip.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT_CAPACITY ((size_t)256 << 10)
/* zlib counts in 32 bits. */
#define LARGEST_INPUT ((int64_t)1 << 30)
/* A small file of equal lines is no bomb, so the ratio is checked only after this many bytes of output. */
#define RATIO_CHECKED_AFTER ((uint64_t)16 << 20)

/* The maximum number of bytes, input and output together, in one call from the host: about ten milliseconds (LIFE-03). */
#define CALL_BYTE_LIMIT ((uint64_t)4 << 20)

/* Why the loop of deliveries continues or ends. */
typedef enum step {
    STEP_MORE,    /* the buffer is full, or this call has reached its byte limit */
    STEP_WAITS,   /* the nested load has nothing yet; the host will call `woken` */
    STEP_IS_OVER, /* the whole nested body was read */
    STEP_FAILED,  /* the nested load failed, or the parent load was stopped */
    STEP_IS_BAD,  /* the input is not gzip data */
    STEP_NO_MEMORY
} step;

/* Fails the load. Stops the nested load first, because its other bytes are not needed (CANCEL-08). */
__attribute__((format(printf, 3, 4))) static void fail(gzip_load *load, portolan_code code, const char *format, ...) {
    char message[400];
    va_list values;
    va_start(values, format);
    vsnprintf(message, sizeof message, format, values);
    va_end(values);
    portolan_error error = { .size = sizeof error, .code = code, .message = { message, strlen(message) } };
    load->plugin->nested->close(load->inner);
    load->inner = NULL;
    load->client->did_fail(load->client, &error);
}

static void finish(gzip_load *load) {
    load->plugin->nested->close(load->inner);
    load->inner = NULL;
    load->client->did_finish(load->client);
}

/* Ends the load with the nested failure as its cause, and with the same code (NEST-02). Without a failure the parent load
 * was stopped, and needs no end. */
static void fail_as_inner(gzip_load *load) {
    const portolan_error *cause = load->plugin->nested->error(load->inner);
    if (!cause) return;
    portolan_error error = { .size = sizeof error, .code = cause->code, .domain = cause->domain, .cause = cause,
                             .message = PORTOLAN_TEXT("the compressed bytes behind gzip: could not be loaded") };
    load->client->did_fail(load->client, &error);
    /* The nested load is closed after that, because the cause is borrowed until the close (LEAK-07). */
    load->plugin->nested->close(load->inner);
    load->inner = NULL;
}

static void fail_as_data(gzip_load *load) {
    const gzip_members *members = &load->members;
    if (members->place == GZIP_AT_START)
        fail(load, PORTOLAN_ERROR_DECODING_FAILED, "the URL behind gzip: is not a gzip file (%s): load it without gzip:", members->problem);
    else
        fail(load, PORTOLAN_ERROR_DECODING_FAILED,
             "the gzip data are malformed near byte %llu, in or after member %llu (%s): get or make the file again",
             (unsigned long long)members->input_count, (unsigned long long)members->member, members->problem);
}

/* The error code for the status of a server that did not return the file. */
static portolan_code code_of_status(int32_t status) {
    switch (status) {
    case 401:
    case 407: return PORTOLAN_ERROR_AUTHENTICATION_REQUIRED;
    case 403: return PORTOLAN_ERROR_ACCESS_DENIED;
    case 404:
    case 410: return PORTOLAN_ERROR_NOT_FOUND;
    default: return PORTOLAN_ERROR_BAD_RESPONSE;
    }
}

static int ends_in(portolan_string name, const char *suffix) {
    portolan_string expected = { suffix, strlen(suffix) };
    if (name.length <= expected.length) return 0;
    name.bytes += name.length - expected.length;
    name.length = expected.length;
    return portolan_equal_ignoring_case(name, expected);
}

/* The name without its suffix for compression, as gunzip(1) names files. `place` is memory for a changed name. */
static portolan_string plain_name(portolan_string name, char *place, size_t capacity) {
    if (!name.bytes) return name;
    if (ends_in(name, ".gz")) return (portolan_string){ name.bytes, name.length - 3 };
    if (ends_in(name, ".z")) return (portolan_string){ name.bytes, name.length - 2 };
    if (!ends_in(name, ".tgz") || name.length > capacity) return name;
    memcpy(place, name.bytes, name.length - 3);
    memcpy(place + name.length - 3, "tar", 3);
    return (portolan_string){ place, name.length };
}

/* Delivers the response. Returns whether there is a body to deliver now. */
static int respond(gzip_load *load) {
    const portolan_response *inner = NULL;
    char name[256];
    switch (load->plugin->nested->response(load->inner, &inner)) {
    case PORTOLAN_CONTINUE: break;
    case PORTOLAN_STOPPED: fail_as_inner(load); return 0;
    default: return 0; /* nothing yet */
    }
    /* An error page must not be decompressed, and neither must a part of a file. */
    if (inner->status != 0 && (inner->status < 200 || inner->status > 299 || inner->status == 206)) {
        fail(load, code_of_status(inner->status),
             "the URL behind gzip: returned status %d and not a whole file: load it without gzip: to see the response",
             (int)inner->status);
        return 0;
    }
    /* Length, type and fields belong to the compressed file, so they are not passed on. */
    portolan_response response = { .size = sizeof response, .status = inner->status, .expected_length = -1, .storage = PORTOLAN_STORE_NOT,
                                   .suggested_name = plain_name(inner->suggested_name, name, sizeof name) };
    load->has_responded = 1;
    portolan_flow flow = load->client->did_receive_response(load->client, &response);
    load->is_paused = flow == PORTOLAN_PAUSE;
    return flow == PORTOLAN_CONTINUE;
}

/* Decompresses until the buffer is full or there is no input. So pieces are large if the nested load is fast (BODY-05),
 * and do not wait if the nested load is slow (PERF-04). After an end, this function returns the same result again. */
static step fill(gzip_load *load, uint64_t byte_limit) {
    gzip_members *members = &load->members;
    for (;;) {
        switch (gzip_members_read(members, load->output, OUTPUT_CAPACITY, &load->output_length)) {
        case GZIP_IS_FULL: return STEP_MORE;
        case GZIP_IS_BAD: return STEP_IS_BAD;
        case GZIP_NO_MEMORY: return STEP_NO_MEMORY;
        case GZIP_NEEDS_INPUT: break;
        }
        if (members->input_count + members->output_count >= byte_limit) return STEP_MORE;
        const void *bytes = NULL; /* borrowed until the next call of `next` */
        int64_t count = load->plugin->nested->next(load->inner, &bytes);
        if (count == 0) return STEP_IS_OVER;
        if (count < 0) return count == PORTOLAN_WAIT ? STEP_WAITS : STEP_FAILED;
        if (count > LARGEST_INPUT) return STEP_NO_MEMORY; /* the host never gives this many bytes in one call */
        members->zlib.next_in = bytes;
        members->zlib.avail_in = (uInt)count;
    }
}

/* Returns whether a limit was exceeded; the load has then failed (NEST-06). */
static int is_over_limit(gzip_load *load) {
    uint64_t input_count = load->members.input_count, output_count = load->members.output_count;
    int64_t ratio = load->plugin->maximum_ratio, bytes = load->plugin->maximum_bytes;
    if (bytes > 0 && output_count > (uint64_t)bytes) {
        fail(load, PORTOLAN_ERROR_LIMIT_EXCEEDED,
             "the gzip data decompress to more than %lld bytes: raise the setting maximumBytes, or set it to 0 for no limit",
             (long long)bytes);
        return 1;
    }
    if (ratio > 0 && output_count > RATIO_CHECKED_AFTER && output_count / (uint64_t)ratio > input_count) {
        fail(load, PORTOLAN_ERROR_LIMIT_EXCEEDED,
             "%llu bytes come from %llu bytes of gzip data, more than %lld times as many: raise the setting maximumRatio, "
             "or set it to 0 for no limit",
             (unsigned long long)output_count, (unsigned long long)input_count, (long long)ratio);
        return 1;
    }
    return 0;
}

/* Handles the end of the nested body. */
static void end(gzip_load *load) {
    const gzip_members *members = &load->members;
    if (gzip_members_may_end(members)) { finish(load); return; }
    if (members->place == GZIP_AT_START)
        fail(load, PORTOLAN_ERROR_TRUNCATED, "the URL behind gzip: is empty, so it is not a gzip file: get or make it again");
    else
        fail(load, PORTOLAN_ERROR_TRUNCATED, "the gzip data end after %llu bytes, in the middle of member %llu: get the whole file",
             (unsigned long long)members->input_count, (unsigned long long)members->member);
}

/* Delivers until the client pauses or stops the load, the nested load has nothing yet, the call reaches its byte limit, or
 * the body ends (BODY-10: a body that is cut short is a failure). */
static void deliver(gzip_load *load) {
    const uint64_t byte_limit = load->members.input_count + load->members.output_count + CALL_BYTE_LIMIT;
    for (;;) {
        step step = fill(load, byte_limit);
        if (is_over_limit(load)) return;
        if (load->output_length > 0) {
            portolan_flow flow = load->client->did_load(load->client, load->output, load->output_length);
            load->output_length = 0;
            load->is_paused = flow == PORTOLAN_PAUSE;
            if (flow != PORTOLAN_CONTINUE) return;
        }
        switch (step) {
        case STEP_MORE:
            if (load->members.input_count + load->members.output_count < byte_limit) continue;
            load->client->wake(load->client);
            return;
        case STEP_WAITS: return;
        case STEP_IS_OVER: end(load); return;
        case STEP_FAILED: fail_as_inner(load); return;
        case STEP_IS_BAD: fail_as_data(load); return;
        case STEP_NO_MEMORY: fail(load, PORTOLAN_ERROR_NO_MEMORY, "no memory to decompress gzip data"); return;
        }
    }
}

/* Allocates the buffers for a body. A HEAD request, or a failure before the body, does not need them. */
static int has_buffers(gzip_load *load) {
    if (load->output) return 1;
    unsigned char *output = malloc(OUTPUT_CAPACITY);
    if (output && gzip_members_begin(&load->members)) {
        load->output = output;
        return 1;
    }
    free(output);
    fail(load, PORTOLAN_ERROR_NO_MEMORY, "no memory to decompress gzip data");
    return 0;
}

/* Continues the load from its current state. */
static void proceed(gzip_load *load) {
    if (!load->inner || load->is_paused) return; /* `woken` in a pause delivers nothing (FLOW-01) */
    if (!load->has_responded && !respond(load)) return;
    if (portolan_equal(load->request->method, PORTOLAN_STRING("HEAD"))) finish(load);
    else if (has_buffers(load)) deliver(load);
}

/* Range and If-… of the request of the parent load are not about the compressed file, so no field is passed on, and no body. */
static void start(void *pointer) {
    gzip_load *load = pointer;
    portolan_change change = { .size = sizeof change, .url = load->inner_url, .drops_body = 1, .drops_fields = 1 };
    load->inner = load->plugin->nested->open(load->client, &change);
    proceed(load);
}

static void resume(void *pointer) {
    gzip_load *load = pointer;
    load->is_paused = 0;
    proceed(load);
}

static void woken(void *pointer) { proceed(pointer); }

/* The host closes the nested load of a stopped load. */
static void destroy(void *pointer) {
    gzip_load *load = pointer;
    if (load->output) gzip_members_end(&load->members);
    free(load->output);
    free(load);
}

/* `stop` is NULL: the host stops the nested load with the parent load, and `destroy` frees the rest (CANCEL-08). */
const portolan_load_table gzip_loads = { .size = sizeof gzip_loads, .start = start, .resume = resume, .woken = woken, .destroy = destroy };
