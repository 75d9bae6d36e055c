/* SPDX-License-Identifier: Apache-2.0 */
/* A complete plugin in the blocking style, to read and to copy. It serves five kinds of URL, each for one part of the contract:
 *
 *   template://greet/NAME?times=N   bytes of a known length, in pieces
 *   template://echo                 returns the upload body
 *   template://redirect?to=URL      redirects to URL
 *   template://secret               asks for a password (guest, sesame)
 *   template://missing              fails
 *
 * The code names the rules that it follows. Everything except the entry is static (DESC-02). */
#include <portolan/helpers.h>
#include <portolan/portolan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One instance of the plugin. Two can exist at the same time, so no global variable changes (REG-04). */
typedef struct template_plugin {
    portolan_string greeting; /* memory of the host: its settings are valid until deinit has returned */
} template_plugin;

/* One load. The request and the client are valid until destroy has returned, so the load keeps their pointers and copies nothing. */
typedef struct template_load {
    const portolan_request *request;
    portolan_client *client;
    const template_plugin *plugin;
    void (*serve)(struct template_load *);
    int64_t times;         /* greet: how many times */
    char text[512];        /* decoded: the name to greet, or the URL to go to */
    size_t text_length;
    portolan_string about; /* the part of the URL that the plugin is reading; an error quotes this part */
} template_load;

/* Writes "what: value". The value is shortened and limited to printable ASCII, because a message is one line of valid UTF-8 (ERR-02).
 * Never quote the URL's user information, or the whole URL, which can contain user information (ERR-05). */
static void describe(char *message, size_t capacity, const char *what, portolan_string value) {
    char quoted[64];
    size_t length = value.length < sizeof quoted - 1 ? value.length : sizeof quoted - 1;
    for (size_t i = 0; i < length; i++) quoted[i] = value.bytes[i] >= ' ' && value.bytes[i] <= '~' ? value.bytes[i] : '?';
    quoted[length] = '\0';
    snprintf(message, capacity, "%s: \"%s\"%s", what, quoted, length < value.length ? " and more" : "");
}

/* The host copies an error before the call returns, so the error can be on the stack. */
static void *refuse(portolan_refusal *refusal, portolan_code code, const char *what, portolan_string value) {
    char message[256];
    describe(message, sizeof message, what, value);
    portolan_error error = { .size = sizeof error, .code = code, .message = { message, strlen(message) } };
    refusal->give(refusal, &error);
    return NULL;
}

/* A failure ends the load: call nothing after it (ORDER-03). */
static void fail(template_load *load, portolan_code code, portolan_string message) {
    portolan_error error = { .size = sizeof error, .code = code, .message = message };
    load->client->did_fail(load->client, &error);
}

/* The response for a text of `length` bytes. */
static portolan_response text_response(int64_t length) {
    /* .storage stays 0, which forbids storing. Allow more only if the host may give this response to a later request of another caller (CACHE-05),
     * and set PORTOLAN_CACHEABLE in the handler's flags. */
    return (portolan_response){ .size = sizeof(portolan_response), .mime_type = PORTOLAN_TEXT("text/plain"),
                                .text_encoding = PORTOLAN_TEXT("utf-8"), .expected_length = length };
}

/* Delivers the response. Returns STOPPED also after the response to HEAD, which has the length that GET would have, and no body.
 * Nobody would read body bytes, and a cache could store them as the resource's bytes. */
static portolan_flow respond(template_load *load, const portolan_response *response) {
    portolan_flow flow = load->client->did_receive_response(load->client, response);
    if (flow == PORTOLAN_STOPPED || !portolan_equal(load->request->method, PORTOLAN_STRING("HEAD"))) return flow;
    load->client->did_finish(load->client);
    return PORTOLAN_STOPPED;
}

static void serve_greeting(template_load *load) {
    const portolan_string name = { load->text, load->text_length };
    const portolan_string parts[] = { load->plugin->greeting, PORTOLAN_TEXT(", "), name, PORTOLAN_TEXT("!\n") };
    char line[768], piece[16384];
    size_t line_length = 0; /* at most 200 + 2 + 511 + 2; init and read_text check this */
    for (size_t i = 0; i < 4; line_length += parts[i++].length)
        memcpy(line + line_length, parts[i].bytes, parts[i].length); /* not with %s: every byte must stay unchanged (BODY-08) */

    /* The response comes first (ORDER-01). The body must have the announced length (BODY-02). */
    portolan_response response = text_response(load->times * (int64_t)line_length);
    if (respond(load, &response) == PORTOLAN_STOPPED) return;

    /* A piece has some KiB, so that a large body does not need one call per line (BODY-05), and its first bytes arrive before the last
     * ones are made (PERF-04). Each call waits while the reader is slow. The blocking style needs no other flow control. */
    int64_t remaining = load->times;
    while (remaining > 0) {
        size_t length = 0;
        for (; remaining > 0 && length + line_length <= sizeof piece; remaining--, length += line_length)
            memcpy(piece + length, line, line_length);
        /* The load was stopped. Return without an end event; destroy follows (FLOW-06). */
        if (load->client->did_load(load->client, piece, length) == PORTOLAN_STOPPED) return;
    }
    load->client->did_finish(load->client); /* exactly one end (ORDER-02) */
}

static void serve_echo(template_load *load) {
    portolan_client *client = load->client;
    char piece[16384];
    int64_t total = 0, count;
    portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("application/octet-stream"),
                                   .expected_length = load->request->body_length }; /* -1 if unknown, in both (UPLOAD-05) */
    if (respond(load, &response) == PORTOLAN_STOPPED) return;
    while ((count = client->read_body(client, piece, sizeof piece)) > 0) { /* waits for bytes (UPLOAD-02) */
        total += count;
        client->did_send(client, total); /* the total number of bytes, not the size of the piece (ORDER-09, UPLOAD-06) */
        if (client->did_load(client, piece, (size_t)count) == PORTOLAN_STOPPED) return;
    }
    /* The load was stopped, or the body failed. The host has then ended the load with the error of the body (UPLOAD-03). */
    if (count < 0) return;
    client->did_reach(client, PORTOLAN_REQUEST_SENT);
    client->did_finish(client);
}

static void serve_redirect(template_load *load) {
    /* Set only what changes. The host parses the URL, and keeps the properties that this plugin does not know (PROP-01). */
    portolan_change change = { .size = sizeof change, .url = { load->text, load->text_length } };
    portolan_response response = text_response((int64_t)load->text_length);
    /* STOPPED means that the redirect is followed and the load has ended (ORDER-04). Otherwise the caller reads this response. */
    if (load->client->was_redirected(load->client, &change, &response) == PORTOLAN_STOPPED) return;
    if (respond(load, &response) == PORTOLAN_STOPPED) return;
    if (load->client->did_load(load->client, load->text, load->text_length) == PORTOLAN_STOPPED) return;
    load->client->did_finish(load->client);
}

static void serve_secret(template_load *load) {
    portolan_client *client = load->client;
    const portolan_string secret = PORTOLAN_TEXT("The harbour lies behind the second cape.\n");
    portolan_error wrong = { .size = sizeof wrong, .code = PORTOLAN_ERROR_AUTHENTICATION_REQUIRED,
                             .message = PORTOLAN_TEXT("user or password is wrong; ask the secret's owner for the right ones") };
    for (int32_t failures = 0;; failures++) {
        if (failures == 3) { client->did_fail(client, &wrong); return; } /* fail, do not loop (CHAL-10) */
        /* The space says where the credential is valid. The count and the last error say why it is requested again (CHAL-01, CHAL-04). */
        portolan_challenge challenge = { .size = sizeof challenge, .method = PORTOLAN_ASK_PASSWORD, .protocol = load->request->scheme,
                                         .host = load->request->host, .realm = PORTOLAN_TEXT("secret"), .port = load->request->port,
                                         .failure_count = failures, .previous = failures > 0 ? &wrong : NULL };
        const portolan_answer *answer = NULL; /* borrowed until the next client call: read it, do not keep it (CHAL-09) */
        if (client->did_receive_challenge(client, &challenge, &answer) == PORTOLAN_STOPPED || !answer) return;
        if (answer->disposition == PORTOLAN_CANCEL) {
            fail(load, PORTOLAN_ERROR_AUTHENTICATION_CANCELLED, PORTOLAN_STRING("the challenge for a password was cancelled"));
            return; /* (CHAL-05) */
        }
        if (answer->disposition != PORTOLAN_USE) { /* no credential, or another space: neither helps here (CHAL-06, CHAL-07) */
            fail(load, PORTOLAN_ERROR_AUTHENTICATION_REQUIRED, PORTOLAN_STRING("template://secret needs a user and a password"));
            return;
        }
        if (portolan_equal(answer->user, PORTOLAN_STRING("guest")) && portolan_equal(answer->password, PORTOLAN_STRING("sesame"))) break;
    }
    portolan_response response = text_response((int64_t)secret.length);
    if (respond(load, &response) == PORTOLAN_STOPPED) return;
    if (client->did_load(client, secret.bytes, secret.length) == PORTOLAN_STOPPED) return;
    client->did_finish(client);
}

static void serve_missing(template_load *load) {
    fail(load, PORTOLAN_ERROR_NOT_FOUND, PORTOLAN_STRING("nothing exists at template://missing, on purpose; try template://greet/NAME"));
}

/* The functions that read a URL return what is wrong with it, or NULL. The parts are percent-encoded. Decode each part once, and refuse
 * bytes that a peer or a C string would misread (SEC-01). */
static const char *read_text(template_load *load, portolan_string encoded) {
    load->about = encoded;
    int64_t length = portolan_decode(encoded, load->text, sizeof load->text);
    if (length < 0) return "malformed percent-encoding, or an encoded NUL, CR or LF";
    if (length == 0) return "the name or the URL is missing; write template://greet/NAME or template://redirect?to=URL";
    if ((size_t)length >= sizeof load->text) return "longer than 511 bytes";
    load->text_length = (size_t)length;
    return NULL;
}

static const char *read_greeting(template_load *load, const portolan_request *request) {
    portolan_string name = request->path, times = portolan_query_item(request->query, PORTOLAN_STRING("times"));
    load->serve = serve_greeting;
    load->about = times;
    load->times = times.bytes ? 0 : 1;
    for (size_t i = 0; i < times.length && load->times >= 0; i++) {
        int is_digit = times.bytes[i] >= '0' && times.bytes[i] <= '9';
        load->times = is_digit && load->times <= 99999999 ? load->times * 10 + (times.bytes[i] - '0') : -1;
    }
    if (load->times <= 0) return "times is not a number from 1 to 999999999";
    load->about = name;
    if (name.length > 0) name = (portolan_string){ name.bytes + 1, name.length - 1 }; /* the slash after the host */
    if (name.length > 0 && memchr(name.bytes, '/', name.length)) return "more than one name; write template://greet/NAME";
    return read_text(load, name);
}

/* A redirect to a malformed URL would violate REDIR-01, so this function refuses the request's URL. The host does the real parsing. */
static const char *read_target(template_load *load, const portolan_request *request) {
    load->serve = serve_redirect;
    const char *problem = read_text(load, portolan_query_item(request->query, PORTOLAN_STRING("to")));
    load->about = request->host; /* not the redirect's URL, which can contain user information (ERR-05) */
    if (problem) return problem;
    size_t scheme = strcspn(load->text, ":/?#");
    for (size_t i = 0; i < load->text_length; i++)
        if (load->text[i] <= ' ' || load->text[i] > '~') return "the redirect's URL contains a space or a character that is not ASCII";
    return scheme == 0 || load->text[scheme] != ':' ? "the redirect's URL is not absolute; write template://redirect?to=data:,x" : NULL;
}

static const char *read_url(template_load *load, const portolan_request *request) {
    portolan_string host = load->about = request->host;
    if (request->port != -1) return "the URL has a port; leave it out";
    if (portolan_equal(host, PORTOLAN_STRING("greet"))) return read_greeting(load, request);
    if (portolan_equal(host, PORTOLAN_STRING("redirect"))) return read_target(load, request);
    if (portolan_equal(host, PORTOLAN_STRING("echo"))) load->serve = serve_echo;
    if (portolan_equal(host, PORTOLAN_STRING("secret"))) load->serve = serve_secret;
    if (portolan_equal(host, PORTOLAN_STRING("missing"))) load->serve = serve_missing;
    return load->serve ? NULL : "the host is not one of greet, echo, redirect, secret, missing";
}

/* Refuses a malformed URL immediately. Calls no function of the client (LIFE-01). Frees everything before it refuses (LIFE-07). */
static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    (void)cached; /* the host stores no response, so there is none to revalidate */
    template_load *load = calloc(1, sizeof *load);
    if (!load) return refuse(refusal, PORTOLAN_ERROR_NO_MEMORY, "no memory for a load of", request->host);
    load->request = request;
    load->client = client;
    load->plugin = plugin;
    const char *problem = read_url(load, request);
    if (!problem) return load; /* `run` and `destroy` receive this pointer */
    refuse(refusal, PORTOLAN_ERROR_BAD_URL, problem, load->about); /* (ERR-04) */
    free(load);
    return NULL;
}

static void run(void *load) { ((template_load *)load)->serve(load); }

/* `stop` is NULL, because this load never waits in its own system call, and the host ends client calls that wait (LIFE-06).
 * A load that waits in recv(2) or accept(2) needs a `stop` that shuts the socket down. `destroy` only frees. */
static const portolan_load_table loads = { .size = sizeof loads, .run = run, .destroy = free };

/* The settings are read once. For a value of the wrong type, the plugin refuses to start and names the setting (REG-06). */
static void *init(portolan_host *host, portolan_refusal *refusal) {
    const portolan_property *setting = portolan_find_property(host->settings, host->setting_count, PORTOLAN_STRING("greeting"));
    if (setting && (setting->kind != PORTOLAN_KIND_TEXT || setting->bytes.length == 0 || setting->bytes.length > 200))
        return refuse(refusal, PORTOLAN_ERROR_BAD_REQUEST, "this setting must be a text of 1 to 200 bytes", PORTOLAN_STRING("greeting"));
    template_plugin *plugin = calloc(1, sizeof *plugin);
    if (!plugin) return refuse(refusal, PORTOLAN_ERROR_NO_MEMORY, "no memory for the plugin", PORTOLAN_STRING("template"));
    plugin->greeting = setting ? setting->bytes : PORTOLAN_STRING("Hello");
    host->log(host, PORTOLAN_LOG_DEBUG, PORTOLAN_STRING("template: ready")); /* never to standard output (ERR-06) */
    return plugin;
}

static const portolan_string schemes[] = { PORTOLAN_TEXT("template") };

/* can_init is NULL, because this handler serves every template: URL. `make` refuses a malformed one and says why. canonical_request is
 * NULL, because two spellings of a URL need not share a stored response. */
static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.portolan.template"), .schemes = schemes,
                                          .scheme_count = 1, .make = make, .loads = &loads };
static const portolan_handler *const handlers[] = { &handler };
static const portolan_plugin descriptor = {
    .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR,
    .identifier = PORTOLAN_TEXT("org.portolan.template"), .name = PORTOLAN_TEXT("Template"),
    .vendor = PORTOLAN_TEXT("The Portolan authors"), .version = PORTOLAN_TEXT("1.0.0"),
    .handlers = handlers, .handler_count = 1, .init = init, .deinit = free };

/* Returns the same pointer each time, and NULL to a host of another major version (DESC-03, DESC-04). */
const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) { return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL; }
