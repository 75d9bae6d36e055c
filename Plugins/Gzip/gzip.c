/* SPDX-License-Identifier: Apache-2.0 */
/* `gzip:URL` is the decompressed content of URL. A layered plugin in the event-driven style: it loads the nested URL
 * through the host and delivers as fast as the reader takes the bytes. Comments name the rules where the code follows
 * them. */
#include "gzip.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_RATIO 200
#define DEFAULT_BYTES ((int64_t)64 << 30)
#define LARGEST_RATIO 1000000

/* The host copies an error before the call returns, so the error can be on the stack. */
static void *refuse(portolan_refusal *refusal, portolan_code code, const char *message) {
    portolan_error error = { .size = sizeof error, .code = code, .message = { message, strlen(message) } };
    refusal->give(refusal, &error);
    return NULL;
}

/* Whether the URL has a scheme (RFC 3986 section 3.1). The host does the real parsing; this check gives a better error
 * (ERR-04). */
static int is_absolute(portolan_string url) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
    size_t colon = 0;
    while (colon < url.length && url.bytes[colon] && strchr(allowed, url.bytes[colon])) colon++;
    return colon > 0 && colon < url.length && url.bytes[colon] == ':';
}

/* Everything after the scheme, including the query, but not the fragment, which is for the application. */
static portolan_string inner_url(const portolan_request *request) {
    size_t prefix = request->scheme.length + 1, suffix = request->fragment.bytes ? request->fragment.length + 1 : 0;
    if (request->url.length < prefix + suffix) return PORTOLAN_STRING("");
    return (portolan_string){ request->url.bytes + prefix, request->url.length - prefix - suffix };
}

/* Refuses requests with errors that need no load. Buffers are allocated with the response, so a load that waits is small. */
static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    (void)cached; /* the host stores no response, so there is none to confirm */
    if (!portolan_equal(request->method, PORTOLAN_STRING("GET")) && !portolan_equal(request->method, PORTOLAN_STRING("HEAD")))
        return refuse(refusal, PORTOLAN_ERROR_BAD_REQUEST, "gzip: URLs can only be read: use the method GET or HEAD");
    portolan_string inner = inner_url(request);
    if (!is_absolute(inner)) /* not quoted: it can contain user information (ERR-05) */
        return refuse(refusal, PORTOLAN_ERROR_BAD_URL, "no absolute URL follows gzip: write it as in gzip:file:///folder/file.gz");
    gzip_load *load = calloc(1, sizeof *load);
    if (!load) return refuse(refusal, PORTOLAN_ERROR_NO_MEMORY, "no memory for a gzip: load");
    load->plugin = plugin;
    load->request = request;
    load->client = client;
    load->inner_url = inner;
    return load;
}

/* Reads a whole number from 0 to `largest`. Without the setting, `*limit` stays. Returns 0 after a refusal that names
 * the key. */
static int read_limit(const portolan_host *host, portolan_refusal *refusal, portolan_string name, int64_t largest, int64_t *limit) {
    const portolan_property *setting = portolan_find_property(host->settings, host->setting_count, name);
    if (!setting) return 1;
    if (setting->kind == PORTOLAN_KIND_INTEGER && setting->integer >= 0 && setting->integer <= largest) {
        *limit = setting->integer;
        return 1;
    }
    char message[160];
    snprintf(message, sizeof message, "the setting \"%.*s\" must be a whole number from 0 to %lld, where 0 means no limit",
             (int)name.length, name.bytes, (long long)largest);
    refuse(refusal, PORTOLAN_ERROR_BAD_REQUEST, message);
    return 0;
}

/* Reads the configuration once (REG-06). Frees what was allocated before a refusal (REG-03). */
static void *init(portolan_host *host, portolan_refusal *refusal) {
    gzip_plugin plugin = { .nested = host->extension(host, PORTOLAN_NESTED), .maximum_ratio = DEFAULT_RATIO,
                           .maximum_bytes = DEFAULT_BYTES };
    if (!plugin.nested)
        return refuse(refusal, PORTOLAN_ERROR_NOT_OFFERED, "gzip: needs the extension portolan.nested/1, which this host does not offer");
    if (!read_limit(host, refusal, PORTOLAN_STRING("maximumRatio"), LARGEST_RATIO, &plugin.maximum_ratio)) return NULL;
    if (!read_limit(host, refusal, PORTOLAN_STRING("maximumBytes"), INT64_MAX, &plugin.maximum_bytes)) return NULL;
    gzip_plugin *state = malloc(sizeof *state);
    if (!state) return refuse(refusal, PORTOLAN_ERROR_NO_MEMORY, "no memory for the plugin");
    *state = plugin;
    return state;
}

static const portolan_string schemes[] = { PORTOLAN_TEXT("gzip") };

/* can_init is NULL: this handler takes every gzip: URL, also malformed ones, which `make` then refuses. */
static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.portolan.gzip"), .schemes = schemes,
                                          .scheme_count = 1, .make = make, .loads = &gzip_loads };
static const portolan_handler *const handlers[] = { &handler };
static const portolan_plugin descriptor = {
    .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR,
    .identifier = PORTOLAN_TEXT("org.portolan.gzip"), .name = PORTOLAN_TEXT("Gzip"),
    .vendor = PORTOLAN_TEXT("The Portolan authors"), .version = PORTOLAN_TEXT("1.0.0"),
    .handlers = handlers, .handler_count = 1, .init = init, .deinit = free };

const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) { return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL; }
