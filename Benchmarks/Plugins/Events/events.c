/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin behind the rows boundary-event and boundary-bulk: one loop of did_load calls, with two clients to call.
 *
 *   events://through?count=N&length=L   N events of L bytes for the host's client
 *   events://direct?count=N&length=L    the same loop for a client in this file, which handles each event like the caller of the other
 *                                       load; the load's body is the 16 bytes of the tally
 *
 * Both loads use the same function and the same call, through the pointer in the client's struct. So the difference of
 * their times is the time of the host. */
#include <portolan/helpers.h>
#include <portolan/portolan.h>
#include <stdlib.h>
#include <string.h>
#include "tally.h"

enum { LARGEST = 1 << 20 };

typedef struct events_load {
    portolan_client *client;
    int64_t count, length;
    int32_t is_direct;
    const uint8_t *bytes; /* LARGEST bytes, shared by all loads */
} events_load;

/* Calls did_load for each event, until the client stops the load. */
static portolan_flow emit(portolan_client *client, const events_load *load) {
    portolan_flow flow = PORTOLAN_CONTINUE;
    for (int64_t i = 0; i < load->count && flow == PORTOLAN_CONTINUE; i++) flow = client->did_load(client, load->bytes, (size_t)load->length);
    return flow;
}

/* The client of the direct call. */
typedef struct direct_client {
    portolan_client head;
    bench_tally tally;
} direct_client;

static portolan_flow add_to_tally(portolan_client *client, const void *bytes, size_t length) {
    bench_tally_add(&((direct_client *)client)->tally, bytes, length);
    return PORTOLAN_CONTINUE;
}

static bench_tally emit_directly(const events_load *load) {
    direct_client client = { .head = { .size = sizeof(portolan_client), .did_load = add_to_tally } };
    portolan_client *volatile hidden = &client.head; /* hides from the compiler which function is called */
    emit(hidden, load);
    return client.tally;
}

static void run(void *pointer) {
    events_load *load = pointer;
    portolan_client *client = load->client;
    bench_tally tally = { 0, 0 };
    portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("application/octet-stream") };
    response.expected_length = load->is_direct ? (int64_t)sizeof tally : load->count * load->length;
    if (load->is_direct) tally = emit_directly(load);
    if (client->did_receive_response(client, &response) == PORTOLAN_STOPPED) return;
    portolan_flow flow = load->is_direct ? client->did_load(client, &tally, sizeof tally) : emit(client, load);
    if (flow != PORTOLAN_STOPPED) client->did_finish(client);
}

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

static void *refuse(portolan_refusal *refusal, portolan_code code, const char *message) {
    portolan_error error = { .size = sizeof error, .code = code, .message = { message, strlen(message) } };
    refusal->give(refusal, &error);
    return NULL;
}

static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    (void)cached;
    int64_t count = number(portolan_query_item(request->query, PORTOLAN_STRING("count")), 1000000000);
    int64_t length = number(portolan_query_item(request->query, PORTOLAN_STRING("length")), LARGEST);
    int is_direct = portolan_equal(request->host, PORTOLAN_STRING("direct"));
    if (count == 0 || length == 0 || !(is_direct || portolan_equal(request->host, PORTOLAN_STRING("through"))))
        return refuse(refusal, PORTOLAN_ERROR_BAD_URL, "write events://through?count=N&length=L or events://direct?…, length up to 1048576");
    events_load *load = malloc(sizeof *load);
    if (!load) return refuse(refusal, PORTOLAN_ERROR_NO_MEMORY, "no memory for a load");
    load->client = client;
    load->count = count;
    load->length = length;
    load->is_direct = is_direct;
    load->bytes = plugin;
    return load;
}

static const portolan_load_table loads = { .size = sizeof loads, .run = run, .destroy = free };

/* The state of an instance is the bytes that its loads deliver. */
static void *init(portolan_host *host, portolan_refusal *refusal) {
    (void)host;
    uint8_t *bytes = malloc(LARGEST);
    if (!bytes) return refuse(refusal, PORTOLAN_ERROR_NO_MEMORY, "no memory for the bytes to send");
    for (size_t i = 0; i < LARGEST; i++) bytes[i] = (uint8_t)(i * 31 + (i >> 8));
    return bytes;
}

static const portolan_string schemes[] = { PORTOLAN_TEXT("events") };
static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.portolan.bench.events"),
                                          .schemes = schemes, .scheme_count = 1, .make = make, .loads = &loads };
static const portolan_handler *const handlers[] = { &handler };
static const portolan_plugin descriptor = {
    .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR,
    .identifier = PORTOLAN_TEXT("org.portolan.bench.events"), .name = PORTOLAN_TEXT("Events"),
    .vendor = PORTOLAN_TEXT("The Portolan authors"), .version = PORTOLAN_TEXT("1.0.0"),
    .handlers = handlers, .handler_count = 1, .init = init, .deinit = free };

const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) { return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL; }
