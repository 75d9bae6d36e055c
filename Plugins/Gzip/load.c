/* SPDX-License-Identifier: Apache-2.0 */
/* One load. Bytes go one way: the host lends what came of the inner URL, zlib reads from there into the load's one buffer, and the
 * buffer is lent to the client. Not pulling is the pause (NEST-04), so memory does not grow with the body. */
#include "gzip.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT_CAPACITY ((size_t)256 << 10)
/* zlib counts in 32 bits. */
#define LARGEST_INPUT ((int64_t)1 << 30)
/* A small file of much the same line is no bomb: the ratio is judged when this much has come out. */
#define RATIO_JUDGED_AFTER ((uint64_t)16 << 20)

/* For how many bytes, in and out, one call of the host's goes on: some ten milliseconds (LIFE-03). */
#define TURN_LENGTH ((uint64_t)4 << 20)

/* Why the loop of deliveries goes on, or does not. */
typedef enum step {
    STEP_MORE,    /* the buffer is full, or the turn is over */
    STEP_WAITS,   /* the inner load has nothing yet; `woken` comes */
    STEP_IS_OVER, /* the whole inner body was read */
    STEP_FAILED,  /* the inner load failed, or the outer was stopped */
    STEP_IS_BAD,  /* what came is no gzip data */
    STEP_NO_MEMORY
} step;

/* The one end of a load that is not the inner's fault. The inner is stopped first, as nobody wants its rest (CANCEL-08). */
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

/* The inner failure is the outer's cause, and its code the outer's (NEST-02). Without one the outer was stopped, and no end is owed. */
static void fail_as_inner(gzip_load *load) {
    const portolan_error *cause = load->plugin->nested->error(load->inner);
    if (!cause) return;
    portolan_error error = { .size = sizeof error, .code = cause->code, .domain = cause->domain, .cause = cause,
                             .message = PORTOLAN_TEXT("the compressed bytes behind gzip: could not be loaded") };
    load->client->did_fail(load->client, &error);
    /* Not before: the cause is lent until then (LEAK-07). */
    load->plugin->nested->close(load->inner);
    load->inner = NULL;
}

static void fail_as_data(gzip_load *load) {
    const gzip_members *members = &load->members;
    if (members->place == GZIP_AT_START)
        fail(load, PORTOLAN_ERROR_DECODING_FAILED, "what is behind gzip: is no gzip file (%s): load it without gzip:", members->words);
    else
        fail(load, PORTOLAN_ERROR_DECODING_FAILED,
             "the gzip data are malformed about byte %llu, in member %llu or after it (%s): get or make the file anew",
             (unsigned long long)members->taken, (unsigned long long)members->member, members->words);
}

/* Which code a reader expects for what a server says instead of the file. */
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

/* The name without what says that it is compressed, as gunzip(1) names files. `place` is for a name that changes. */
static portolan_string plain_name(portolan_string name, char *place, size_t capacity) {
    if (!name.bytes) return name;
    if (ends_in(name, ".gz")) return (portolan_string){ name.bytes, name.length - 3 };
    if (ends_in(name, ".z")) return (portolan_string){ name.bytes, name.length - 2 };
    if (!ends_in(name, ".tgz") || name.length > capacity) return name;
    memcpy(place, name.bytes, name.length - 3);
    memcpy(place + name.length - 3, "tar", 3);
    return (portolan_string){ place, name.length };
}

/* Hands on the inner response. Returns whether there is a body to deliver now. */
static int respond(gzip_load *load) {
    const portolan_response *inner = NULL;
    char name[256];
    switch (load->plugin->nested->response(load->inner, &inner)) {
    case PORTOLAN_CONTINUE: break;
    case PORTOLAN_STOPPED: fail_as_inner(load); return 0;
    default: return 0; /* nothing yet */
    }
    /* A page that says why there is no file is not to be decompressed; neither is a part of one. */
    if (inner->status != 0 && (inner->status < 200 || inner->status > 299 || inner->status == 206)) {
        fail(load, code_of_status(inner->status),
             "the URL behind gzip: was answered with status %d and not with a whole file: load it without gzip: to see the answer",
             (int)inner->status);
        return 0;
    }
    /* Length, type and fields are those of the compressed file, so none is passed on. */
    portolan_response response = { .size = sizeof response, .status = inner->status, .expected_length = -1, .storage = PORTOLAN_STORE_NOT,
                                   .suggested_name = plain_name(inner->suggested_name, name, sizeof name) };
    load->has_responded = 1;
    portolan_flow flow = load->client->did_receive_response(load->client, &response);
    load->is_paused = flow == PORTOLAN_PAUSE;
    return flow == PORTOLAN_CONTINUE;
}

/* Decompresses until the buffer is full or there is no input at hand: pieces are large where the inner load is fast (BODY-05), and do not
 * wait where it is slow (PERF-04). Asked again after an end, gives the same. */
static step fill(gzip_load *load, uint64_t turn_end) {
    gzip_members *members = &load->members;
    for (;;) {
        switch (gzip_members_read(members, load->output, OUTPUT_CAPACITY, &load->output_length)) {
        case GZIP_IS_FULL: return STEP_MORE;
        case GZIP_IS_BAD: return STEP_IS_BAD;
        case GZIP_NO_MEMORY: return STEP_NO_MEMORY;
        case GZIP_NEEDS_INPUT: break;
        }
        if (members->taken + members->given >= turn_end) return STEP_MORE;
        const void *bytes = NULL; /* lent until the next call of `next` */
        int64_t count = load->plugin->nested->next(load->inner, &bytes);
        if (count == 0) return STEP_IS_OVER;
        if (count < 0) return count == PORTOLAN_WAIT ? STEP_WAITS : STEP_FAILED;
        if (count > LARGEST_INPUT) return STEP_NO_MEMORY; /* nothing lends so much at once */
        members->zlib.next_in = bytes;
        members->zlib.avail_in = (uInt)count;
    }
}

/* Whether a limit was met; then the load has failed (NEST-06). */
static int is_over_limit(gzip_load *load) {
    uint64_t taken = load->members.taken, given = load->members.given;
    int64_t ratio = load->plugin->maximum_ratio, bytes = load->plugin->maximum_bytes;
    if (bytes > 0 && given > (uint64_t)bytes) {
        fail(load, PORTOLAN_ERROR_LIMIT_EXCEEDED,
             "more than %lld bytes come out of the gzip data: raise the setting maximumBytes, or set it to 0 for no limit",
             (long long)bytes);
        return 1;
    }
    if (ratio > 0 && given > RATIO_JUDGED_AFTER && given / (uint64_t)ratio > taken) {
        fail(load, PORTOLAN_ERROR_LIMIT_EXCEEDED,
             "%llu bytes come out of %llu of gzip data, more than %lld times: raise the setting maximumRatio, or set it to 0 for no limit",
             (unsigned long long)given, (unsigned long long)taken, (long long)ratio);
        return 1;
    }
    return 0;
}

/* The end of the inner body. */
static void end(gzip_load *load) {
    const gzip_members *members = &load->members;
    if (gzip_members_may_end(members)) { finish(load); return; }
    if (members->place == GZIP_AT_START)
        fail(load, PORTOLAN_ERROR_TRUNCATED, "what is behind gzip: is empty, which no gzip file is: get or make it anew");
    else
        fail(load, PORTOLAN_ERROR_TRUNCATED, "the gzip data end after %llu bytes, in the middle of member %llu: get the whole file",
             (unsigned long long)members->taken, (unsigned long long)members->member);
}

/* Delivers until the client pauses or stops the load, the inner load has nothing yet, the turn is over, or the end (BODY-10: cut short is
 * no finish). */
static void deliver(gzip_load *load) {
    const uint64_t turn_end = load->members.taken + load->members.given + TURN_LENGTH;
    for (;;) {
        step step = fill(load, turn_end);
        if (is_over_limit(load)) return;
        if (load->output_length > 0) {
            portolan_flow flow = load->client->did_load(load->client, load->output, load->output_length);
            load->output_length = 0;
            load->is_paused = flow == PORTOLAN_PAUSE;
            if (flow != PORTOLAN_CONTINUE) return;
        }
        switch (step) {
        case STEP_MORE:
            if (load->members.taken + load->members.given < turn_end) continue;
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

/* What a body needs, and a HEAD or a failure before it does not. */
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

/* Goes on from wherever the load stands. */
static void proceed(gzip_load *load) {
    if (!load->inner || load->is_paused) return; /* a wake may come in a pause, and delivers nothing (FLOW-01) */
    if (!load->has_responded && !respond(load)) return;
    if (portolan_equal(load->request->method, PORTOLAN_STRING("HEAD"))) finish(load);
    else if (has_buffers(load)) deliver(load);
}

/* Range and If-… of the outer do not mean the compressed file, so no field goes in; neither does a body. */
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

/* The host closes the inner load of one that was stopped. */
static void destroy(void *pointer) {
    gzip_load *load = pointer;
    if (load->output) gzip_members_end(&load->members);
    free(load->output);
    free(load);
}

/* `stop` is NULL: the host stops the inner load with the outer one, and `destroy` frees the rest (CANCEL-08). */
const portolan_load_table gzip_loads = { .size = sizeof gzip_loads, .start = start, .resume = resume, .woken = woken, .destroy = destroy };
