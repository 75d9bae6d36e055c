/* SPDX-License-Identifier: Apache-2.0 */
/* Two interposers, which see every request. Each loads the same request as a nested load with one more field, forwards
 * the events, and adds a trailer with the number of bytes. The second interposer is registered later, so it sees a
 * request first.
 *
 * Each adds its name to the field `x-through` of the request. The trailers are `x-first` and `x-second`. The
 * interposers do not accept a request with the field `x-alone`. */
#include <inttypes.h>
#include <portolan/helpers.h>
#include <portolan/portolan.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct interposer {
    const portolan_nested_table *nested;
    const portolan_request *request;
    portolan_client *client;
    const char *name;
} interposer;

static void *init(portolan_host *host, portolan_refusal *refusal) {
    const void *nested = host->extension(host, PORTOLAN_NESTED);
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_NOT_OFFERED, .message = PORTOLAN_TEXT("this host offers no nested loads") };
    if (!nested) refusal->give(refusal, &error);
    return (void *)nested;
}

static int32_t can_init(void *plugin, const portolan_request *request) {
    (void)plugin;
    return !portolan_find_field(request->fields, request->field_count, PORTOLAN_STRING("x-alone"));
}

static void *make(void *plugin, const portolan_request *request, portolan_client *client, portolan_refusal *refusal, const char *name) {
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_NO_MEMORY, .message = PORTOLAN_TEXT("no memory for a load") };
    interposer *load = calloc(1, sizeof *load);
    if (load) *load = (interposer){ plugin, request, client, name };
    else refusal->give(refusal, &error);
    return load;
}
static void *make_first(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                        portolan_refusal *refusal) {
    (void)cached;
    return make(plugin, request, client, refusal, "first");
}
static void *make_second(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                         portolan_refusal *refusal) {
    (void)cached;
    return make(plugin, request, client, refusal, "second");
}

/* Fails with the unchanged error of the nested load, because an interposer is invisible. There is no error if the load
 * was stopped. */
static void fail(interposer *load, portolan_nested *inner) {
    const portolan_error *error = load->nested->error(inner);
    if (error) load->client->did_fail(load->client, error);
}

static void forward_events(interposer *load, portolan_nested *inner) {
    const portolan_response *nested_response = NULL;
    const void *bytes = NULL;
    int64_t count, total = 0;
    char name[32], value[32];
    if (load->nested->response(inner, &nested_response) != PORTOLAN_CONTINUE || !nested_response) {
        fail(load, inner);
        return;
    }
    portolan_response response = { .size = sizeof response, .status = nested_response->status, .url = nested_response->url, .mime_type = nested_response->mime_type,
                                   .text_encoding = nested_response->text_encoding, .suggested_name = nested_response->suggested_name,
                                   .expected_length = nested_response->expected_length, .has_length = nested_response->has_length, .fields = nested_response->fields, .field_count = nested_response->field_count,
                                   .storage = nested_response->storage };
    if (load->client->did_receive_response(load->client, &response) == PORTOLAN_STOPPED) return;
    for (; (count = load->nested->next(inner, &bytes)) > 0; total += count)
        if (load->client->did_load(load->client, bytes, (size_t)count) == PORTOLAN_STOPPED) return;
    if (count < 0) {
        fail(load, inner);
        return;
    }
    portolan_field trailer = { { name, (size_t)snprintf(name, sizeof name, "x-%s", load->name) },
                               { value, (size_t)snprintf(value, sizeof value, "%" PRId64, total) } };
    load->client->did_receive_trailers(load->client, &trailer, 1);
    load->client->did_finish(load->client);
}

static void run(void *context) {
    interposer *load = context;
    const portolan_field *through = portolan_find_field(load->request->fields, load->request->field_count, PORTOLAN_STRING("x-through"));
    char names[256];
    portolan_field field = { PORTOLAN_TEXT("x-through"),
                             { names, (size_t)snprintf(names, sizeof names, "%.200s%s%s", through ? through->value.bytes : "",
                                                       through ? " " : "", load->name) } };
    portolan_change change = { .size = sizeof change, .fields = &field, .field_count = 1 };
    portolan_nested *inner = load->nested->open(load->client, &change);
    forward_events(load, inner);
    load->nested->close(inner);
}

static const portolan_load_table loads = { .size = sizeof loads, .run = run, .destroy = free };
static const portolan_handler first = { .size = sizeof first, .flags = PORTOLAN_ANY_SCHEME, .can_init = can_init,
                                        .identifier = PORTOLAN_TEXT("org.portolan.interposer.first"), .make = make_first, .loads = &loads };
static const portolan_handler second = { .size = sizeof second, .flags = PORTOLAN_ANY_SCHEME, .can_init = can_init,
                                         .identifier = PORTOLAN_TEXT("org.portolan.interposer.second"), .make = make_second,
                                         .loads = &loads };
static const portolan_handler *const handlers[] = { &first, &second };
static const portolan_plugin descriptor = {
    .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR, .identifier = PORTOLAN_TEXT("org.portolan.interposer"),
    .name = PORTOLAN_TEXT("Interposer"), .vendor = PORTOLAN_TEXT("The Portolan authors"), .version = PORTOLAN_TEXT("1.0.0"),
    .handlers = handlers, .handler_count = 2, .init = init };
const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) { return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL; }
