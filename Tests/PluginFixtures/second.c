/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that refuses to start on the first thread of its process. A test of the processes of `portolan check` uses
 * it. It refuses every load. */
#include <portolan/portolan.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static void refuse(portolan_refusal *refusal, portolan_string message) {
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_NOT_OFFERED, .message = message };
    refusal->give(refusal, &error);
}

static void *init(portolan_host *host, portolan_refusal *refusal) {
    if (syscall(SYS_gettid) != getpid()) return host;
    refuse(refusal, PORTOLAN_STRING("this is the first thread of its process"));
    return NULL;
}

static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    (void)plugin, (void)request, (void)cached, (void)client;
    refuse(refusal, PORTOLAN_STRING("this plugin refuses every load"));
    return NULL;
}

static void nothing(void *load) { (void)load; }

static const portolan_string schemes[] = { PORTOLAN_TEXT("second") };
static const portolan_load_table loads = { .size = sizeof loads, .run = nothing, .destroy = nothing };
static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.portolan.second"),
                                          .schemes = schemes, .scheme_count = 1, .make = make, .loads = &loads };
static const portolan_handler *const handlers[] = { &handler };
static const portolan_plugin descriptor = {
    .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR,
    .identifier = PORTOLAN_TEXT("org.portolan.second"), .name = PORTOLAN_TEXT("Second"), .vendor = PORTOLAN_TEXT("The Portolan authors"),
    .version = PORTOLAN_TEXT("1.0.0"), .handlers = handlers, .handler_count = 1, .init = init };
PORTOLAN_EXPORT const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) {
    return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL;
}
