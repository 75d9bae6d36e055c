/* SPDX-License-Identifier: Apache-2.0 */
/* A correct plugin that reports what it received, the same in both styles: `carrier://WHAT` is blocking,
 * `carrier-events://WHAT` event-driven.
 *
 *   show         a line for each property of the request, and for each of its fields
 *   redirect     to `show`, with a change of five properties, one of each kind, and one removed
 *   nest         `show`, as a nested load with the same change
 *   password, certificate, trust
 *                sends a challenge, and returns the answer
 *   parts        three responses, each with its data
 *   twice        the upload body, read, rewound and read again
 *   moments      an interim response, each step, a response, trailers
 *   canonical    with any query: the canonical form has none; all of them are equivalent for a cache
 *   itself       the request's own URL, as a nested load
 *
 * `init` and `deinit` log. As in fixture-events.c, one function, `pump`, does what can be done now. In a blocking load
 * nothing waits, so `pump` does everything. */
#include <inttypes.h>
#include <portolan/helpers.h>
#include <portolan/portolan.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_COUNT(array) (sizeof(array) / sizeof *(array))
enum stage { BEGIN, ASKED, DECIDING, OPENED, PULLING, READING, REWINDING, PARTS, ANSWER, BODY, OVER };

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
    int64_t taken;
    size_t length; /* of `text`, which will be delivered */
    char text[16384];
} carrier;

static void say(carrier *c, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(c->text + c->length, sizeof c->text - c->length, format, arguments);
    va_end(arguments);
    if (count > 0 && (size_t)count < sizeof c->text - c->length) c->length += (size_t)count;
}
static void note(carrier *c, portolan_flow flow) {
    if (flow == PORTOLAN_STOPPED) c->stage = OVER;
    if (flow == PORTOLAN_PAUSE) c->is_paused = 1;
}
static void fail(carrier *c, portolan_code code, const char *message, const portolan_error *cause) {
    portolan_error error = { .size = sizeof error, .code = code, .message = { message, strlen(message) }, .cause = cause };
    c->stage = OVER;
    c->client->did_fail(c->client, &error);
}
static int is(const carrier *c, const char *what) { return portolan_equal(c->request->host, (portolan_string){ what, strlen(what) }); }

/* ---- what it received ---- */

static void show(carrier *c) {
    const portolan_request *request = c->request;
    for (size_t i = 0; i < request->property_count; i++) {
        const portolan_property *property = &request->properties[i];
        say(c, "%s ", property->name.bytes);
        switch (property->kind) {
        case PORTOLAN_KIND_TEXT: say(c, "text %s\n", property->bytes.bytes); break;
        case PORTOLAN_KIND_BYTES:
            say(c, "bytes");
            for (size_t j = 0; j < property->bytes.length; j++) say(c, " %02x", (unsigned char)property->bytes.bytes[j]);
            say(c, "\n");
            break;
        case PORTOLAN_KIND_INTEGER: say(c, "integer %" PRId64 "\n", property->integer); break;
        case PORTOLAN_KIND_REAL: say(c, "real %g\n", property->real); break;
        case PORTOLAN_KIND_TRUTH: say(c, "truth %" PRId64 "\n", property->integer); break;
        default: say(c, "?\n");
        }
    }
    for (size_t i = 0; i < request->field_count; i++) say(c, "%s: %s\n", request->fields[i].name.bytes, request->fields[i].value.bytes);
}

static const portolan_property changed[] = {
    { .name = PORTOLAN_TEXT("org.portolan.a-text"), .kind = PORTOLAN_KIND_TEXT, .bytes = PORTOLAN_TEXT("caf\xc3\xa9") },
    { .name = PORTOLAN_TEXT("org.portolan.bytes"), .kind = PORTOLAN_KIND_BYTES, .bytes = PORTOLAN_TEXT("\x00\xff\n") },
    { .name = PORTOLAN_TEXT("org.portolan.integer"), .kind = PORTOLAN_KIND_INTEGER, .integer = INT64_MIN },
    { .name = PORTOLAN_TEXT("org.portolan.real"), .kind = PORTOLAN_KIND_REAL, .real = -0.5 },
    { .name = PORTOLAN_TEXT("org.portolan.truth"), .kind = PORTOLAN_KIND_TRUTH, .integer = 1 },
    { .name = PORTOLAN_TEXT("org.portolan.removed") },
};
static portolan_change change(const carrier *c) {
    int is_driven = portolan_equal(c->request->scheme, PORTOLAN_STRING("carrier-events"));
    return (portolan_change){ .size = sizeof(portolan_change), .properties = changed, .property_count = ARRAY_COUNT(changed),
                              .url = is_driven ? PORTOLAN_STRING("carrier-events://show") : PORTOLAN_STRING("carrier://show") };
}

/* ---- challenges ---- */

static void take_answer(carrier *c, const portolan_answer *answer) {
    say(c, "disposition %d", (int)answer->disposition);
    if (answer->user.bytes) say(c, ", user %s, password %s", answer->user.bytes, answer->password.bytes);
    for (size_t i = 0; i < answer->certificate_count; i++)
        say(c, ", certificate %.*s", (int)answer->certificates[i].length, answer->certificates[i].bytes);
    if (answer->private_key.bytes) say(c, ", key %.*s", (int)answer->private_key.length, answer->private_key.bytes);
    c->stage = ANSWER;
}

static void ask(carrier *c, portolan_method method) {
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
    c->stage = ASKED;
    if (flow == PORTOLAN_CONTINUE && answer) take_answer(c, answer);
    else note(c, flow);
}

/* ---- the load; each step returns 0 if it has to wait ---- */

static portolan_flow respond(carrier *c, int64_t length) {
    portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("text/plain"), .expected_length = length };
    return c->client->did_receive_response(c->client, &response);
}

static void moments(carrier *c) {
    const portolan_field hint = { PORTOLAN_TEXT("link"), PORTOLAN_TEXT("<x>") };
    const portolan_response interim = { .size = sizeof interim, .status = 103, .fields = &hint, .field_count = 1 };
    c->client->did_receive_interim(c->client, &interim);
    for (int step = PORTOLAN_NAME_FOUND; step <= PORTOLAN_FIRST_BYTE; step++) c->client->did_reach(c->client, (portolan_step)step);
    c->stage = ANSWER;
}

static void begin(carrier *c) {
    portolan_change to = change(c), nothing = { .size = sizeof nothing };
    c->stage = ANSWER;
    if (is(c, "show")) show(c);
    else if (is(c, "password")) ask(c, PORTOLAN_ASK_PASSWORD);
    else if (is(c, "certificate")) ask(c, PORTOLAN_ASK_CLIENT_CERTIFICATE);
    else if (is(c, "trust")) ask(c, PORTOLAN_ASK_SERVER_TRUST);
    else if (is(c, "twice")) c->stage = READING;
    else if (is(c, "parts")) c->stage = PARTS;
    else if (is(c, "moments")) moments(c);
    else if (is(c, "nest") || is(c, "itself")) {
        c->stage = OPENED;
        c->inner = c->plugin->nested->open(c->client, is(c, "nest") ? &to : &nothing);
    } else if (is(c, "redirect")) {
        c->stage = DECIDING;
        note(c, c->client->was_redirected(c->client, &to, NULL));
    }
}

static int inner_failed(carrier *c) {
    const portolan_error *cause = c->plugin->nested->error(c->inner);
    c->stage = OVER;
    if (cause) fail(c, (portolan_code)cause->code, "the load inside failed", cause);
    return 1;
}
static int opened(carrier *c) {
    const portolan_response *response = NULL;
    portolan_flow flow = c->plugin->nested->response(c->inner, &response);
    if (flow == PORTOLAN_WAIT) return 0;
    c->stage = PULLING;
    return flow == PORTOLAN_CONTINUE ? 1 : inner_failed(c);
}
static int pull(carrier *c) {
    const void *bytes = NULL;
    int64_t count = c->plugin->nested->next(c->inner, &bytes);
    if (count == PORTOLAN_WAIT) return 0;
    if (count < 0) return inner_failed(c);
    if (count == 0) c->stage = ANSWER;
    else say(c, "%.*s", (int)count, (const char *)bytes);
    return 1;
}

static int read_body(carrier *c) {
    size_t room = sizeof c->text - c->length;
    int64_t count = c->client->read_body(c->client, c->text + c->length, room < 4096 ? room : 4096);
    if (count == PORTOLAN_WAIT) return 0;
    if (count == PORTOLAN_STOPPED) c->stage = OVER;
    if (count > 0) c->length += (size_t)count, c->taken += count, c->client->did_send(c->client, c->taken);
    if (count == 0) c->stage = c->round++ == 0 ? REWINDING : ANSWER;
    return 1;
}
static int rewind_body(carrier *c) {
    int32_t result = c->client->rewind_body(c->client);
    if (result == PORTOLAN_WAIT) return 0;
    c->taken = 0;
    c->stage = result == 1 ? READING : OVER;
    if (result == 0) fail(c, PORTOLAN_ERROR_BODY_FAILED, "the body cannot be had again", NULL);
    return 1;
}

/* An odd round is a response, an even one its data. */
static void part(carrier *c) {
    c->length = 0;
    say(c, "part %d", c->round / 2 + 1);
    if (c->round == 6) {
        c->stage = OVER;
        c->client->did_finish(c->client);
    } else if (c->round++ % 2 == 0) {
        note(c, respond(c, (int64_t)c->length));
    } else {
        note(c, c->client->did_load(c->client, c->text, c->length));
    }
}

static void deliver(carrier *c) {
    const portolan_field trailer = { PORTOLAN_TEXT("x-check"), PORTOLAN_TEXT("sound") };
    if (c->length > 0) {
        size_t length = c->length;
        c->length = 0;
        note(c, c->client->did_load(c->client, c->text, length));
        return;
    }
    if (is(c, "moments")) c->client->did_receive_trailers(c->client, &trailer, 1);
    c->stage = OVER;
    c->client->did_finish(c->client);
}

static void pump(carrier *c) {
    int goes_on = 1;
    while (goes_on && !c->is_paused) {
        switch (c->stage) {
        case BEGIN: begin(c); break;
        case DECIDING: c->stage = ANSWER; break; /* not taken */
        case OPENED: goes_on = opened(c); break;
        case PULLING: goes_on = pull(c); break;
        case READING: goes_on = read_body(c); break;
        case REWINDING: goes_on = rewind_body(c); break;
        case PARTS: part(c); break;
        case ANSWER: c->stage = BODY; note(c, respond(c, (int64_t)c->length)); break;
        case BODY: deliver(c); break;
        case ASKED: case OVER: return;
        }
    }
}

static void act(void *load) { pump(load); }
static void resume(void *load) {
    ((carrier *)load)->is_paused = 0;
    pump(load);
}
static void answered(void *load, const portolan_answer *answer) {
    take_answer(load, answer);
    pump(load);
}
static void stop(void *load) { ((carrier *)load)->stage = OVER; }

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
static const portolan_load_table blocking_loads = { .size = sizeof blocking_loads, .run = act, .destroy = free };
static const portolan_load_table driven_loads = { .size = sizeof driven_loads, .start = act, .resume = resume, .woken = act,
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
