/* SPDX-License-Identifier: Apache-2.0 */
/* `misuse://NAME` uses portolan.nested/1 wrongly: a nested load after its close, closed twice, or with NULL. */
#include <portolan/helpers.h>
#include <portolan/portolan.h>
#include <stdlib.h>

typedef struct misuse {
    const portolan_nested_table *nested;
    portolan_client *client;
    portolan_string name;
} misuse;

static void *init(portolan_host *host, portolan_refusal *refusal) {
    (void)refusal;
    return (void *)host->extension(host, PORTOLAN_NESTED);
}

static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    misuse *load = calloc(1, sizeof *load);
    (void)cached;
    (void)refusal;
    if (!load) abort();
    *load = (misuse){ plugin, client, request->host };
    return load;
}

static void run(void *plugin_load) {
    misuse *load = plugin_load;
    const portolan_nested_table *nested = load->nested;
    portolan_change change = { .size = sizeof change, .url = PORTOLAN_TEXT("data:,inner") };
    const portolan_response *response = NULL;
    const void *bytes = NULL;
    void *volatile nothing = NULL; /* volatile, because the header forbids NULL and the compiler would warn */
    portolan_nested *inner = nested->open(load->client, &change);
    if (portolan_equal(load->name, PORTOLAN_STRING("null-place"))) {
        nested->response(inner, nothing);
        return;
    }
    if (portolan_equal(load->name, PORTOLAN_STRING("null-handle"))) {
        nested->response(nothing, &response);
        nested->next(nothing, &bytes);
        nested->error(nothing);
        nested->close(nothing);
        return; /* without an end */
    }
    nested->response(inner, &response);
    nested->close(inner);
    if (portolan_equal(load->name, PORTOLAN_STRING("closed-twice"))) nested->close(inner);
    else nested->next(inner, &bytes);
}

static const portolan_string schemes[] = { PORTOLAN_TEXT("misuse") };
static const portolan_load_table loads = { .size = sizeof loads, .run = run, .destroy = free };
static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.portolan.misuse"), .schemes = schemes,
                                          .scheme_count = 1, .make = make, .loads = &loads };
static const portolan_handler *const handlers[] = { &handler };
static const portolan_plugin plugin = { .size = sizeof plugin, .abi_major = PORTOLAN_ABI_MAJOR, .identifier = PORTOLAN_TEXT("org.portolan.misuse"),
                                        .name = PORTOLAN_TEXT("Misuse"), .vendor = PORTOLAN_TEXT("The Portolan authors"),
                                        .version = PORTOLAN_TEXT("1.0.0"), .handlers = handlers, .handler_count = 1, .init = init };
PORTOLAN_EXPORT const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) { return abi_major == PORTOLAN_ABI_MAJOR ? &plugin : NULL; }
