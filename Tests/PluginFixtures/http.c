/* SPDX-License-Identifier: Apache-2.0 */
/* A correct plugin that loads `http:` URLs over its own sockets, in both styles: `org.portolan.fixture.http` is
 * blocking, `org.portolan.fixture.http.events` event-driven. It supports, through the contract, what the built-in
 * handler supports: ranges, uploads, interim responses, Basic authentication, redirects, trailers. One connection per
 * load; hosts must be addresses.
 *
 * Both styles use the function `pump` and a non-blocking socket. A blocking load waits with poll(2) for the socket and
 * for an event by which `stop` interrupts the wait. A thread wakes an event-driven load. */
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

enum { PIECE_LENGTH = 65536, PIECE_ROOM = PIECE_LENGTH + 64, TEXT_LENGTH = 512 };
enum stage { CONNECT, CONNECTING, SEND, RECEIVE_HEAD, CHALLENGE, AWAITING_ANSWER, REWIND, DISCARD, REDIRECT, AWAITING_DECISION, RESPOND, BODY, TRAILERS, FINISH, ENDED };

typedef struct http_load {
    const portolan_request *request;
    portolan_client *client;
    enum stage stage;
    int is_driven, is_paused;
    int socket, stop_event;     /* `stop_event` is readable after a stop */
    int epoll, has_thread; /* of an event-driven load: its thread waits for the descriptor `epoll` */
    pthread_t thread;

    /* the request */
    char out[HEAD_LIMIT + PIECE_ROOM];
    size_t out_start, out_end, out_body; /* `out_body` is the number of body bytes in `out` */
    int64_t sent;
    int has_head, has_sent_request, has_read_body, awaits_continue, has_first_byte;
    char authorization[TEXT_LENGTH];
    int32_t failures;

    /* the response */
    char in[PIECE_LENGTH];
    size_t in_start, in_end;
    http_head head, trailers;
    http_body body;
    int must_close; /* no further request may use this connection */
} http_load;

/* ---- ends ---- */

static void fail(http_load *h, portolan_code code, const char *message, int number) {
    char text[TEXT_LENGTH];
    snprintf(text, sizeof text, "%s%s%s", message, number ? ": " : "", number ? strerror(number) : "");
    portolan_error error = { .size = sizeof error, .code = code, .message = { text, strlen(text) } };
    h->stage = ENDED;
    h->client->did_fail(h->client, &error);
}

/* Handles each result of a client call. */
static void handle_flow(http_load *h, portolan_flow flow) {
    if (flow == PORTOLAN_STOPPED) h->stage = ENDED;
    if (flow == PORTOLAN_PAUSE) h->is_paused = 1;
}

/* ---- waiting ---- */

static void *wait_on_thread(void *load) {
    http_load *h = load;
    struct epoll_event event;
    for (;;) {
        int count = epoll_wait(h->epoll, &event, 1, -1);
        if (count < 0 && errno != EINTR) return NULL;
        if (count > 0 && event.data.fd == h->stop_event) return NULL;
        if (count > 0) h->client->wake(h->client);
    }
}

/* Returns 1 to continue, 0 if the load will be woken or is over. */
static int wait_for(http_load *h, short events) {
    struct epoll_event event = { .events = (uint32_t)events | EPOLLONESHOT, .data.fd = h->socket };
    struct pollfd poll_descriptors[] = { { .fd = h->socket, .events = events }, { .fd = h->stop_event, .events = POLLIN } };
    if (h->is_driven) {
        if (epoll_ctl(h->epoll, EPOLL_CTL_MOD, h->socket, &event) != 0) fail(h, PORTOLAN_ERROR_IO_FAILED, "epoll_ctl failed", errno);
        return 0;
    }
    while (poll(poll_descriptors, 2, -1) < 0 && errno == EINTR) {}
    if (poll_descriptors[1].revents) h->stage = ENDED;
    return !poll_descriptors[1].revents;
}

/* Receives more of the response. Returns 1 if bytes are available, 0 if not yet, -1 if the peer has ended sending. */
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
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM }, *addresses = NULL;
    struct epoll_event event = { .events = 0 };
    char host[64] = "", port[8];
    size_t length = h->request->host.length;
    int is_bracketed = length > 2 && h->request->host.bytes[0] == '[';
    if (length < sizeof host) memcpy(host, h->request->host.bytes + is_bracketed, length - 2 * (size_t)is_bracketed);
    snprintf(port, sizeof port, "%d", h->request->port < 0 ? 80 : h->request->port);
    if (getaddrinfo(host, port, &hints, &addresses) != 0) {
        fail(h, PORTOLAN_ERROR_NAME_NOT_FOUND, "this fixture resolves no host names; use an address", 0);
        return 1;
    }
    h->socket = socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    event.data.fd = h->socket;
    if (h->socket < 0 || (h->is_driven && epoll_ctl(h->epoll, EPOLL_CTL_ADD, h->socket, &event) != 0)) {
        fail(h, PORTOLAN_ERROR_NO_RESOURCES, "no socket can be made", errno);
    } else if (connect(h->socket, addresses->ai_addr, addresses->ai_addrlen) == 0 || errno == EINPROGRESS) {
        h->stage = CONNECTING;
    } else {
        fail(h, PORTOLAN_ERROR_CANNOT_CONNECT, "no connection can be made", errno);
    }
    freeaddrinfo(addresses);
    return h->stage == CONNECTING ? wait_for(h, POLLOUT) : 1;
}

static int connected(http_load *h) {
    struct pollfd poll_descriptors = { .fd = h->socket, .events = POLLOUT };
    int socket_error = 0;
    socklen_t length = sizeof socket_error;
    if (poll(&poll_descriptors, 1, 0) == 0) return wait_for(h, POLLOUT);
    getsockopt(h->socket, SOL_SOCKET, SO_ERROR, &socket_error, &length);
    if (socket_error) {
        fail(h, PORTOLAN_ERROR_CANNOT_CONNECT, "no connection can be made", socket_error);
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
    h->has_sent_request = request->body_length == 0;
    h->sent = 0;
    h->out_start = h->out_body = 0;
    h->out_end = length;
    if (length == HEAD_LIMIT) fail(h, PORTOLAN_ERROR_BAD_REQUEST, "the request's head is longer than 64 KiB", 0);
}

/* Reads the next piece of the upload body, as a chunk if the length is unknown. Returns 0 if no piece is available yet. */
static int read_body_piece(http_load *h) {
    int is_chunked = h->request->body_length < 0;
    char size[16];
    enum { SIZE = 10 }; /* eight digits and a line end */
    int64_t count = h->client->read_body(h->client, h->out + SIZE, PIECE_LENGTH);
    if (count == PORTOLAN_WAIT) return 0;
    if (count == PORTOLAN_STOPPED) h->stage = ENDED;
    h->has_read_body = 1;
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
        h->has_sent_request = 1;
        if (is_chunked) memcpy(h->out + SIZE, "0\r\n\r\n", 5), h->out_end += 5;
    }
    return 1;
}

/* Called while the body is sent. Reads the head of an early response, or waits. */
static int receive_or_wait(http_load *h, short events) {
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
        if (count < 0 && errno != EAGAIN) h->must_close = 1, h->stage = RECEIVE_HEAD; /* perhaps the peer has sent the reason */
        if (count < 0) return h->stage == RECEIVE_HEAD ? 1 : receive_or_wait(h, POLLIN | POLLOUT);
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
    if (!h->has_sent_request) return read_body_piece(h) || receive_or_wait(h, POLLIN);
    h->client->did_reach(h->client, PORTOLAN_REQUEST_SENT);
    h->stage = RECEIVE_HEAD;
    return 1;
}

/* Starts the request again, on this connection or a new one. */
static int restart_request(http_load *h) {
    if (h->has_read_body) {
        int32_t result = h->client->rewind_body(h->client);
        if (result == PORTOLAN_WAIT) return 0;
        if (result == PORTOLAN_STOPPED) h->stage = ENDED;
        if (result == 0) fail(h, PORTOLAN_ERROR_BODY_FAILED, "the body must be sent again, but can be read only once", 0);
        if (result != 1) return 1;
    }
    if (h->must_close) leave_connection(h);
    h->has_head = h->has_first_byte = h->has_read_body = h->awaits_continue = h->must_close = 0;
    h->stage = h->socket < 0 ? CONNECT : SEND;
    return 1;
}

/* ---- the response ---- */

static portolan_response make_response(const http_load *h) {
    portolan_string type = field_value(&h->head, "content-type"), disposition = field_value(&h->head, "content-disposition");
    const char *end = type.bytes ? memchr(type.bytes, ';', type.length) : NULL;
    portolan_string length = field_value(&h->head, "content-length"), control = field_value(&h->head, "cache-control");
    portolan_response response = { .size = sizeof response, .status = h->head.status, .fields = h->head.fields,
                                   .field_count = h->head.field_count, .expected_length = -1, .has_length = 1,
                                   .storage = value_is(control, "no-store") ? PORTOLAN_STORE_NOT : PORTOLAN_STORE };
    if (type.bytes) response.mime_type = trim(type.bytes, end ? end : type.bytes + type.length);
    response.text_encoding = parameter(type, "charset");
    response.suggested_name = parameter(disposition, "filename");
    if (h->body.framing == FRAMING_LENGTH) response.expected_length = h->body.remaining;
    if (h->body.framing == FRAMING_NONE) response.expected_length = is_method(h, "HEAD") ? content_length(length) : 0;
    return response;
}

static int is_redirect(const http_load *h) {
    switch (h->head.status) {
    case 301: case 302: case 303: case 307: case 308: return field_value(&h->head, "location").bytes != NULL;
    default: return 0;
    }
}

/* Whether the response is a 401 with a challenge that this fixture supports. */
static int has_supported_challenge(const http_load *h) {
    portolan_string challenge = field_value(&h->head, "www-authenticate");
    return h->head.status == 401 && challenge.length >= 6 && value_is((portolan_string){ challenge.bytes, 6 }, "basic ");
}

static void report_first_byte(http_load *h) {
    if (!h->has_first_byte) h->client->did_reach(h->client, PORTOLAN_FIRST_BYTE);
    h->has_first_byte = 1;
}

static void handle_head(http_load *h) {
    if (!head_read(&h->head) || h->head.status == 101) {
        fail(h, PORTOLAN_ERROR_BAD_RESPONSE, "the response is not HTTP/1.1, or changes the protocol", 0);
        return;
    }
    if (h->head.status < 200) {
        portolan_response interim = make_response(h);
        interim.expected_length = -1;
        report_first_byte(h);
        h->client->did_receive_interim(h->client, &interim);
        if (h->head.status == 100) h->awaits_continue = 0;
        head_begin(&h->head);
        if (!h->has_sent_request && !h->awaits_continue) h->stage = SEND;
        return;
    }
    if (!body_begin(&h->body, &h->head, is_method(h, "HEAD"))) {
        fail(h, PORTOLAN_ERROR_BAD_RESPONSE, "the Content-Length of the response is not a number", 0);
        return;
    }
    report_first_byte(h);
    if (!h->has_sent_request || h->head.minor == 0 || h->body.framing == FRAMING_CLOSE || value_is(field_value(&h->head, "connection"), "close"))
        h->must_close = 1;
    h->stage = has_supported_challenge(h) ? CHALLENGE : is_redirect(h) ? REDIRECT : RESPOND;
}

static int receive_head(http_load *h) {
    size_t consumed;
    int result = receive(h);
    if (result == 0) return wait_for(h, POLLIN);
    if (result < 0) {
        int is_cut = h->head.length > 0;
        fail(h, is_cut ? PORTOLAN_ERROR_TRUNCATED : PORTOLAN_ERROR_EMPTY_RESPONSE, "the connection ended before the response", 0);
        return 1;
    }
    result = head_append(&h->head, h->in + h->in_start, h->in_end - h->in_start, &consumed);
    h->in_start += consumed;
    if (result < 0) fail(h, PORTOLAN_ERROR_LIMIT_EXCEEDED, "the head of the response is longer than 64 KiB", 0);
    if (result > 0) handle_head(h);
    return 1;
}

/* ---- authentication ---- */

static void handle_answer(http_load *h, const portolan_answer *answer) {
    char pair[TEXT_LENGTH / 2];
    size_t length = 0, count = 0;
    switch (answer->disposition) {
    case PORTOLAN_USE:
        append_string(pair, sizeof pair, &length, answer->user);
        append(pair, sizeof pair, &length, ":");
        append_string(pair, sizeof pair, &length, answer->password);
        append(h->authorization, TEXT_LENGTH, &count, "Basic ");
        append_base64(h->authorization, TEXT_LENGTH, &count, (const unsigned char *)pair, length);
        explicit_bzero(pair, sizeof pair);
        h->failures++;
        h->stage = DISCARD;
        if (length == sizeof pair) fail(h, PORTOLAN_ERROR_AUTHENTICATION_REQUIRED, "the credential is longer than a field may be", 0);
        break;
    case PORTOLAN_CANCEL: fail(h, PORTOLAN_ERROR_AUTHENTICATION_CANCELLED, "the challenge was cancelled", 0); break;
    case PORTOLAN_REJECT_SPACE: fail(h, PORTOLAN_ERROR_AUTHENTICATION_REQUIRED, "the only realm of the server was rejected", 0); break;
    default: h->stage = RESPOND;
    }
}

static void send_challenge(http_load *h) {
    portolan_error wrong = { .size = sizeof wrong, .code = PORTOLAN_ERROR_AUTHENTICATION_REQUIRED,
                             .message = PORTOLAN_TEXT("the server did not accept the credential") };
    portolan_challenge challenge = { .size = sizeof challenge, .method = PORTOLAN_ASK_PASSWORD, .protocol = h->request->scheme,
                                     .host = h->request->host, .port = h->request->port < 0 ? 80 : h->request->port,
                                     .scheme = PORTOLAN_TEXT("basic"), .failure_count = h->failures,
                                     .previous = h->failures > 0 ? &wrong : NULL };
    challenge.realm = parameter(field_value(&h->head, "www-authenticate"), "realm");
    const portolan_answer *answer = NULL;
    h->stage = AWAITING_ANSWER;
    portolan_flow flow = h->client->did_receive_challenge(h->client, &challenge, &answer);
    if (flow == PORTOLAN_CONTINUE && answer) handle_answer(h, answer);
    else handle_flow(h, flow);
}

/* ---- redirects ---- */

/* Sends the redirect without a URL. The host then uses the Location field of the response. */
static void send_redirect(http_load *h) {
    portolan_response response = make_response(h);
    portolan_change to = { .size = sizeof to };
    int32_t status = h->head.status;
    if ((status == 303 && !is_method(h, "GET") && !is_method(h, "HEAD")) || (status < 303 && is_method(h, "POST"))) {
        to.method = PORTOLAN_STRING("GET");
        to.drops_body = 1;
    }
    h->stage = AWAITING_DECISION; /* STOPPED if it is followed; otherwise the response is delivered, immediately or after `resume` */
    handle_flow(h, h->client->was_redirected(h->client, &to, &response));
}

/* ---- the body ---- */

static int body_is_over(const http_body *body) {
    return body->framing == FRAMING_NONE || (body->framing == FRAMING_LENGTH && body->remaining == 0);
}

/* Delivers or discards one piece of the response body. */
static int receive_body(http_load *h) {
    enum stage after = h->stage == DISCARD ? REWIND : FINISH;
    size_t consumed = 0, count;
    int result;
    if (body_is_over(&h->body)) {
        h->stage = after;
        return 1;
    }
    if ((result = receive(h)) == 0) return wait_for(h, POLLIN);
    if (result < 0 && (h->body.framing == FRAMING_CLOSE || h->stage == DISCARD)) h->must_close = 1, h->stage = after;
    else if (result < 0) fail(h, PORTOLAN_ERROR_TRUNCATED, "the connection ended within the response body", 0);
    if (result < 0) return 1;
    if (h->body.framing == FRAMING_CHUNKED) {
        result = chunk_skip_framing(&h->body, h->in + h->in_start, h->in_end - h->in_start, &consumed);
        h->in_start += consumed;
        if (result < 0) fail(h, PORTOLAN_ERROR_BAD_RESPONSE, "a chunk of the response is malformed", 0);
        if (result > 0 && h->body.place == CHUNK_TRAILERS) {
            head_begin_trailers(&h->trailers);
            h->body = (http_body){ .framing = FRAMING_NONE };
            if (h->stage == DISCARD) h->must_close = 1; /* ignores what follows */
            else h->stage = TRAILERS;
        }
        if (result <= 0 || h->stage == TRAILERS || h->body.framing == FRAMING_NONE) return 1;
    }
    count = h->in_end - h->in_start;
    if (h->body.framing != FRAMING_CLOSE && (int64_t)count > h->body.remaining) count = (size_t)h->body.remaining;
    if (h->body.framing != FRAMING_CLOSE) h->body.remaining -= (int64_t)count;
    h->in_start += count;
    if (count > 0 && h->stage == BODY) handle_flow(h, h->client->did_load(h->client, h->in + h->in_start - count, count));
    return 1;
}

static int receive_trailers(http_load *h) {
    size_t consumed;
    int result = receive(h);
    if (result == 0) return wait_for(h, POLLIN);
    if (result < 0) {
        fail(h, PORTOLAN_ERROR_TRUNCATED, "the connection ended within the trailers", 0);
        return 1;
    }
    result = head_append(&h->trailers, h->in + h->in_start, h->in_end - h->in_start, &consumed);
    h->in_start += consumed;
    if (result == 0) return 1;
    if (result < 0 || !head_read_fields(&h->trailers, h->trailers.text + 2)) {
        fail(h, PORTOLAN_ERROR_BAD_RESPONSE, "the trailers of the response are malformed", 0);
        return 1;
    }
    if (h->trailers.field_count > 0) h->client->did_receive_trailers(h->client, h->trailers.fields, h->trailers.field_count);
    h->stage = FINISH;
    return 1;
}

/* ---- the load ---- */

static void respond(http_load *h) {
    portolan_response response = make_response(h);
    h->stage = BODY;
    handle_flow(h, h->client->did_receive_response(h->client, &response));
}

static void finish(http_load *h) {
    h->stage = ENDED;
    h->client->did_finish(h->client);
}

static void pump(http_load *h) {
    int can_continue = 1;
    while (can_continue && !h->is_paused) {
        switch (h->stage) {
        case CONNECT: can_continue = connect_to(h); break;
        case CONNECTING: can_continue = connected(h); break;
        case SEND: can_continue = send_more(h); break;
        case RECEIVE_HEAD: can_continue = receive_head(h); break;
        case CHALLENGE: send_challenge(h); break;
        case REWIND: can_continue = restart_request(h); break;
        case REDIRECT: send_redirect(h); break;
        case AWAITING_DECISION: case RESPOND: respond(h); break;
        case DISCARD: case BODY: can_continue = receive_body(h); break;
        case TRAILERS: can_continue = receive_trailers(h); break;
        case FINISH: finish(h); break;
        case AWAITING_ANSWER: case ENDED: return;
        }
    }
}

static void run(void *load) { pump(load); }
static void start(void *load) {
    http_load *h = load;
    h->has_thread = pthread_create(&h->thread, NULL, wait_on_thread, h) == 0;
    if (h->has_thread) pump(h);
    else fail(h, PORTOLAN_ERROR_NO_RESOURCES, "no thread can be made", 0);
}
static void resume(void *load) {
    ((http_load *)load)->is_paused = 0;
    pump(load);
}
static void answered(void *load, const portolan_answer *answer) {
    handle_answer(load, answer);
    pump(load);
}
static void interrupt(void *load) { eventfd_write(((http_load *)load)->stop_event, 1); }
static void stop(void *load) { ((http_load *)load)->stage = ENDED; }

static void destroy(void *load) {
    http_load *h = load;
    eventfd_write(h->stop_event, 1);
    if (h->has_thread) pthread_join(h->thread, NULL); /* nothing can call the client any more (LIFE-11) */
    leave_connection(h);
    close(h->stop_event);
    if (h->epoll >= 0) close(h->epoll);
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
        h->stop_event = event.data.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        h->epoll = is_driven ? epoll_create1(EPOLL_CLOEXEC) : -1;
        if (h->stop_event >= 0 && (!is_driven || (h->epoll >= 0 && epoll_ctl(h->epoll, EPOLL_CTL_ADD, h->stop_event, &event) == 0))) return h;
        if (h->stop_event >= 0) close(h->stop_event);
        if (h->epoll >= 0) close(h->epoll);
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
