/* SPDX-License-Identifier: Apache-2.0 */
/* A correct plugin that loads `http:` URLs over its own sockets, in both styles: `org.portolan.fixture.http` is
 * blocking, `org.portolan.fixture.http.events` event-driven. It supports, through the contract, what the built-in
 * handler supports: ranges, uploads, interim responses, Basic authentication, redirects, trailers. One connection per
 * load; hosts must be addresses.
 *
 * Both styles use one function, `pump`, over a socket that never blocks. To wait, a blocking load polls the socket and
 * an event, by which `stop` interrupts it; an event-driven load is woken by its thread. */
#define _GNU_SOURCE
#include "http-message.h"
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <portolan/portolan.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECE = 65536, ROOM = PIECE + 64, TEXT = 512 };
enum stage { CONNECT, CONNECTING, SEND, RECEIVE_HEAD, ASK, ASKED, REWIND, DISCARD, OFFER, DECIDING, RESPOND, BODY, TRAILERS, FINISH, OVER };

typedef struct http_load {
    const portolan_request *request;
    portolan_client *client;
    enum stage stage;
    int is_driven, is_paused;
    int socket, ended;     /* `ended` is readable after a stop */
    int poller, has_thread; /* event-driven: for the thread that waits */
    pthread_t thread;

    /* the request */
    char out[HEAD_LIMIT + ROOM];
    size_t out_start, out_end, out_body; /* bytes of the body among them */
    int64_t sent;
    int has_head, is_sent, was_read, awaits_continue, has_begun;
    char authorization[TEXT];
    int32_t failures;

    /* the response */
    char in[PIECE];
    size_t in_start, in_end;
    http_head head, trailers;
    http_body body;
    int is_last; /* no further request may use this connection */
} http_load;

/* ---- ends ---- */

static void fail(http_load *h, portolan_code code, const char *message, int number) {
    char text[TEXT];
    snprintf(text, sizeof text, "%s%s%s", message, number ? ": " : "", number ? strerror(number) : "");
    portolan_error error = { .size = sizeof error, .code = code, .message = { text, strlen(text) } };
    h->stage = OVER;
    h->client->did_fail(h->client, &error);
}

/* Handles each result of a client call. */
static void note(http_load *h, portolan_flow flow) {
    if (flow == PORTOLAN_STOPPED) h->stage = OVER;
    if (flow == PORTOLAN_PAUSE) h->is_paused = 1;
}

/* ---- waiting ---- */

static void *watch(void *load) {
    http_load *h = load;
    struct epoll_event event;
    for (;;) {
        int count = epoll_wait(h->poller, &event, 1, -1);
        if (count < 0 && errno != EINTR) return NULL;
        if (count > 0 && event.data.fd == h->ended) return NULL;
        if (count > 0) h->client->wake(h->client);
    }
}

/* Returns 1 to continue, 0 if the load will be woken or is over. */
static int wait_for(http_load *h, short events) {
    struct epoll_event event = { .events = (uint32_t)events | EPOLLONESHOT, .data.fd = h->socket };
    struct pollfd watched[] = { { .fd = h->socket, .events = events }, { .fd = h->ended, .events = POLLIN } };
    if (h->is_driven) {
        if (epoll_ctl(h->poller, EPOLL_CTL_MOD, h->socket, &event) != 0) fail(h, PORTOLAN_ERROR_IO_FAILED, "epoll_ctl failed", errno);
        return 0;
    }
    while (poll(watched, 2, -1) < 0 && errno == EINTR) {}
    if (watched[1].revents) h->stage = OVER;
    return !watched[1].revents;
}

/* Receives more of the response. Returns > 0 for bytes, 0 for not yet, -1 if the peer has ended it. */
static int receive(http_load *h) {
    ssize_t count;
    if (h->in_start < h->in_end) return 1;
    while ((count = recv(h->socket, h->in, sizeof h->in, MSG_DONTWAIT)) < 0 && errno == EINTR) {}
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
    if (count <= 0) return -1;
    h->in_start = 0;
    h->in_end = (size_t)count;
    return 1;
}

/* ---- connecting ---- */

static void leave_connection(http_load *h) {
    if (h->socket >= 0) close(h->socket);
    h->socket = -1;
    h->in_start = h->in_end = 0;
}

static int connect_to(http_load *h) {
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM }, *found = NULL;
    struct epoll_event event = { .events = 0 };
    char host[64] = "", port[8];
    size_t length = h->request->host.length;
    int is_bracketed = length > 2 && h->request->host.bytes[0] == '[';
    if (length < sizeof host) memcpy(host, h->request->host.bytes + is_bracketed, length - 2 * (size_t)is_bracketed);
    snprintf(port, sizeof port, "%d", h->request->port < 0 ? 80 : h->request->port);
    if (getaddrinfo(host, port, &hints, &found) != 0) {
        fail(h, PORTOLAN_ERROR_NAME_NOT_FOUND, "this fixture knows no names; give an address", 0);
        return 1;
    }
    h->socket = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    event.data.fd = h->socket;
    if (h->socket < 0 || (h->is_driven && epoll_ctl(h->poller, EPOLL_CTL_ADD, h->socket, &event) != 0)) {
        fail(h, PORTOLAN_ERROR_NO_RESOURCES, "no socket can be made", errno);
    } else if (connect(h->socket, found->ai_addr, found->ai_addrlen) == 0 || errno == EINPROGRESS) {
        h->stage = CONNECTING;
    } else {
        fail(h, PORTOLAN_ERROR_CANNOT_CONNECT, "no connection can be made", errno);
    }
    freeaddrinfo(found);
    return h->stage == CONNECTING ? wait_for(h, POLLOUT) : 1;
}

static int connected(http_load *h) {
    struct pollfd watched = { .fd = h->socket, .events = POLLOUT };
    int problem = 0;
    socklen_t length = sizeof problem;
    if (poll(&watched, 1, 0) == 0) return wait_for(h, POLLOUT);
    getsockopt(h->socket, SOL_SOCKET, SO_ERROR, &problem, &length);
    if (problem) {
        fail(h, PORTOLAN_ERROR_CANNOT_CONNECT, "no connection can be made", problem);
        return 1;
    }
    h->client->did_reach(h->client, PORTOLAN_CONNECTED);
    h->stage = SEND;
    return 1;
}

/* ---- sending ---- */

static int is_method(const http_load *h, const char *method) {
    return portolan_equal(h->request->method, (portolan_string){ method, strlen(method) });
}

static void write_head(http_load *h) {
    const portolan_request *request = h->request;
    size_t length = 0;
    append_string(h->out, HEAD_LIMIT, &length, request->method);
    append(h->out, HEAD_LIMIT, &length, " ");
    append_string(h->out, HEAD_LIMIT, &length, request->path.length > 0 ? request->path : PORTOLAN_STRING("/"));
    if (request->query.bytes) append(h->out, HEAD_LIMIT, &length, "?");
    append_string(h->out, HEAD_LIMIT, &length, request->query);
    append(h->out, HEAD_LIMIT, &length, " HTTP/1.1\r\nHost: ");
    append_string(h->out, HEAD_LIMIT, &length, request->host);
    if (request->port >= 0) append(h->out, HEAD_LIMIT, &length, ":%d", request->port);
    append(h->out, HEAD_LIMIT, &length, "\r\n");
    for (size_t i = 0; i < request->field_count; i++) {
        portolan_field field = request->fields[i];
        if (h->authorization[0] && value_is(field.name, "authorization")) continue;
        if (value_is(field.name, "expect")) h->awaits_continue = 1;
        if (value_is(field.name, "te")) append(h->out, HEAD_LIMIT, &length, "Connection: TE\r\n"); /* RFC 9110 section 10.1.4 */
        append_string(h->out, HEAD_LIMIT, &length, field.name);
        append(h->out, HEAD_LIMIT, &length, ": ");
        append_string(h->out, HEAD_LIMIT, &length, field.value);
        append(h->out, HEAD_LIMIT, &length, "\r\n");
    }
    if (h->authorization[0]) append(h->out, HEAD_LIMIT, &length, "Authorization: %s\r\n", h->authorization);
    if (request->body_length < 0) append(h->out, HEAD_LIMIT, &length, "Transfer-Encoding: chunked\r\n");
    else if (request->body_length > 0 || is_method(h, "POST") || is_method(h, "PUT"))
        append(h->out, HEAD_LIMIT, &length, "Content-Length: %" PRId64 "\r\n", request->body_length);
    append(h->out, HEAD_LIMIT, &length, "\r\n");
    h->has_head = 1;
    h->is_sent = request->body_length == 0;
    h->sent = 0;
    h->out_start = h->out_body = 0;
    h->out_end = length;
    if (length == HEAD_LIMIT) fail(h, PORTOLAN_ERROR_BAD_REQUEST, "the request's head is longer than 64 KiB", 0);
}

/* The next piece of the body, as a chunk if the length is unknown. Returns 0 if there is none yet. */
static int read_piece(http_load *h) {
    int is_chunked = h->request->body_length < 0;
    char size[16];
    enum { SIZE = 10 }; /* eight digits and a line end */
    int64_t count = h->client->read_body(h->client, h->out + SIZE, PIECE);
    if (count == PORTOLAN_WAIT) return 0;
    if (count == PORTOLAN_STOPPED) h->stage = OVER;
    h->was_read = 1;
    h->out_start = h->out_end = SIZE;
    if (count > 0) h->out_end += (size_t)count, h->out_body = (size_t)count;
    if (count > 0 && is_chunked) {
        snprintf(size, sizeof size, "%08x\r\n", (unsigned)count);
        memcpy(h->out, size, SIZE);
        memcpy(h->out + h->out_end, "\r\n", 2);
        h->out_start = 0;
        h->out_end += 2;
    }
    if (count == 0) {
        h->is_sent = 1;
        if (is_chunked) memcpy(h->out + SIZE, "0\r\n\r\n", 5), h->out_end += 5;
    }
    return 1;
}

/* An early response stops the body; a 100 does not. */
static int hear_or_wait(http_load *h, short events) {
    if (receive(h) != 0) {
        h->stage = RECEIVE_HEAD;
        return 1;
    }
    return wait_for(h, events);
}

static int send_more(http_load *h) {
    ssize_t count;
    if (!h->has_head) {
        head_begin(&h->head);
        write_head(h);
        return 1;
    }
    if (h->out_start < h->out_end) {
        while ((count = send(h->socket, h->out + h->out_start, h->out_end - h->out_start, MSG_NOSIGNAL)) < 0 && errno == EINTR) {}
        if (count < 0 && errno != EAGAIN) h->is_last = 1, h->stage = RECEIVE_HEAD; /* perhaps the peer has sent the reason */
        if (count < 0) return h->stage == RECEIVE_HEAD ? 1 : hear_or_wait(h, POLLIN | POLLOUT);
        h->out_start += (size_t)count;
        if (h->out_start == h->out_end && h->out_body > 0) {
            h->sent += (int64_t)h->out_body;
            h->out_body = 0;
            h->client->did_send(h->client, h->sent);
        }
        return 1;
    }
    if (h->awaits_continue) {
        h->stage = RECEIVE_HEAD;
        return 1;
    }
    if (!h->is_sent) return read_piece(h) || hear_or_wait(h, POLLIN);
    h->client->did_reach(h->client, PORTOLAN_REQUEST_SENT);
    h->stage = RECEIVE_HEAD;
    return 1;
}

/* Starts the request again, on this connection or a new one. */
static int send_again(http_load *h) {
    if (h->was_read) {
        int32_t result = h->client->rewind_body(h->client);
        if (result == PORTOLAN_WAIT) return 0;
        if (result == PORTOLAN_STOPPED) h->stage = OVER;
        if (result == 0) fail(h, PORTOLAN_ERROR_BODY_FAILED, "the body has to be sent again, and can be read only once", 0);
        if (result != 1) return 1;
    }
    if (h->is_last) leave_connection(h);
    h->has_head = h->has_begun = h->was_read = h->awaits_continue = h->is_last = 0;
    h->stage = h->socket < 0 ? CONNECT : SEND;
    return 1;
}

/* ---- the response ---- */

static portolan_response describe(const http_load *h) {
    portolan_string type = field_value(&h->head, "content-type"), disposition = field_value(&h->head, "content-disposition");
    const char *end = type.bytes ? memchr(type.bytes, ';', type.length) : NULL;
    portolan_string length = field_value(&h->head, "content-length"), control = field_value(&h->head, "cache-control");
    portolan_response response = { .size = sizeof response, .status = h->head.status, .fields = h->head.fields,
                                   .field_count = h->head.field_count, .expected_length = -1,
                                   .storage = value_is(control, "no-store") ? PORTOLAN_STORE_NOT : PORTOLAN_STORE };
    if (type.bytes) response.mime_type = trimmed(type.bytes, end ? end : type.bytes + type.length);
    response.text_encoding = parameter(type, "charset");
    response.suggested_name = parameter(disposition, "filename");
    if (h->body.framing == FRAMING_LENGTH) response.expected_length = h->body.left;
    if (h->body.framing == FRAMING_NONE) response.expected_length = is_method(h, "HEAD") ? content_length(length) : 0;
    return response;
}

static int leads_elsewhere(const http_load *h) {
    switch (h->head.status) {
    case 301: case 302: case 303: case 307: case 308: return field_value(&h->head, "location").bytes != NULL;
    default: return 0;
    }
}

/* 401 with a challenge that this fixture supports. */
static int asks(const http_load *h) {
    portolan_string challenge = field_value(&h->head, "www-authenticate");
    return h->head.status == 401 && challenge.length >= 6 && value_is((portolan_string){ challenge.bytes, 6 }, "basic ");
}

static void note_first_byte(http_load *h) {
    if (!h->has_begun) h->client->did_reach(h->client, PORTOLAN_FIRST_BYTE);
    h->has_begun = 1;
}

static void take_head(http_load *h) {
    if (!head_read(&h->head) || h->head.status == 101) {
        fail(h, PORTOLAN_ERROR_BAD_RESPONSE, "the answer is no HTTP/1.1, or changes the protocol", 0);
        return;
    }
    if (h->head.status < 200) {
        portolan_response interim = describe(h);
        interim.expected_length = -1;
        note_first_byte(h);
        h->client->did_receive_interim(h->client, &interim);
        if (h->head.status == 100) h->awaits_continue = 0;
        head_begin(&h->head);
        if (!h->is_sent && !h->awaits_continue) h->stage = SEND;
        return;
    }
    if (!body_begin(&h->body, &h->head, is_method(h, "HEAD"))) {
        fail(h, PORTOLAN_ERROR_BAD_RESPONSE, "the answer's Content-Length is no number", 0);
        return;
    }
    note_first_byte(h);
    if (!h->is_sent || h->head.minor == 0 || h->body.framing == FRAMING_CLOSE || value_is(field_value(&h->head, "connection"), "close"))
        h->is_last = 1;
    h->stage = asks(h) ? ASK : leads_elsewhere(h) ? OFFER : RESPOND;
}

static int receive_head(http_load *h) {
    size_t taken;
    int found = receive(h);
    if (found == 0) return wait_for(h, POLLIN);
    if (found < 0) {
        int is_cut = h->head.length > 0;
        fail(h, is_cut ? PORTOLAN_ERROR_TRUNCATED : PORTOLAN_ERROR_EMPTY_RESPONSE, "the connection ended before the answer", 0);
        return 1;
    }
    found = head_take(&h->head, h->in + h->in_start, h->in_end - h->in_start, &taken);
    h->in_start += taken;
    if (found < 0) fail(h, PORTOLAN_ERROR_LIMIT_EXCEEDED, "the answer's head is longer than 64 KiB", 0);
    if (found > 0) take_head(h);
    return 1;
}

/* ---- authentication ---- */

static void take_answer(http_load *h, const portolan_answer *answer) {
    char pair[TEXT / 2];
    size_t length = 0, count = 0;
    switch (answer->disposition) {
    case PORTOLAN_USE:
        append_string(pair, sizeof pair, &length, answer->user);
        append(pair, sizeof pair, &length, ":");
        append_string(pair, sizeof pair, &length, answer->password);
        append(h->authorization, TEXT, &count, "Basic ");
        append_base64(h->authorization, TEXT, &count, (const unsigned char *)pair, length);
        explicit_bzero(pair, sizeof pair);
        h->failures++;
        h->stage = DISCARD;
        if (length == sizeof pair) fail(h, PORTOLAN_ERROR_AUTHENTICATION_REQUIRED, "the credential is longer than a field may be", 0);
        break;
    case PORTOLAN_CANCEL: fail(h, PORTOLAN_ERROR_AUTHENTICATION_CANCELLED, "the question was cancelled", 0); break;
    case PORTOLAN_REJECT_SPACE: fail(h, PORTOLAN_ERROR_AUTHENTICATION_REQUIRED, "the one realm on offer was rejected", 0); break;
    default: h->stage = RESPOND;
    }
}

static void ask(http_load *h) {
    portolan_error wrong = { .size = sizeof wrong, .code = PORTOLAN_ERROR_AUTHENTICATION_REQUIRED,
                             .message = PORTOLAN_TEXT("the server did not accept the credential") };
    portolan_challenge challenge = { .size = sizeof challenge, .method = PORTOLAN_ASK_PASSWORD, .protocol = h->request->scheme,
                                     .host = h->request->host, .port = h->request->port < 0 ? 80 : h->request->port,
                                     .scheme = PORTOLAN_TEXT("basic"), .failure_count = h->failures,
                                     .previous = h->failures > 0 ? &wrong : NULL };
    challenge.realm = parameter(field_value(&h->head, "www-authenticate"), "realm");
    const portolan_answer *answer = NULL;
    h->stage = ASKED;
    portolan_flow flow = h->client->did_receive_challenge(h->client, &challenge, &answer);
    if (flow == PORTOLAN_CONTINUE && answer) take_answer(h, answer);
    else note(h, flow);
}

/* ---- redirects ---- */

/* Without a URL: the host uses the response's Location. */
static void offer(http_load *h) {
    portolan_response response = describe(h);
    portolan_change to = { .size = sizeof to };
    int32_t status = h->head.status;
    if ((status == 303 && !is_method(h, "GET") && !is_method(h, "HEAD")) || (status < 303 && is_method(h, "POST"))) {
        to.method = PORTOLAN_STRING("GET");
        to.drops_body = 1;
    }
    h->stage = DECIDING; /* STOPPED: taken; otherwise the response is delivered, immediately or after `resume` */
    note(h, h->client->was_redirected(h->client, &to, &response));
}

/* ---- the body ---- */

static int body_is_over(const http_body *body) {
    return body->framing == FRAMING_NONE || (body->framing == FRAMING_LENGTH && body->left == 0);
}

/* One piece of the body, delivered or discarded. */
static int take_body(http_load *h) {
    enum stage after = h->stage == DISCARD ? REWIND : FINISH;
    size_t taken = 0, count;
    int found;
    if (body_is_over(&h->body)) {
        h->stage = after;
        return 1;
    }
    if ((found = receive(h)) == 0) return wait_for(h, POLLIN);
    if (found < 0 && (h->body.framing == FRAMING_CLOSE || h->stage == DISCARD)) h->is_last = 1, h->stage = after;
    else if (found < 0) fail(h, PORTOLAN_ERROR_TRUNCATED, "the connection ended within the answer's body", 0);
    if (found < 0) return 1;
    if (h->body.framing == FRAMING_CHUNKED) {
        found = chunk_take(&h->body, h->in + h->in_start, h->in_end - h->in_start, &taken);
        h->in_start += taken;
        if (found < 0) fail(h, PORTOLAN_ERROR_BAD_RESPONSE, "a chunk of the answer is malformed", 0);
        if (found > 0 && h->body.place == CHUNK_TRAILERS) {
            head_begin_trailers(&h->trailers);
            h->body = (http_body){ .framing = FRAMING_NONE };
            if (h->stage == DISCARD) h->is_last = 1; /* ignores what follows */
            else h->stage = TRAILERS;
        }
        if (found <= 0 || h->stage == TRAILERS || h->body.framing == FRAMING_NONE) return 1;
    }
    count = h->in_end - h->in_start;
    if (h->body.framing != FRAMING_CLOSE && (int64_t)count > h->body.left) count = (size_t)h->body.left;
    if (h->body.framing != FRAMING_CLOSE) h->body.left -= (int64_t)count;
    h->in_start += count;
    if (count > 0 && h->stage == BODY) note(h, h->client->did_load(h->client, h->in + h->in_start - count, count));
    return 1;
}

static int take_trailers(http_load *h) {
    size_t taken;
    int found = receive(h);
    if (found == 0) return wait_for(h, POLLIN);
    if (found < 0) {
        fail(h, PORTOLAN_ERROR_TRUNCATED, "the connection ended within the answer's trailers", 0);
        return 1;
    }
    found = head_take(&h->trailers, h->in + h->in_start, h->in_end - h->in_start, &taken);
    h->in_start += taken;
    if (found == 0) return 1;
    if (found < 0 || !head_read_fields(&h->trailers, h->trailers.text + 2)) {
        fail(h, PORTOLAN_ERROR_BAD_RESPONSE, "the answer's trailers are malformed", 0);
        return 1;
    }
    if (h->trailers.field_count > 0) h->client->did_receive_trailers(h->client, h->trailers.fields, h->trailers.field_count);
    h->stage = FINISH;
    return 1;
}

/* ---- the load ---- */

static void respond(http_load *h) {
    portolan_response response = describe(h);
    h->stage = BODY;
    note(h, h->client->did_receive_response(h->client, &response));
}

static void finish(http_load *h) {
    h->stage = OVER;
    h->client->did_finish(h->client);
}

static void pump(http_load *h) {
    int goes_on = 1;
    while (goes_on && !h->is_paused) {
        switch (h->stage) {
        case CONNECT: goes_on = connect_to(h); break;
        case CONNECTING: goes_on = connected(h); break;
        case SEND: goes_on = send_more(h); break;
        case RECEIVE_HEAD: goes_on = receive_head(h); break;
        case ASK: ask(h); break;
        case REWIND: goes_on = send_again(h); break;
        case OFFER: offer(h); break;
        case DECIDING: case RESPOND: respond(h); break;
        case DISCARD: case BODY: goes_on = take_body(h); break;
        case TRAILERS: goes_on = take_trailers(h); break;
        case FINISH: finish(h); break;
        case ASKED: case OVER: return;
        }
    }
}

static void run(void *load) { pump(load); }
static void start(void *load) {
    http_load *h = load;
    h->has_thread = pthread_create(&h->thread, NULL, watch, h) == 0;
    if (h->has_thread) pump(h);
    else fail(h, PORTOLAN_ERROR_NO_RESOURCES, "no thread can be made", 0);
}
static void resume(void *load) {
    ((http_load *)load)->is_paused = 0;
    pump(load);
}
static void answered(void *load, const portolan_answer *answer) {
    take_answer(load, answer);
    pump(load);
}
static void interrupt(void *load) { eventfd_write(((http_load *)load)->ended, 1); }
static void stop(void *load) { ((http_load *)load)->stage = OVER; }

static void destroy(void *load) {
    http_load *h = load;
    eventfd_write(h->ended, 1);
    if (h->has_thread) pthread_join(h->thread, NULL); /* nothing can call the client any more (LIFE-11) */
    leave_connection(h);
    close(h->ended);
    if (h->poller >= 0) close(h->poller);
    explicit_bzero(h->authorization, sizeof h->authorization); /* CHAL-09 */
    explicit_bzero(h->out, sizeof h->out);
    free(h);
}

/* ---- the handlers ---- */

static void *make(const portolan_request *request, portolan_client *client, portolan_refusal *refusal, int is_driven) {
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_NO_RESOURCES,
                             .message = PORTOLAN_TEXT("no memory or descriptor is free") };
    http_load *h = calloc(1, sizeof *h);
    struct epoll_event event = { .events = EPOLLIN };
    if (h) {
        h->request = request;
        h->client = client;
        h->is_driven = is_driven;
        h->socket = -1;
        h->ended = event.data.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        h->poller = is_driven ? epoll_create1(EPOLL_CLOEXEC) : -1;
        if (h->ended >= 0 && (!is_driven || (h->poller >= 0 && epoll_ctl(h->poller, EPOLL_CTL_ADD, h->ended, &event) == 0))) return h;
        if (h->ended >= 0) close(h->ended);
        if (h->poller >= 0) close(h->poller);
        free(h);
    }
    refusal->give(refusal, &error);
    return NULL;
}
static void *make_blocking(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                           portolan_refusal *refusal) {
    (void)plugin, (void)cached;
    return make(request, client, refusal, 0);
}
static void *make_driven(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                         portolan_refusal *refusal) {
    (void)plugin, (void)cached;
    return make(request, client, refusal, 1);
}

/* A redirect without a URL needs a host of version 1.1. */
static void *init(portolan_host *host, portolan_refusal *refusal) {
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_NOT_OFFERED,
                             .message = PORTOLAN_TEXT("this plugin needs version 1.1 of the contract; use a newer host") };
    if (host->abi_minor < 1) refusal->give(refusal, &error);
    return NULL;
}

static const portolan_string schemes[] = { PORTOLAN_TEXT("http") };
static const portolan_load_table blocking_loads = { .size = sizeof blocking_loads, .run = run, .stop = interrupt, .destroy = destroy };
static const portolan_load_table driven_loads = { .size = sizeof driven_loads, .start = start, .resume = resume, .woken = run,
                                                  .answered = answered, .stop = stop, .destroy = destroy };
static const portolan_handler blocking = { .size = sizeof blocking, .identifier = PORTOLAN_TEXT("org.portolan.fixture.http"),
                                           .schemes = schemes, .scheme_count = 1, .make = make_blocking, .loads = &blocking_loads };
static const portolan_handler driven = { .size = sizeof driven, .identifier = PORTOLAN_TEXT("org.portolan.fixture.http.events"),
                                         .schemes = schemes, .scheme_count = 1, .make = make_driven, .loads = &driven_loads };
static const portolan_handler *const handlers[] = { &driven, &blocking };
static const portolan_plugin descriptor = {
    .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR, .identifier = PORTOLAN_TEXT("org.portolan.fixture.http"),
    .name = PORTOLAN_TEXT("HTTP"), .vendor = PORTOLAN_TEXT("The Portolan authors"), .version = PORTOLAN_TEXT("1.0.0"),
    .handlers = handlers, .handler_count = 2, .init = init };
const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) { return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL; }
