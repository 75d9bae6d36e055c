/* SPDX-License-Identifier: Apache-2.0 */
/* A correct blocking plugin with several builds. GENERATION is the number of the build:
 *
 *   generation://COUNT   delivers the number of the build and a space, COUNT times
 *
 * It logs the number of the build when it starts and ends. With -DREFUSES, `init` refuses. */
#include "no-memory.h"
#include <portolan/helpers.h>
#include <portolan/portolan.h>
#include <stdlib.h>

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

typedef struct load {
    portolan_client *client;
    int64_t count;
} load;

static void run(void *pointer) {
    load *l = pointer;
    portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("text/plain"), .expected_length = -1 };
    if (l->client->did_receive_response(l->client, &response) == PORTOLAN_STOPPED) return;
    for (int64_t i = 0; i < l->count; i++)
        if (l->client->did_load(l->client, TEXT(GENERATION) " ", sizeof TEXT(GENERATION)) == PORTOLAN_STOPPED) return;
    l->client->did_finish(l->client);
}

static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    load *l = calloc(1, sizeof *l);
    (void)plugin, (void)cached;
    if (!l) return no_memory(refusal);
    l->client = client;
    for (size_t i = 0; i < request->host.length && i < 6; i++) l->count = l->count * 10 + (request->host.bytes[i] - '0');
    return l;
}

static void *init(portolan_host *host, portolan_refusal *refusal) {
#ifdef REFUSES
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_NOT_OFFERED, .message = PORTOLAN_TEXT("this build never starts") };
    refusal->give(refusal, &error);
    return NULL;
#endif
    (void)refusal;
    host->log(host, PORTOLAN_LOG_INFO, PORTOLAN_STRING(TEXT(GENERATION) " begins"));
    return host;
}

static void end(void *plugin) {
    portolan_host *host = plugin;
    host->log(host, PORTOLAN_LOG_INFO, PORTOLAN_STRING(TEXT(GENERATION) " ends"));
}

static const portolan_string schemes[] = { PORTOLAN_TEXT("generation") };
static const portolan_load_table loads = { .size = sizeof loads, .run = run, .destroy = free };
static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.portolan.generation"),
                                          .schemes = schemes, .scheme_count = 1, .make = make, .loads = &loads };
static const portolan_handler *const handlers[] = { &handler };
static const portolan_plugin descriptor = {
    .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR,
    .identifier = PORTOLAN_TEXT("org.portolan.generation"), .name = PORTOLAN_TEXT("Generation"), .vendor = PORTOLAN_TEXT("The Portolan authors"),
    .version = PORTOLAN_TEXT("1.0.0"), .handlers = handlers, .handler_count = 1, .init = init, .deinit = end };
PORTOLAN_EXPORT const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) {
    return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL;
}
