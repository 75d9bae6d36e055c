/* SPDX-License-Identifier: Apache-2.0 */
/* A correct event-driven plugin, for one thing at a time:
 *
 *   ticker://COUNT?size=BYTES   its thread writes COUNT pieces into a socket pair; the load delivers each when it arrives
 *   ticker://COUNT?ask=1        the same, after it has waited for a password (ticker, tock)
 *   ticker://echo               returns the upload body, and waits while there are no bytes
 *   ticker://nest?url=URL       passes on what portolan.nested/1 loads from URL (percent-encoded)
 *   ticker://redirect?to=URL    a redirect whose decision can come later; if it is not taken, an empty response
 *
 * One function, `pump`, is the whole event-driven load: it does what can be done now and returns. start, resume, woken
 * and answered only record what has changed, and call it. The thread uses only its end of the socket and `wake`. */
#include <errno.h>
#include <portolan/helpers.h>
#include <portolan/portolan.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHUNK = 4096, MAXIMUM_SIZE = 1 << 20 };
enum kind { TICK, ECHO, NEST, REDIRECT };
enum stage { BEFORE_ASKING, ASKED, BEFORE_RESPONSE, DECIDING, BODY, OVER };

typedef struct ticker {
    portolan_client *client;
    const portolan_request *request;
    const portolan_nested_table *nested;
    portolan_nested *inner;
    enum kind kind;
    enum stage stage;
    int is_paused, asks;
    int32_t failures;
    int64_t count, size;    /* pieces, and bytes in each */
    size_t filled;          /* of `piece` */
    char *piece, text[1024];
    int has_thread, ours, theirs; /* the two ends of the socket pair */
    pthread_t thread;
} ticker;

/* ---- the thread ---- */

/* Sends chunks smaller than the socket's buffer, and wakes after each, so the reader always reads before a send can
 * block. */
static void *tick(void *load) {
    ticker *t = load;
    static const char zeros[CHUNK] = { 0 };
    int64_t left = t->count * t->size;
    while (left > 0) {
        ssize_t sent = send(t->theirs, zeros, left < CHUNK ? (size_t)left : CHUNK, MSG_NOSIGNAL); /* no SIGPIPE (FAULT-05) */
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return NULL; /* shut down: the load is over */
        left -= sent;
        t->client->wake(t->client);
    }
    shutdown(t->theirs, SHUT_WR);
    t->client->wake(t->client);
    return NULL;
}

/* ---- the load ---- */

static void fail(ticker *t, portolan_code code, const char *message, const portolan_error *cause) {
    portolan_error error = { .size = sizeof error, .code = code, .message = { message, strlen(message) }, .cause = cause };
    t->stage = OVER;
    t->client->did_fail(t->client, &error);
}

static void finish(ticker *t) {
    t->stage = OVER;
    t->client->did_finish(t->client);
}

/* Handles each result of a client call. Only this result decides what comes next. */
static void note(ticker *t, portolan_flow flow) {
    if (flow == PORTOLAN_STOPPED) t->stage = OVER;
    if (flow == PORTOLAN_PAUSE) t->is_paused = 1;
}

static void take_answer(ticker *t, const portolan_answer *answer) {
    if (answer->disposition == PORTOLAN_CANCEL)
        fail(t, PORTOLAN_ERROR_AUTHENTICATION_CANCELLED, "the question was cancelled", NULL);
    else if (answer->disposition != PORTOLAN_USE)
        fail(t, PORTOLAN_ERROR_AUTHENTICATION_REQUIRED, "a ticker that asks needs a password", NULL);
    else if (portolan_equal(answer->user, PORTOLAN_STRING("ticker")) && portolan_equal(answer->password, PORTOLAN_STRING("tock")))
        t->stage = BEFORE_RESPONSE;
    else if (++t->failures == 3)
        fail(t, PORTOLAN_ERROR_AUTHENTICATION_REQUIRED, "three passwords were wrong", NULL);
    else
        t->stage = BEFORE_ASKING;
}

static void ask(ticker *t) {
    portolan_error wrong = { .size = sizeof wrong, .code = PORTOLAN_ERROR_AUTHENTICATION_REQUIRED,
                             .message = PORTOLAN_TEXT("the password was wrong") };
    portolan_challenge challenge = { .size = sizeof challenge, .method = PORTOLAN_ASK_PASSWORD, .protocol = t->request->scheme,
                                     .host = t->request->host, .realm = PORTOLAN_TEXT("ticker"), .port = -1,
                                     .failure_count = t->failures, .previous = t->failures > 0 ? &wrong : NULL };
    const portolan_answer *answer = NULL;
    portolan_flow flow = t->client->did_receive_challenge(t->client, &challenge, &answer);
    t->stage = ASKED;
    if (flow == PORTOLAN_CONTINUE && answer) take_answer(t, answer); /* the answer can be there immediately */
    else note(t, flow);
}

static void respond(ticker *t) {
    portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("application/octet-stream") };
    if (t->kind == TICK) response.expected_length = t->count * t->size;
    if (t->kind == ECHO) response.expected_length = t->request->body_length;
    if (t->kind == NEST) response.expected_length = -1;
    t->stage = BODY;
    note(t, t->client->did_receive_response(t->client, &response));
}

/* Opens the nested load, and gets its response. Returns 0 if there is none yet. */
static int begin_nest(ticker *t, const portolan_change *change) {
    const portolan_response *ignored = NULL;
    const portolan_error *cause;
    if (!t->inner) t->inner = t->nested->open(t->client, change);
    portolan_flow flow = t->nested->response(t->inner, &ignored);
    if (flow == PORTOLAN_WAIT) return 0;
    if (flow == PORTOLAN_CONTINUE) {
        respond(t);
        return 1;
    }
    t->stage = OVER;
    cause = t->nested->error(t->inner);
    if (cause) fail(t, (portolan_code)cause->code, "the URL inside failed", cause);
    return 1;
}

/* Everything before the body. Returns 0 if it has to wait. */
static int begin(ticker *t) {
    portolan_change change = { .size = sizeof change, .url = { t->text, strlen(t->text) }, .drops_fields = t->kind == NEST };
    if (t->kind == NEST) return begin_nest(t, &change);
    if (t->kind == REDIRECT) {
        t->stage = DECIDING; /* paused until the decision; `resume` means not taken */
        note(t, t->client->was_redirected(t->client, &change, NULL));
        return 1;
    }
    if (t->kind == TICK) t->has_thread = pthread_create(&t->thread, NULL, tick, t) == 0;
    if (t->kind == TICK && !t->has_thread) fail(t, PORTOLAN_ERROR_NO_RESOURCES, "no thread can be made", NULL);
    else respond(t);
    return 1;
}

/* One piece of the body. Returns 0 if there is none now; the load will then be woken. */
static int deliver(ticker *t) {
    const void *bytes = t->piece;
    const portolan_error *cause;
    int64_t count;
    switch (t->kind) {
    case ECHO: count = t->client->read_body(t->client, t->piece, (size_t)t->size); break;
    case NEST: count = t->nested->next(t->inner, &bytes); break;
    case TICK:
        count = recv(t->ours, t->piece + t->filled, (size_t)t->size - t->filled, MSG_DONTWAIT);
        if (count < 0) return errno == EINTR; /* otherwise EAGAIN: the thread wakes the load */
        t->filled += (size_t)count;
        if (count > 0 && t->filled < (size_t)t->size) return 1; /* a piece is delivered whole */
        if (count > 0) count = (int64_t)t->filled;
        t->filled = 0;
        break;
    default: count = 0;
    }
    if (count == PORTOLAN_WAIT) return 0;
    if (count == 0) {
        finish(t);
    } else if (count > 0) {
        note(t, t->client->did_load(t->client, bytes, (size_t)count));
    } else if (t->kind == NEST && (cause = t->nested->error(t->inner))) {
        fail(t, (portolan_code)cause->code, "the URL inside was cut short", cause);
    } else {
        t->stage = OVER;
    }
    return 1;
}

static void pump(ticker *t) {
    int goes_on = 1;
    while (goes_on && !t->is_paused) {
        switch (t->stage) {
        case BEFORE_ASKING: ask(t); break;
        case BEFORE_RESPONSE: goes_on = begin(t); break;
        case DECIDING: respond(t); break;
        case BODY: goes_on = deliver(t); break;
        case ASKED: case OVER: return;
        }
    }
}

static void start(void *load) { pump(load); }
static void woken(void *load) { pump(load); }
static void resume(void *load) {
    ((ticker *)load)->is_paused = 0;
    pump(load);
}
static void answered(void *load, const portolan_answer *answer) {
    take_answer(load, answer);
    pump(load);
}
static void stop(void *load) {
    ticker *t = load;
    t->stage = OVER;
    if (t->has_thread) shutdown(t->ours, SHUT_RDWR); /* the thread's send fails, and it ends */
}
static void destroy(void *load) {
    ticker *t = load;
    if (t->has_thread) {
        shutdown(t->ours, SHUT_RDWR);
        pthread_join(t->thread, NULL); /* nothing can call the client any more (LIFE-11) */
    }
    if (t->ours >= 0) close(t->ours), close(t->theirs);
    free(t->piece);
    free(t); /* the host closes open nested loads */
}

/* ---- the handler ---- */

static int64_t number(portolan_string text, int64_t otherwise, int64_t maximum) {
    int64_t value = 0;
    if (!text.bytes) return otherwise;
    if (text.length == 0 || text.length > 9) return -1;
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9') return -1;
        value = value * 10 + (text.bytes[i] - '0');
    }
    return value <= maximum ? value : -1;
}

static const char *read_url(ticker *t, const portolan_request *request) {
    portolan_string host = request->host, url = { NULL, 0 };
    t->size = number(portolan_query_item(request->query, PORTOLAN_STRING("size")), CHUNK, MAXIMUM_SIZE);
    t->asks = number(portolan_query_item(request->query, PORTOLAN_STRING("ask")), 0, 1) == 1;
    if (t->size < 1) return "size is no number from 1 to 1048576";
    if (portolan_equal(host, PORTOLAN_STRING("echo"))) {
        t->kind = ECHO;
    } else if (portolan_equal(host, PORTOLAN_STRING("nest"))) {
        t->kind = NEST;
        url = portolan_query_item(request->query, PORTOLAN_STRING("url"));
    } else if (portolan_equal(host, PORTOLAN_STRING("redirect"))) {
        t->kind = REDIRECT;
        url = portolan_query_item(request->query, PORTOLAN_STRING("to"));
    } else if ((t->count = number(host, -1, 999999999)) < 0) {
        return "write ticker://COUNT, ticker://echo, ticker://nest or ticker://redirect";
    }
    if (t->kind == NEST && !t->nested) return "this host offers no portolan.nested/1";
    if (t->kind == NEST || t->kind == REDIRECT) {
        int64_t length = portolan_decode(url, t->text, sizeof t->text);
        if (length <= 0 || (size_t)length >= sizeof t->text) return "the URL in the query is missing, malformed or too long";
    }
    return NULL;
}

static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    ticker *t = calloc(1, sizeof *t);
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_NO_RESOURCES,
                             .message = PORTOLAN_TEXT("no memory or descriptor is free") };
    int pair[2] = { -1, -1 };
    const char *wrong = NULL;
    (void)cached;
    if (t) {
        t->client = client;
        t->request = request;
        t->nested = plugin;
        t->ours = t->theirs = -1;
        wrong = read_url(t, request);
        t->stage = t->asks ? BEFORE_ASKING : BEFORE_RESPONSE;
        if (!wrong) t->piece = malloc((size_t)t->size);
        if (t->piece && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
            t->ours = pair[0];
            t->theirs = pair[1];
            return t;
        }
        free(t->piece);
        free(t);
    }
    if (wrong) {
        error.code = PORTOLAN_ERROR_BAD_URL;
        error.message = (portolan_string){ wrong, strlen(wrong) };
    }
    refusal->give(refusal, &error);
    return NULL;
}

/* The state is the host's table for nested loads, or NULL, which is not a refusal. */
static void *init(portolan_host *host, portolan_refusal *refusal) {
    (void)refusal;
    return (void *)host->extension(host, PORTOLAN_NESTED);
}

static const portolan_string schemes[] = { PORTOLAN_TEXT("ticker") };
static const portolan_load_table loads = { .size = sizeof loads, .start = start, .resume = resume, .woken = woken, .answered = answered,
                                           .stop = stop, .destroy = destroy };
static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.portolan.ticker"), .schemes = schemes,
                                          .scheme_count = 1, .make = make, .loads = &loads };
static const portolan_handler *const handlers[] = { &handler };
static const portolan_plugin descriptor = {
    .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR,
    .identifier = PORTOLAN_TEXT("org.portolan.ticker"), .name = PORTOLAN_TEXT("Ticker"), .vendor = PORTOLAN_TEXT("The Portolan authors"),
    .version = PORTOLAN_TEXT("1.0.0"), .handlers = handlers, .handler_count = 1, .init = init };
const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) { return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL; }
