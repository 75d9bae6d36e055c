/* SPDX-License-Identifier: Apache-2.0 */
/* A blocking plugin whose loads obey the order of events, but use memory wrongly: `memory:NAME`, for Valgrind. The
 * README lists the names. Each fault has its own function, so that stack traces name it, and uses `hidden`, so that
 * compilers do not detect it. */
#include "no-memory.h"
#include <portolan/helpers.h>
#include <portolan/portolan.h>
#include <stdlib.h>
#include <string.h>

typedef struct load {
    portolan_client *client;
    char name[32];
} load;

enum { BLOCK = 24 };

static void *hidden(void *pointer) {
    void *volatile second_pointer = pointer;
    return second_pointer;
}
static char *block(void) { return malloc(BLOCK); }
static char *initialised_block(void) { return memset(hidden(block()), 'a', BLOCK); }
static volatile int branch_count;
static void branch_on(char byte) {
    if (byte == 'a') branch_count++;
}

static void use_after_free(void) {
    char *bytes = initialised_block(), *second_pointer = hidden(bytes);
    free(bytes);
    branch_on(*second_pointer);
}
static void overrun(void) {
    char *bytes = initialised_block();
    ((char *)hidden(bytes))[BLOCK] = 'a';
    free(bytes);
}
static void unset(void) {
    char *bytes = block();
    branch_on(*(char *)hidden(bytes));
    free(bytes);
}
static void free_twice(void) {
    char *bytes = initialised_block(), *second_pointer = hidden(bytes);
    free(bytes);
    free(second_pointer);
}
static void lose(void) { branch_on(*initialised_block()); }

/* Delivers bytes, which the client borrows. */
static portolan_flow deliver(portolan_client *client, const char *bytes) { return client->did_load(client, bytes, BLOCK); }
static void deliver_unset(portolan_client *client) {
    char *bytes = block();
    deliver(client, hidden(bytes));
    free(bytes);
}
static void deliver_freed(portolan_client *client) {
    char *bytes = initialised_block(), *second_pointer = hidden(bytes);
    free(bytes);
    deliver(client, second_pointer);
}

static void run(void *pointer) {
    load *l = pointer;
    portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("text/plain"), .expected_length = -1 };
    if (l->client->did_receive_response(l->client, &response) == PORTOLAN_STOPPED) return;
    if (strcmp(l->name, "use-after-free") == 0) use_after_free();
    if (strcmp(l->name, "overrun") == 0) overrun();
    if (strcmp(l->name, "unset") == 0) unset();
    if (strcmp(l->name, "free-twice") == 0) free_twice();
    if (strcmp(l->name, "lose") == 0) lose();
    if (strcmp(l->name, "deliver-unset") == 0) deliver_unset(l->client);
    if (strcmp(l->name, "deliver-freed") == 0) deliver_freed(l->client);
    l->client->did_finish(l->client);
}

static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    load *l = calloc(1, sizeof *l);
    (void)plugin, (void)cached;
    if (!l) return no_memory(refusal);
    l->client = client;
    if (request->path.length < sizeof l->name) memcpy(l->name, request->path.bytes, request->path.length);
    return l;
}

static const portolan_string schemes[] = { PORTOLAN_TEXT("memory") };
static const portolan_load_table loads = { .size = sizeof loads, .run = run, .destroy = free };
static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.portolan.memory"),
                                          .schemes = schemes, .scheme_count = 1, .make = make, .loads = &loads };
static const portolan_handler *const handlers[] = { &handler };
static const portolan_plugin descriptor = {
    .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR,
    .identifier = PORTOLAN_TEXT("org.portolan.memory"), .name = PORTOLAN_TEXT("Memory"), .vendor = PORTOLAN_TEXT("The Portolan authors"),
    .version = PORTOLAN_TEXT("1.0.0"), .handlers = handlers, .handler_count = 1 };
PORTOLAN_EXPORT const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) {
    return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL;
}
