/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest layered handler: `relay:URL` loads URL through portolan.nested/1 and forwards its events. Blocking. It
 * can be repeated: relay:relay:relay:data:,x has three nested loads. */
#include <portolan/helpers.h>
#include <portolan/portolan.h>
#include <stdlib.h>

typedef struct relay {
    const portolan_nested_table *nested;
    portolan_client *client;
    portolan_string inner;
} relay;

static void *init(portolan_host *host, portolan_refusal *refusal) {
    const void *nested = host->extension(host, PORTOLAN_NESTED);
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_NOT_OFFERED,
                             .message = PORTOLAN_TEXT("relay: needs portolan.nested/1, which this host does not offer") };
    if (!nested) refusal->give(refusal, &error);
    return (void *)nested; /* the state is the host's table: nothing to free */
}

static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_BAD_URL,
                             .message = PORTOLAN_TEXT("nothing to relay: write relay:URL, as in relay:data:,x") };
    size_t prefix = request->scheme.length + 1; /* the inner URL is everything after the scheme, with query and fragment */
    (void)cached;
    if (request->url.length <= prefix) {
        refusal->give(refusal, &error);
        return NULL;
    }
    relay *load = calloc(1, sizeof *load);
    if (!load) {
        error.code = PORTOLAN_ERROR_NO_MEMORY;
        error.message = PORTOLAN_STRING("no memory for a load");
        refusal->give(refusal, &error);
        return NULL;
    }
    load->nested = plugin;
    load->client = client;
    load->inner = (portolan_string){ request->url.bytes + prefix, request->url.length - prefix };
    return load;
}

/* Fails with the error of the nested load as the cause (NEST-02). There is no error if the outer load was stopped. */
static void fail(relay *load, portolan_nested *inner) {
    const portolan_error *cause = load->nested->error(inner);
    portolan_error error = { .size = sizeof error, .message = PORTOLAN_TEXT("the URL inside of relay: failed"), .cause = cause };
    if (!cause) return;
    error.code = cause->code;
    error.domain = cause->domain;
    load->client->did_fail(load->client, &error);
}

static void forward_events(relay *load, portolan_nested *inner) {
    const portolan_response *nested_response = NULL;
    const void *bytes = NULL;
    int64_t count;
    if (load->nested->response(inner, &nested_response) == PORTOLAN_STOPPED || !nested_response) {
        fail(load, inner);
        return;
    }
    /* Copied member by member, because this plugin's struct can be longer than the host's. The URL stays that of the outer
     * load. */
    portolan_response response = { .size = sizeof response, .status = nested_response->status, .mime_type = nested_response->mime_type,
                                   .text_encoding = nested_response->text_encoding, .suggested_name = nested_response->suggested_name,
                                   .expected_length = nested_response->expected_length, .fields = nested_response->fields, .field_count = nested_response->field_count,
                                   .storage = nested_response->storage };
    if (load->client->did_receive_response(load->client, &response) == PORTOLAN_STOPPED) return;
    while ((count = load->nested->next(inner, &bytes)) > 0)
        if (load->client->did_load(load->client, bytes, (size_t)count) == PORTOLAN_STOPPED) return;
    if (count < 0) fail(load, inner); /* cut short: a failure, never a finish (NEST-05) */
    else load->client->did_finish(load->client);
}

static void run(void *plugin_load) {
    relay *load = plugin_load;
    /* The fields of the outer request, such as Range, are not for the nested load. */
    portolan_change change = { .size = sizeof change, .url = load->inner, .drops_fields = 1 };
    portolan_nested *inner = load->nested->open(load->client, &change);
    forward_events(load, inner);
    load->nested->close(inner);
}

static const portolan_string schemes[] = { PORTOLAN_TEXT("relay") };
static const portolan_load_table loads = { .size = sizeof loads, .run = run, .destroy = free };
static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.portolan.relay"), .schemes = schemes,
                                          .scheme_count = 1, .make = make, .loads = &loads };
static const portolan_handler *const handlers[] = { &handler };
static const portolan_plugin descriptor = {
    .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR,
    .identifier = PORTOLAN_TEXT("org.portolan.relay"), .name = PORTOLAN_TEXT("Relay"), .vendor = PORTOLAN_TEXT("The Portolan authors"),
    .version = PORTOLAN_TEXT("1.0.0"), .handlers = handlers, .handler_count = 1, .init = init };
const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) { return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL; }
