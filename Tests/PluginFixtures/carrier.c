/* SPDX-License-Identifier: Apache-2.0 */
/* A correct plugin that reports the request, the answers and the bodies that it received. `carrier://WHAT` is blocking,
 * `carrier-events://WHAT` is event-driven and does the same.
 *
 *   show         a line for each property of the request, and for each of its fields
 *   redirect     redirects to `show`, sets five properties, one of each kind, and removes one
 *   nest         loads `show` as a nested load, with the same changes of the properties
 *   password, certificate, trust
 *                sends a challenge, and returns the answer
 *   parts        three responses, each with its data
 *   twice        reads the upload body, rewinds it, reads it again, and returns both copies
 *   moments      sends every event without data: an interim response, each step, a response, trailers
 *   canonical    the canonical form has no query; requests that differ only in the query are equivalent for a cache
 *   itself       loads the request's own URL as a nested load
 *
 * `init` and `deinit` log. As in fixture-events.c, the function `pump` runs the load until it has to wait. The calls of
 * a blocking load wait themselves, so `pump` then runs the whole load. */
#include <inttypes.h>
#include <portolan/helpers.h>
#include <portolan/portolan.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_COUNT(array) (sizeof(array) / sizeof *(array))
enum stage { BEGIN, AWAITING_ANSWER, AWAITING_DECISION, NESTED_RESPONSE, NESTED_BODY, READING, REWINDING, PARTS, RESPONSE, BODY, ENDED };

typedef struct carrier_plugin {
    portolan_host *host;
    const portolan_nested_table *nested;
} carrier_plugin;

typedef struct carrier {
    const carrier_plugin *plugin;
    const portolan_request *request;
    portolan_client *client;
    portolan_nested *inner;
    enum stage stage;
    int is_paused, round;
    int64_t body_bytes;
    size_t length; /* of `text`, which will be delivered */
    char text[16384];
} carrier;

static void append_text(carrier *c, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(c->text + c->length, sizeof c->text - c->length, format, arguments);
    va_end(arguments);
    if (count > 0 && (size_t)count < sizeof c->text - c->length) c->length += (size_t)count;
}
static void handle_flow(carrier *c, portolan_flow flow) {
    if (flow == PORTOLAN_STOPPED) c->stage = ENDED;
    if (flow == PORTOLAN_PAUSE) c->is_paused = 1;
}
static void fail(carrier *c, portolan_code code, const char *message, const portolan_error *cause) {
    portolan_error error = { .size = sizeof error, .code = code, .message = { message, strlen(message) }, .cause = cause };
    c->stage = ENDED;
    c->client->did_fail(c->client, &error);
}
static int host_is(const carrier *c, const char *host) { return portolan_equal(c->request->host, (portolan_string){ host, strlen(host) }); }

/* ---- the report about the request ---- */

static void show(carrier *c) {
    const portolan_request *request = c->request;
    for (size_t i = 0; i < request->property_count; i++) {
        const portolan_property *property = &request->properties[i];
        append_text(c, "%s ", property->name.bytes);
        switch (property->kind) {
        case PORTOLAN_KIND_TEXT: append_text(c, "text %s\n", property->bytes.bytes); break;
        case PORTOLAN_KIND_BYTES:
            append_text(c, "bytes");
            for (size_t j = 0; j < property->bytes.length; j++) append_text(c, " %02x", (unsigned char)property->bytes.bytes[j]);
            append_text(c, "\n");
            break;
        case PORTOLAN_KIND_INTEGER: append_text(c, "integer %" PRId64 "\n", property->integer); break;
        case PORTOLAN_KIND_REAL: append_text(c, "real %g\n", property->real); break;
        case PORTOLAN_KIND_TRUTH: append_text(c, "truth %" PRId64 "\n", property->integer); break;
        default: append_text(c, "?\n");
        }
    }
    for (size_t i = 0; i < request->field_count; i++) append_text(c, "%s: %s\n", request->fields[i].name.bytes, request->fields[i].value.bytes);
}

static const portolan_property changed_properties[] = {
    { .name = PORTOLAN_TEXT("org.portolan.a-text"), .kind = PORTOLAN_KIND_TEXT, .bytes = PORTOLAN_TEXT("caf\xc3\xa9") },
    { .name = PORTOLAN_TEXT("org.portolan.bytes"), .kind = PORTOLAN_KIND_BYTES, .bytes = PORTOLAN_TEXT("\x00\xff\n") },
    { .name = PORTOLAN_TEXT("org.portolan.integer"), .kind = PORTOLAN_KIND_INTEGER, .integer = INT64_MIN },
    { .name = PORTOLAN_TEXT("org.portolan.real"), .kind = PORTOLAN_KIND_REAL, .real = -0.5 },
    { .name = PORTOLAN_TEXT("org.portolan.truth"), .kind = PORTOLAN_KIND_TRUTH, .integer = 1 },
    { .name = PORTOLAN_TEXT("org.portolan.removed") },
};
static portolan_change change(const carrier *c) {
    int is_driven = portolan_equal(c->request->scheme, PORTOLAN_STRING("carrier-events"));
    return (portolan_change){ .size = sizeof(portolan_change), .properties = changed_properties,
                              .property_count = ARRAY_COUNT(changed_properties),
                              .url = is_driven ? PORTOLAN_STRING("carrier-events://show") : PORTOLAN_STRING("carrier://show") };
}

/* ---- challenges ---- */

static void handle_answer(carrier *c, const portolan_answer *answer) {
    append_text(c, "disposition %d", (int)answer->disposition);
    if (answer->user.bytes) append_text(c, ", user %s, password %s", answer->user.bytes, answer->password.bytes);
    for (size_t i = 0; i < answer->certificate_count; i++)
        append_text(c, ", certificate %.*s", (int)answer->certificates[i].length, answer->certificates[i].bytes);
    if (answer->private_key.bytes) append_text(c, ", key %.*s", (int)answer->private_key.length, answer->private_key.bytes);
    c->stage = RESPONSE;
}

static void send_challenge(carrier *c, portolan_method method) {
    static const portolan_string certificates[] = { PORTOLAN_TEXT("first"), PORTOLAN_TEXT("second\0with NUL") };
    portolan_challenge challenge = { .size = sizeof challenge, .method = method, .protocol = c->request->scheme, .host = c->request->host,
                                     .port = 4711, .is_proxy = 1 };
    const portolan_answer *answer = NULL;
    if (method != PORTOLAN_ASK_PASSWORD) {
        challenge.certificates = certificates;
        challenge.certificate_count = ARRAY_COUNT(certificates);
    } else {
        challenge.scheme = PORTOLAN_STRING("digest");
        challenge.realm = PORTOLAN_STRING("hold");
    }
    portolan_flow flow = c->client->did_receive_challenge(c->client, &challenge, &answer);
    c->stage = AWAITING_ANSWER;
    if (flow == PORTOLAN_CONTINUE && answer) handle_answer(c, answer);
    else handle_flow(c, flow);
}

/* ---- the load; each step returns 0 if it has to wait ---- */

static portolan_flow respond(carrier *c, int64_t length) {
    portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("text/plain"), .expected_length = length };
#if PORTOLAN_ABI_MINOR >= 3
    response.has_length = 1;
#endif
    return c->client->did_receive_response(c->client, &response);
}

static void moments(carrier *c) {
    const portolan_field hint = { PORTOLAN_TEXT("link"), PORTOLAN_TEXT("<x>") };
    const portolan_response interim = { .size = sizeof interim, .status = 103, .fields = &hint, .field_count = 1 };
    c->client->did_receive_interim(c->client, &interim);
    for (int step = PORTOLAN_NAME_FOUND; step <= PORTOLAN_FIRST_BYTE; step++) c->client->did_reach(c->client, (portolan_step)step);
    c->stage = RESPONSE;
}

static void begin_load(carrier *c) {
    portolan_change to = change(c), nothing = { .size = sizeof nothing };
    c->stage = RESPONSE;
    if (host_is(c, "show")) show(c);
    else if (host_is(c, "password")) send_challenge(c, PORTOLAN_ASK_PASSWORD);
    else if (host_is(c, "certificate")) send_challenge(c, PORTOLAN_ASK_CLIENT_CERTIFICATE);
    else if (host_is(c, "trust")) send_challenge(c, PORTOLAN_ASK_SERVER_TRUST);
    else if (host_is(c, "twice")) c->stage = READING;
    else if (host_is(c, "parts")) c->stage = PARTS;
    else if (host_is(c, "moments")) moments(c);
    else if (host_is(c, "nest") || host_is(c, "itself")) {
        c->stage = NESTED_RESPONSE;
        c->inner = c->plugin->nested->open(c->client, host_is(c, "nest") ? &to : &nothing);
    } else if (host_is(c, "redirect")) {
        c->stage = AWAITING_DECISION;
        handle_flow(c, c->client->was_redirected(c->client, &to, NULL));
    }
}

static int fail_with_nested_error(carrier *c) {
    const portolan_error *cause = c->plugin->nested->error(c->inner);
    c->stage = ENDED;
    if (cause) fail(c, (portolan_code)cause->code, "the nested load failed", cause);
    return 1;
}
static int read_nested_response(carrier *c) {
    const portolan_response *response = NULL;
    portolan_flow flow = c->plugin->nested->response(c->inner, &response);
    if (flow == PORTOLAN_WAIT) return 0;
    c->stage = NESTED_BODY;
    return flow == PORTOLAN_CONTINUE ? 1 : fail_with_nested_error(c);
}
static int read_nested_body(carrier *c) {
    const void *bytes = NULL;
    int64_t count = c->plugin->nested->next(c->inner, &bytes);
    if (count == PORTOLAN_WAIT) return 0;
    if (count < 0) return fail_with_nested_error(c);
    if (count == 0) c->stage = RESPONSE;
    else append_text(c, "%.*s", (int)count, (const char *)bytes);
    return 1;
}

static int read_body(carrier *c) {
    size_t free_length = sizeof c->text - c->length;
    int64_t count = c->client->read_body(c->client, c->text + c->length, free_length < 4096 ? free_length : 4096);
    if (count == PORTOLAN_WAIT) return 0;
    if (count == PORTOLAN_STOPPED) c->stage = ENDED;
    if (count > 0) c->length += (size_t)count, c->body_bytes += count, c->client->did_send(c->client, c->body_bytes);
    if (count == 0) c->stage = c->round++ == 0 ? REWINDING : RESPONSE;
    return 1;
}
static int rewind_body(carrier *c) {
    int32_t result = c->client->rewind_body(c->client);
    if (result == PORTOLAN_WAIT) return 0;
    c->body_bytes = 0;
    c->stage = result == 1 ? READING : ENDED;
    if (result == 0) fail(c, PORTOLAN_ERROR_BODY_FAILED, "the body cannot be read again", NULL);
    return 1;
}

/* Sends the response of a part in an even round, and its data in the next round. Rounds count from 0. */
static void part(carrier *c) {
    c->length = 0;
    append_text(c, "part %d", c->round / 2 + 1);
    if (c->round == 6) {
        c->stage = ENDED;
        c->client->did_finish(c->client);
    } else if (c->round++ % 2 == 0) {
        handle_flow(c, respond(c, (int64_t)c->length));
    } else {
        handle_flow(c, c->client->did_load(c->client, c->text, c->length));
    }
}

static void deliver(carrier *c) {
    const portolan_field trailer = { PORTOLAN_TEXT("x-check"), PORTOLAN_TEXT("sound") };
    if (c->length > 0) {
        size_t length = c->length;
        c->length = 0;
        handle_flow(c, c->client->did_load(c->client, c->text, length));
        return;
    }
    if (host_is(c, "moments")) c->client->did_receive_trailers(c->client, &trailer, 1);
    c->stage = ENDED;
    c->client->did_finish(c->client);
}

static void pump(carrier *c) {
    int can_continue = 1;
    while (can_continue && !c->is_paused) {
        switch (c->stage) {
        case BEGIN: begin_load(c); break;
        case AWAITING_DECISION: c->stage = RESPONSE; break; /* the redirect is not followed */
        case NESTED_RESPONSE: can_continue = read_nested_response(c); break;
        case NESTED_BODY: can_continue = read_nested_body(c); break;
        case READING: can_continue = read_body(c); break;
        case REWINDING: can_continue = rewind_body(c); break;
        case PARTS: part(c); break;
        case RESPONSE: c->stage = BODY; handle_flow(c, respond(c, (int64_t)c->length)); break;
        case BODY: deliver(c); break;
        case AWAITING_ANSWER: case ENDED: return;
        }
    }
}

static void run_load(void *load) { pump(load); }
static void resume(void *load) {
    ((carrier *)load)->is_paused = 0;
    pump(load);
}
static void answered(void *load, const portolan_answer *answer) {
    handle_answer(load, answer);
    pump(load);
}
static void stop(void *load) { ((carrier *)load)->stage = ENDED; }

/* ---- the handlers ---- */

static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_NO_MEMORY, .message = PORTOLAN_TEXT("no memory for a load") };
    carrier *c = calloc(1, sizeof *c);
    (void)cached;
    if (!c) {
        refusal->give(refusal, &error);
        return NULL;
    }
    c->plugin = plugin;
    c->request = request;
    c->client = client;
    return c;
}

static int is_canonical(const portolan_request *request) { return portolan_equal(request->host, PORTOLAN_STRING("canonical")); }
static void canonical_request(void *plugin, const portolan_request *request, portolan_canonical *canonical) {
    portolan_change to = { .size = sizeof to, .url = PORTOLAN_TEXT("carrier://canonical") };
    (void)plugin;
    if (is_canonical(request) && request->query.bytes) canonical->give(canonical, &to);
}
static int32_t is_cache_equivalent(void *plugin, const portolan_request *a, const portolan_request *b) {
    (void)plugin;
    return portolan_equal(a->url, b->url) || (is_canonical(a) && is_canonical(b));
}

static void *init(portolan_host *host, portolan_refusal *refusal) {
    carrier_plugin *plugin = calloc(1, sizeof *plugin);
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_NO_MEMORY, .message = PORTOLAN_TEXT("no memory for the plugin") };
    if (!plugin) {
        refusal->give(refusal, &error);
        return NULL;
    }
    plugin->host = host;
    plugin->nested = host->extension(host, PORTOLAN_NESTED);
    host->log(host, PORTOLAN_LOG_ERROR, PORTOLAN_STRING("an error"));
    host->log(host, PORTOLAN_LOG_WARNING, PORTOLAN_STRING("a warning"));
    host->log(host, PORTOLAN_LOG_INFO, PORTOLAN_STRING("an info\nof two lines"));
    host->log(host, PORTOLAN_LOG_DEBUG, PORTOLAN_STRING("a detail"));
    return plugin;
}
static void deinit(void *state) {
    carrier_plugin *plugin = state;
    plugin->host->log(plugin->host, PORTOLAN_LOG_INFO, PORTOLAN_STRING("ended"));
    free(plugin);
}

static const portolan_string blocking_schemes[] = { PORTOLAN_TEXT("carrier") }, driven_schemes[] = { PORTOLAN_TEXT("carrier-events") };
static const portolan_load_table blocking_loads = { .size = sizeof blocking_loads, .run = run_load, .destroy = free };
static const portolan_load_table driven_loads = { .size = sizeof driven_loads, .start = run_load, .resume = resume, .woken = run_load,
                                                  .answered = answered, .stop = stop, .destroy = free };
static const portolan_handler blocking = { .size = sizeof blocking, .flags = PORTOLAN_MULTIPART,
                                           .identifier = PORTOLAN_TEXT("org.portolan.carrier"), .schemes = blocking_schemes,
                                           .scheme_count = 1, .canonical_request = canonical_request,
                                           .is_cache_equivalent = is_cache_equivalent, .make = make, .loads = &blocking_loads };
static const portolan_handler driven = { .size = sizeof driven, .flags = PORTOLAN_MULTIPART,
                                         .identifier = PORTOLAN_TEXT("org.portolan.carrier.events"), .schemes = driven_schemes,
                                         .scheme_count = 1, .make = make, .loads = &driven_loads };
static const portolan_handler *const handlers[] = { &blocking, &driven };
static const portolan_plugin descriptor = {
    .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR, .identifier = PORTOLAN_TEXT("org.portolan.carrier"),
    .name = PORTOLAN_TEXT("Carrier"), .vendor = PORTOLAN_TEXT("The Portolan authors"), .version = PORTOLAN_TEXT("1.0.0"),
    .handlers = handlers, .handler_count = ARRAY_COUNT(handlers), .init = init, .deinit = deinit };
const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) { return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL; }
