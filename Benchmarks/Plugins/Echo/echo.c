/* SPDX-License-Identifier: Apache-2.0 */
/* echo:size of Plugins/Echo, in C: the peer of the row echo-kit.
 *
 *   echo-c:size?bytes=N&piece=L    N bytes in pieces of L; the byte at offset i is i mod 251
 *
 * Event-driven, like every plugin with the Swift kit. The client borrows the pieces from one block, and the load waits
 * for a slow reader. */
#include <portolan/helpers.h>
#include <portolan/portolan.h>
#include <stdlib.h>
#include <string.h>

enum { PERIOD = 251, LARGEST = 1 << 20 };

typedef struct echo_load {
    portolan_client *client;
    int64_t size, piece, delivered;
    int32_t has_responded;
    uint8_t block[]; /* piece + PERIOD - 1 bytes, so that a piece can start anywhere in the period */
} echo_load;

/* Delivers until the end, or until the reader pauses. */
static void deliver(echo_load *load) {
    portolan_client *client = load->client;
    if (!load->has_responded) {
        portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("application/octet-stream"),
                                       .expected_length = load->size };
        load->has_responded = 1;
        if (client->did_receive_response(client, &response) != PORTOLAN_CONTINUE) return;
    }
    while (load->delivered < load->size) {
        int64_t left = load->size - load->delivered, count = left < load->piece ? left : load->piece;
        const uint8_t *bytes = load->block + load->delivered % PERIOD;
        load->delivered += count;
        if (client->did_load(client, bytes, (size_t)count) != PORTOLAN_CONTINUE) return;
    }
    client->did_finish(client);
}

static void begin(void *load) { deliver(load); }

static void resume(void *load) { deliver(load); }

static void woken(void *load) { (void)load; }

/* A number from 1 to `limit`, otherwise 0. */
static int64_t number(portolan_string digits, int64_t limit) {
    int64_t value = 0;
    for (size_t i = 0; i < digits.length; i++) {
        if (digits.bytes[i] < '0' || digits.bytes[i] > '9') return 0;
        value = value * 10 + (digits.bytes[i] - '0');
        if (value > limit) return 0;
    }
    return value;
}

static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    (void)plugin;
    (void)cached;
    int64_t size = number(portolan_query_item(request->query, PORTOLAN_STRING("bytes")), INT64_C(1) << 40);
    int64_t piece = number(portolan_query_item(request->query, PORTOLAN_STRING("piece")), LARGEST);
    int is_valid = size > 0 && piece > 0 && portolan_equal(request->path, PORTOLAN_STRING("size"));
    echo_load *load = is_valid ? malloc(sizeof *load + (size_t)piece + PERIOD - 1) : NULL;
    if (!load) {
        portolan_error error = { .size = sizeof error, .code = is_valid ? PORTOLAN_ERROR_NO_MEMORY : PORTOLAN_ERROR_BAD_URL,
                                 .message = PORTOLAN_TEXT("write echo-c:size?bytes=N&piece=L, L up to 1048576") };
        return refusal->give(refusal, &error), NULL;
    }
    *load = (echo_load){ .client = client, .size = size, .piece = piece };
    for (int64_t i = 0; i < piece + PERIOD - 1; i++) load->block[i] = (uint8_t)(i % PERIOD);
    return load;
}

static const portolan_load_table loads = { .size = sizeof loads, .start = begin, .resume = resume, .woken = woken, .destroy = free };
static const portolan_string schemes[] = { PORTOLAN_TEXT("echo-c") };
static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.portolan.bench.echo"),
                                          .schemes = schemes, .scheme_count = 1, .make = make, .loads = &loads };
static const portolan_handler *const handlers[] = { &handler };
static const portolan_plugin descriptor = {
    .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR,
    .identifier = PORTOLAN_TEXT("org.portolan.bench.echo"), .name = PORTOLAN_TEXT("Echo in C"),
    .vendor = PORTOLAN_TEXT("The Portolan authors"), .version = PORTOLAN_TEXT("1.0.0"), .handlers = handlers, .handler_count = 1 };

const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) { return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL; }
