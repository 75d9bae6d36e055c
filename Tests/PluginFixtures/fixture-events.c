/* SPDX-License-Identifier: Apache-2.0 */
/* A correct event-driven plugin. Each URL shows one feature of such a load:
 *
 *   ticker://COUNT?size=BYTES   its thread writes COUNT pieces into a socket pair; the load delivers each when it arrives
 *   ticker://COUNT?ask=1        the same, after it has waited for a password (ticker, tock)
 *   ticker://echo               returns the upload body, and waits while no bytes are available
 *   ticker://nest?url=URL       forwards the body of a nested load of URL (percent-encoded)
 *   ticker://redirect?to=URL    redirects, and waits for the decision; sends an empty response if it is not followed
 *
 * One function, `pump`, runs the load until it has to wait, and then returns. start, resume, woken and answered only
 * record the change, and call `pump`. The thread uses only its end of the socket pair and `wake`. */
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
enum stage { BEFORE_CHALLENGE, AWAITING_ANSWER, BEFORE_RESPONSE, AWAITING_DECISION, BODY, ENDED };

typedef struct ticker {
    portolan_client *client;
    const portolan_request *request;
    const portolan_nested_table *nested;
    portolan_nested *inner;
    enum kind kind;
    enum stage stage;
    int is_paused, needs_password;
    int32_t failures;
    int64_t count, size;    /* pieces, and bytes in each */
    size_t piece_length;    /* received bytes of `piece` */
    char *piece, text[1024];
    int has_thread, load_socket, thread_socket; /* the two ends of the socket pair */
    pthread_t thread;
} ticker;

/* ---- the thread ---- */

/* Sends chunks smaller than the socket's buffer, and wakes after each, so the reader always reads before a send can
 * block. */
static void *send_zeros(void *load) {
    ticker *t = load;
    static const char zeros[CHUNK] = { 0 };
    int64_t remaining = t->count * t->size;
    while (remaining > 0) {
        ssize_t sent = send(t->thread_socket, zeros, remaining < CHUNK ? (size_t)remaining : CHUNK, MSG_NOSIGNAL); /* no SIGPIPE (FAULT-05) */
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return NULL; /* shut down: the load is over */
        remaining -= sent;
        t->client->wake(t->client);
    }
    shutdown(t->thread_socket, SHUT_WR);
    t->client->wake(t->client);
    return NULL;
}

/* ---- the load ---- */

static void fail(ticker *t, portolan_code code, const char *message, const portolan_error *cause) {
    portolan_error error = { .size = sizeof error, .code = code, .message = { message, strlen(message) }, .cause = cause };
    t->stage = ENDED;
    t->client->did_fail(t->client, &error);
}

static void finish(ticker *t) {
    t->stage = ENDED;
    t->client->did_finish(t->client);
}

/* Handles each result of a client call. Only this result decides what comes next. */
static void handle_flow(ticker *t, portolan_flow flow) {
    if (flow == PORTOLAN_STOPPED) t->stage = ENDED;
    if (flow == PORTOLAN_PAUSE) t->is_paused = 1;
}

static void handle_answer(ticker *t, const portolan_answer *answer) {
    if (answer->disposition == PORTOLAN_CANCEL)
        fail(t, PORTOLAN_ERROR_AUTHENTICATION_CANCELLED, "the challenge was cancelled", NULL);
    else if (answer->disposition != PORTOLAN_USE)
        fail(t, PORTOLAN_ERROR_AUTHENTICATION_REQUIRED, "this URL needs a password", NULL);
    else if (portolan_equal(answer->user, PORTOLAN_STRING("ticker")) && portolan_equal(answer->password, PORTOLAN_STRING("tock")))
        t->stage = BEFORE_RESPONSE;
    else if (++t->failures == 3)
        fail(t, PORTOLAN_ERROR_AUTHENTICATION_REQUIRED, "three passwords were wrong", NULL);
    else
        t->stage = BEFORE_CHALLENGE;
}

static void send_challenge(ticker *t) {
    portolan_error wrong = { .size = sizeof wrong, .code = PORTOLAN_ERROR_AUTHENTICATION_REQUIRED,
                             .message = PORTOLAN_TEXT("the password was wrong") };
    portolan_challenge challenge = { .size = sizeof challenge, .method = PORTOLAN_ASK_PASSWORD, .protocol = t->request->scheme,
                                     .host = t->request->host, .realm = PORTOLAN_TEXT("ticker"), .port = -1,
                                     .failure_count = t->failures, .previous = t->failures > 0 ? &wrong : NULL };
    const portolan_answer *answer = NULL;
    portolan_flow flow = t->client->did_receive_challenge(t->client, &challenge, &answer);
    t->stage = AWAITING_ANSWER;
    if (flow == PORTOLAN_CONTINUE && answer) handle_answer(t, answer); /* the answer can be there immediately */
    else handle_flow(t, flow);
}

static void respond(ticker *t) {
    portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("application/octet-stream") };
    if (t->kind == TICK) response.expected_length = t->count * t->size;
    if (t->kind == ECHO) response.expected_length = t->request->body_length;
    if (t->kind == NEST) response.expected_length = -1;
#if PORTOLAN_ABI_MINOR >= 3
    response.has_length = 1;
#endif
    t->stage = BODY;
    handle_flow(t, t->client->did_receive_response(t->client, &response));
}

/* Opens the nested load, and gets its response. Returns 0 if there is none yet. */
static int begin_nested_load(ticker *t, const portolan_change *change) {
    const portolan_response *ignored = NULL;
    const portolan_error *cause;
    if (!t->inner) t->inner = t->nested->open(t->client, change);
    portolan_flow flow = t->nested->response(t->inner, &ignored);
    if (flow == PORTOLAN_WAIT) return 0;
    if (flow == PORTOLAN_CONTINUE) {
        respond(t);
        return 1;
    }
    t->stage = ENDED;
    cause = t->nested->error(t->inner);
    if (cause) fail(t, (portolan_code)cause->code, "the nested load failed", cause);
    return 1;
}

/* Begins the load and sends the response. Returns 0 if it has to wait. */
static int begin_load(ticker *t) {
    portolan_change change = { .size = sizeof change, .url = { t->text, strlen(t->text) }, .drops_fields = t->kind == NEST };
    if (t->kind == NEST) return begin_nested_load(t, &change);
    if (t->kind == REDIRECT) {
        t->stage = AWAITING_DECISION; /* paused until the decision; `resume` means that the redirect is not followed */
        handle_flow(t, t->client->was_redirected(t->client, &change, NULL));
        return 1;
    }
    if (t->kind == TICK) t->has_thread = pthread_create(&t->thread, NULL, send_zeros, t) == 0;
    if (t->kind == TICK && !t->has_thread) fail(t, PORTOLAN_ERROR_NO_RESOURCES, "no thread can be made", NULL);
    else respond(t);
    return 1;
}

/* Delivers one piece of the body. Returns 0 if no piece is available; the load is woken later. */
static int deliver_piece(ticker *t) {
    const void *bytes = t->piece;
    const portolan_error *cause;
    int64_t count;
    switch (t->kind) {
    case ECHO: count = t->client->read_body(t->client, t->piece, (size_t)t->size); break;
    case NEST: count = t->nested->next(t->inner, &bytes); break;
    case TICK:
        count = recv(t->load_socket, t->piece + t->piece_length, (size_t)t->size - t->piece_length, MSG_DONTWAIT);
        if (count < 0) return errno == EINTR; /* otherwise EAGAIN: the thread wakes the load */
        t->piece_length += (size_t)count;
        if (count > 0 && t->piece_length < (size_t)t->size) return 1; /* a piece is delivered whole */
        if (count > 0) count = (int64_t)t->piece_length;
        t->piece_length = 0;
        break;
    default: count = 0;
    }
    if (count == PORTOLAN_WAIT) return 0;
    if (count == 0) {
        finish(t);
    } else if (count > 0) {
        handle_flow(t, t->client->did_load(t->client, bytes, (size_t)count));
    } else if (t->kind == NEST && (cause = t->nested->error(t->inner))) {
        fail(t, (portolan_code)cause->code, "the nested load failed in its body", cause);
    } else {
        t->stage = ENDED;
    }
    return 1;
}

static void pump(ticker *t) {
    int can_continue = 1;
    while (can_continue && !t->is_paused) {
        switch (t->stage) {
        case BEFORE_CHALLENGE: send_challenge(t); break;
        case BEFORE_RESPONSE: can_continue = begin_load(t); break;
        case AWAITING_DECISION: respond(t); break;
        case BODY: can_continue = deliver_piece(t); break;
        case AWAITING_ANSWER: case ENDED: return;
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
    handle_answer(load, answer);
    pump(load);
}
static void stop(void *load) {
    ticker *t = load;
    t->stage = ENDED;
    if (t->has_thread) shutdown(t->load_socket, SHUT_RDWR); /* the thread's send fails, and it ends */
}
static void destroy(void *load) {
    ticker *t = load;
    if (t->has_thread) {
        shutdown(t->load_socket, SHUT_RDWR);
        pthread_join(t->thread, NULL); /* nothing can call the client any more (LIFE-11) */
    }
    if (t->load_socket >= 0) close(t->load_socket), close(t->thread_socket);
    free(t->piece);
    free(t); /* the host closes open nested loads */
}

/* ---- the handler ---- */

/* Reads decimal digits. Returns -1 if the text is no number up to `maximum`. */
static int64_t read_number(portolan_string text, int64_t default_value, int64_t maximum) {
    int64_t value = 0;
    if (!text.bytes) return default_value;
    if (text.length == 0 || text.length > 9) return -1;
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9') return -1;
        value = value * 10 + (text.bytes[i] - '0');
    }
    return value <= maximum ? value : -1;
}

/* Returns NULL, or the problem with the URL. */
static const char *read_url(ticker *t, const portolan_request *request) {
    portolan_string host = request->host, url = { NULL, 0 };
    t->size = read_number(portolan_query_item(request->query, PORTOLAN_STRING("size")), CHUNK, MAXIMUM_SIZE);
    t->needs_password = read_number(portolan_query_item(request->query, PORTOLAN_STRING("ask")), 0, 1) == 1;
    if (t->size < 1) return "size is no number from 1 to 1048576";
    if (portolan_equal(host, PORTOLAN_STRING("echo"))) {
        t->kind = ECHO;
    } else if (portolan_equal(host, PORTOLAN_STRING("nest"))) {
        t->kind = NEST;
        url = portolan_query_item(request->query, PORTOLAN_STRING("url"));
    } else if (portolan_equal(host, PORTOLAN_STRING("redirect"))) {
        t->kind = REDIRECT;
        url = portolan_query_item(request->query, PORTOLAN_STRING("to"));
    } else if ((t->count = read_number(host, -1, 999999999)) < 0) {
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
    const char *problem = NULL;
    (void)cached;
    if (t) {
        t->client = client;
        t->request = request;
        t->nested = plugin;
        t->load_socket = t->thread_socket = -1;
        problem = read_url(t, request);
        t->stage = t->needs_password ? BEFORE_CHALLENGE : BEFORE_RESPONSE;
        if (!problem) t->piece = malloc((size_t)t->size);
        if (t->piece && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
            t->load_socket = pair[0];
            t->thread_socket = pair[1];
            return t;
        }
        free(t->piece);
        free(t);
    }
    if (problem) {
        error.code = PORTOLAN_ERROR_BAD_URL;
        error.message = (portolan_string){ problem, strlen(problem) };
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
