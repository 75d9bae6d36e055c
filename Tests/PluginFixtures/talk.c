/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin whose threads log all at once, the host's own among them, while it starts; it refuses every load. */
#include <portolan/portolan.h>
#include <pthread.h>
#include <stddef.h>

static void *talk(void *context) {
    portolan_host *host = context;
    for (int i = 0; i < 20000; i++) host->log(host, PORTOLAN_LOG_DEBUG, PORTOLAN_STRING("talk"));
    return NULL;
}

static void *init(portolan_host *host, portolan_refusal *refusal) {
    pthread_t others[2];
    (void)refusal;
    int count = 0;
    while (count < 2 && pthread_create(&others[count], NULL, talk, host) == 0) count++;
    talk(host);
    while (count > 0) pthread_join(others[--count], NULL);
    return host;
}

static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_NOT_OFFERED, .message = PORTOLAN_TEXT("it only talks") };
    (void)plugin, (void)request, (void)cached, (void)client;
    refusal->give(refusal, &error);
    return NULL;
}

static void nothing(void *load) { (void)load; }

static const portolan_string schemes[] = { PORTOLAN_TEXT("talk") };
static const portolan_load_table loads = { .size = sizeof loads, .run = nothing, .destroy = nothing };
static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.portolan.talk"),
                                          .schemes = schemes, .scheme_count = 1, .make = make, .loads = &loads };
static const portolan_handler *const handlers[] = { &handler };
static const portolan_plugin descriptor = {
    .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR,
    .identifier = PORTOLAN_TEXT("org.portolan.talk"), .name = PORTOLAN_TEXT("Talk"), .vendor = PORTOLAN_TEXT("The Portolan authors"),
    .version = PORTOLAN_TEXT("1.0.0"), .handlers = handlers, .handler_count = 1, .init = init };
PORTOLAN_EXPORT const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) {
    return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL;
}
