/* SPDX-License-Identifier: Apache-2.0 */
/* A correct blocking plugin whose loads send and store cookies.
 *
 *   jar://HOST/PATH             delivers the value of the request's Cookie field, or "none"
 *   jar://HOST/PATH?set=COOKIE  the same, with the field Set-Cookie: COOKIE in the response
 *   …&to=URL                    redirects to URL, with the same field in the redirect response */
#include <portolan/helpers.h>
#include <portolan/portolan.h>
#include <stdlib.h>

typedef struct load {
    portolan_client *client;
    const portolan_request *request;
} load;

static void run(void *state) {
    load *l = state;
    const portolan_request *request = l->request;
    const portolan_field *cookie = portolan_find_field(request->fields, request->field_count, PORTOLAN_STRING("cookie"));
    portolan_string body = cookie ? cookie->value : PORTOLAN_STRING("none");
    portolan_field set_cookie = { .name = PORTOLAN_TEXT("set-cookie"),
                                  .value = portolan_query_item(request->query, PORTOLAN_STRING("set")) };
    portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("text/plain"),
                                   .expected_length = (int64_t)body.length, .has_length = 1, .fields = &set_cookie,
                                   .field_count = set_cookie.value.bytes ? 1 : 0 };
    portolan_change change = { .size = sizeof change, .url = portolan_query_item(request->query, PORTOLAN_STRING("to")) };
    if (change.url.bytes) {
        response.status = 302;
        response.expected_length = 0;
        if (l->client->was_redirected(l->client, &change, &response) == PORTOLAN_STOPPED) return;
        body.length = 0;
    }
    if (l->client->did_receive_response(l->client, &response) == PORTOLAN_STOPPED) return;
    if (body.length > 0 && l->client->did_load(l->client, body.bytes, body.length) == PORTOLAN_STOPPED) return;
    l->client->did_finish(l->client);
}

static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_NO_MEMORY, .message = PORTOLAN_TEXT("no memory for the load") };
    load *l = malloc(sizeof *l);
    (void)plugin;
    (void)cached;
    if (!l) {
        refusal->give(refusal, &error);
        return NULL;
    }
    *l = (load){ .client = client, .request = request };
    return l;
}

static const portolan_string schemes[] = { PORTOLAN_TEXT("jar") };
static const portolan_load_table loads = { .size = sizeof loads, .run = run, .destroy = free };
static const portolan_handler handler = { .size = sizeof handler, .flags = PORTOLAN_COOKIES,
                                          .identifier = PORTOLAN_TEXT("org.portolan.jar"), .schemes = schemes, .scheme_count = 1,
                                          .make = make, .loads = &loads };
static const portolan_handler *const handlers[] = { &handler };
static const portolan_plugin descriptor = {
    .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR, .identifier = PORTOLAN_TEXT("org.portolan.jar"),
    .name = PORTOLAN_TEXT("Jar"), .vendor = PORTOLAN_TEXT("The Portolan authors"), .version = PORTOLAN_TEXT("1.0.0"),
    .handlers = handlers, .handler_count = 1 };
PORTOLAN_EXPORT const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) {
    return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL;
}
