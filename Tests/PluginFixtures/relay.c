/* SPDX-License-Identifier: Apache-2.0 */
/* `relay:URL` opens URL through portolan.nested/1 and passes on what it receives: the smallest layered handler,
 * blocking. It can be repeated: relay:relay:relay:data:,x is three nested loads. */
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

/* The inner failure is the cause of the outer one (NEST-02). NULL: the outer load was stopped. */
static void fail(relay *load, portolan_nested *inner) {
    const portolan_error *cause = load->nested->error(inner);
    portolan_error error = { .size = sizeof error, .message = PORTOLAN_TEXT("the URL inside of relay: failed"), .cause = cause };
    if (!cause) return;
    error.code = cause->code;
    error.domain = cause->domain;
    load->client->did_fail(load->client, &error);
}

static void pass_on(relay *load, portolan_nested *inner) {
    const portolan_response *got = NULL;
    const void *bytes = NULL;
    int64_t count;
    if (load->nested->response(inner, &got) == PORTOLAN_STOPPED || !got) {
        fail(load, inner);
        return;
    }
    /* Copied member by member: this side's struct may be longer than the host's. The URL stays that of the outer load. */
    portolan_response response = { .size = sizeof response, .status = got->status, .mime_type = got->mime_type,
                                   .text_encoding = got->text_encoding, .suggested_name = got->suggested_name,
                                   .expected_length = got->expected_length, .fields = got->fields, .field_count = got->field_count,
                                   .storage = got->storage };
    if (load->client->did_receive_response(load->client, &response) == PORTOLAN_STOPPED) return;
    while ((count = load->nested->next(inner, &bytes)) > 0)
        if (load->client->did_load(load->client, bytes, (size_t)count) == PORTOLAN_STOPPED) return;
    if (count < 0) fail(load, inner); /* cut short: a failure, never a finish (NEST-05) */
    else load->client->did_finish(load->client);
}

static void run(void *plugin_load) {
    relay *load = plugin_load;
    /* A Range of the outer request is not for the inner one. */
    portolan_change change = { .size = sizeof change, .url = load->inner, .drops_fields = 1 };
    portolan_nested *inner = load->nested->open(load->client, &change);
    pass_on(load, inner);
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
