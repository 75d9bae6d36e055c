/* SPDX-License-Identifier: Apache-2.0 */
/* A correct event-driven plugin of a network protocol, without a thread: portolan.watch/1 watches its socket and its
 * timers.
 *
 *   line://ADDRESS:PORT/WORD         connects (IPv4), sends WORD and a newline, and delivers each received line up to a line "."
 *   line://fd:NUMBER/WORD            the same over a duplicate of the process's descriptor NUMBER, a connected socket
 *   line:…?idle=MS                   fails if no line arrives for MS milliseconds
 *   line://ticks:COUNT/?every=MS     without a socket: delivers the line "tick" COUNT times, every MS milliseconds
 *
 * As in every event-driven load, one function, `pump`, runs the load until it has to wait, and then returns. start,
 * resume and woken call it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <portolan/helpers.h>
#include <portolan/portolan.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINE = 1024 };
enum { IDLE, TICK }; /* timers */
enum stage { BEGIN, CONNECTING, SENDING, READING, TICKING, ENDED };

typedef struct line {
    portolan_client *client;
    const portolan_watch_table *watch;
    enum stage stage;
    int is_paused, has_response;
    int fd;
    struct sockaddr_in address;
    int64_t idle_ms, interval_ms, ticks; /* `ticks` is the number of remaining lines */
    size_t word_length, sent, received; /* bytes: of `word`, sent of it, in `bytes` */
    char word[LINE], bytes[LINE];
} line;

static void fail(line *l, portolan_code code, const char *message) {
    portolan_error error = { .size = sizeof error, .code = code, .message = { message, strlen(message) } };
    l->stage = ENDED;
    l->client->did_fail(l->client, &error);
}

static void handle_flow(line *l, portolan_flow flow) {
    if (flow == PORTOLAN_STOPPED) l->stage = ENDED;
    if (flow == PORTOLAN_PAUSE) l->is_paused = 1;
}

/* Returns immediately. The host calls `woken` when the socket is ready. */
static int wait_for(line *l, int32_t readiness) {
    int32_t result = l->watch->watch(l->client, l->fd, readiness);
    if (result > 0) fail(l, PORTOLAN_ERROR_NO_RESOURCES, "the socket can't be watched");
    if (result < 0) l->stage = ENDED;
    return 0;
}

static int begin(line *l) {
    if (l->interval_ms >= 0) {
        l->stage = TICKING;
        l->watch->set_timer(l->client, TICK, l->interval_ms);
        return 1;
    }
    if (l->idle_ms >= 0) l->watch->set_timer(l->client, IDLE, l->idle_ms);
    l->stage = SENDING;
    if (l->fd >= 0) return 1;
    l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0) {
        fail(l, PORTOLAN_ERROR_NO_RESOURCES, "no socket is free");
    } else if (connect(l->fd, (const struct sockaddr *)&l->address, sizeof l->address) < 0) {
        l->stage = CONNECTING;
        if (errno == EINPROGRESS) return wait_for(l, PORTOLAN_WRITABLE);
        fail(l, PORTOLAN_ERROR_CANNOT_CONNECT, "nobody listens there");
    }
    return 1;
}

static int finish_connect(line *l) {
    int error = 0;
    socklen_t length = sizeof error;
    if (!l->watch->ready(l->client, l->fd)) return 0; /* the host woke the load for another reason */
    if (getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0 || error) fail(l, PORTOLAN_ERROR_CANNOT_CONNECT, "nobody listens there");
    else l->stage = SENDING;
    return 1;
}

static int send_word(line *l) {
    while (l->sent < l->word_length) {
        ssize_t count = send(l->fd, l->word + l->sent, l->word_length - l->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count >= 0) l->sent += (size_t)count;
        else if (errno == EAGAIN) return wait_for(l, PORTOLAN_WRITABLE);
        else if (errno != EINTR) return fail(l, PORTOLAN_ERROR_CONNECTION_LOST, "the peer hung up"), 1;
    }
    l->client->did_reach(l->client, PORTOLAN_REQUEST_SENT);
    l->stage = READING;
    return 1;
}

/* Delivers the line that ends at `end`, and keeps the bytes after it. */
static void deliver(line *l, size_t end) {
    if (end == 2 && l->bytes[0] == '.') {
        l->stage = ENDED;
        l->client->did_finish(l->client);
        return;
    }
    handle_flow(l, l->client->did_load(l->client, l->bytes, end));
    memmove(l->bytes, l->bytes + end, l->received - end);
    l->received -= end;
}

static int read_lines(line *l) {
    const char *newline;
    if (!l->has_response) {
        portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("text/plain"), .expected_length = -1 };
        l->has_response = 1;
        handle_flow(l, l->client->did_receive_response(l->client, &response));
        return 1;
    }
    newline = memchr(l->bytes, '\n', l->received);
    if (newline) {
        deliver(l, (size_t)(newline - l->bytes) + 1);
        return 1;
    }
    if (l->received == sizeof l->bytes) return fail(l, PORTOLAN_ERROR_BAD_RESPONSE, "a line is longer than 1024 bytes"), 1;
    ssize_t count = recv(l->fd, l->bytes + l->received, sizeof l->bytes - l->received, MSG_DONTWAIT);
    if (count > 0) {
        l->received += (size_t)count;
        if (l->idle_ms >= 0) l->watch->set_timer(l->client, IDLE, l->idle_ms);
    } else if (count == 0) {
        fail(l, PORTOLAN_ERROR_TRUNCATED, "the peer hung up before the full stop");
    } else if (errno == EAGAIN) {
        return wait_for(l, PORTOLAN_READABLE);
    } else if (errno != EINTR) {
        fail(l, PORTOLAN_ERROR_CONNECTION_LOST, "the connection was lost");
    }
    return 1;
}

static int tick(line *l) {
    if (!l->has_response) {
        portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("text/plain"), .expected_length = 5 * l->ticks, .has_length = 1 };
        l->has_response = 1;
        handle_flow(l, l->client->did_receive_response(l->client, &response));
        return 1;
    }
    if (l->ticks == 0) {
        l->stage = ENDED;
        l->client->did_finish(l->client);
        return 1;
    }
    if (!l->watch->fired(l->client, TICK)) return 0;
    if (--l->ticks > 0) l->watch->set_timer(l->client, TICK, l->interval_ms);
    handle_flow(l, l->client->did_load(l->client, "tick\n", 5));
    return 1;
}

static void pump(line *l) {
    int can_continue = 1;
    if (l->stage != ENDED && !l->is_paused && l->watch->fired(l->client, IDLE)) fail(l, PORTOLAN_ERROR_TIMED_OUT, "no line came for too long");
    while (can_continue && !l->is_paused) {
        switch (l->stage) {
        case BEGIN: can_continue = begin(l); break;
        case CONNECTING: can_continue = finish_connect(l); break;
        case SENDING: can_continue = send_word(l); break;
        case READING: can_continue = read_lines(l); break;
        case TICKING: can_continue = tick(l); break;
        case ENDED: return;
        }
    }
}

static void start(void *load) { pump(load); }
static void woken(void *load) { pump(load); }
static void resume(void *load) {
    line *l = load;
    l->is_paused = 0;
    if (l->idle_ms >= 0) l->watch->set_timer(l->client, IDLE, l->idle_ms); /* a slow reader does not make the peer idle */
    pump(l);
}
static void stop(void *load) { ((line *)load)->stage = ENDED; }
static void destroy(void *load) {
    line *l = load;
    if (l->fd >= 0) close(l->fd); /* the host no longer watches it */
    free(l);
}

/* ---- the handler ---- */

/* Reads decimal digits. Returns -2 if the text is no number. */
static int64_t read_number(portolan_string text, int64_t default_value) {
    int64_t value = 0;
    if (!text.bytes) return default_value;
    if (text.length == 0 || text.length > 9) return -2;
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9') return -2;
        value = value * 10 + (text.bytes[i] - '0');
    }
    return value;
}

/* Returns NULL, or the problem with the URL. */
static const char *read_url(line *l, const portolan_request *request) {
    char host[64] = { 0 };
    if (request->host.length >= sizeof host || request->port < 0) return "write line://ADDRESS:PORT/WORD";
    if (request->host.length) memcpy(host, request->host.bytes, request->host.length);
    l->idle_ms = read_number(portolan_query_item(request->query, PORTOLAN_STRING("idle")), -1);
    l->interval_ms = -1;
    if (l->idle_ms == -2) return "idle is no number of milliseconds";
    if (request->path.length < 1 || request->path.length >= LINE) return "the word is missing or too long";
    l->word_length = request->path.length; /* without its slash, with a newline */
    memcpy(l->word, request->path.bytes + 1, l->word_length - 1);
    l->word[l->word_length - 1] = '\n';
    if (strcmp(host, "ticks") == 0) {
        l->ticks = request->port;
        l->interval_ms = read_number(portolan_query_item(request->query, PORTOLAN_STRING("every")), 1);
        return l->interval_ms < 0 ? "every is no number of milliseconds" : NULL;
    }
    if (strcmp(host, "fd") == 0) {
        l->fd = fcntl(request->port, F_DUPFD_CLOEXEC, 0);
        return l->fd < 0 ? "no descriptor of that number is open, or none is free" : NULL;
    }
    l->address.sin_family = AF_INET;
    l->address.sin_port = htons((uint16_t)request->port);
    return inet_pton(AF_INET, host, &l->address.sin_addr) == 1 ? NULL : "the host is no IPv4 address";
}

static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    line *l = calloc(1, sizeof *l);
    const char *problem = "no memory is free";
    (void)cached;
    if (l) {
        l->client = client;
        l->watch = plugin;
        l->fd = -1;
        problem = read_url(l, request);
        if (!problem) return l;
        free(l);
    }
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_BAD_URL, .message = { problem, strlen(problem) } };
    refusal->give(refusal, &error);
    return NULL;
}

/* The plugin's state is the host's table for watches. Without this table the plugin refuses to start. */
static void *init(portolan_host *host, portolan_refusal *refusal) {
    const void *watch = host->extension(host, PORTOLAN_WATCH);
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_NOT_OFFERED,
                             .message = PORTOLAN_TEXT("this host offers no portolan.watch/1; use a newer one") };
    if (!watch) refusal->give(refusal, &error);
    return (void *)watch;
}

static const portolan_string schemes[] = { PORTOLAN_TEXT("line") };
static const portolan_load_table loads = { .size = sizeof loads, .start = start, .resume = resume, .woken = woken, .stop = stop,
                                           .destroy = destroy };
static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.portolan.line"), .schemes = schemes,
                                          .scheme_count = 1, .make = make, .loads = &loads };
static const portolan_handler *const handlers[] = { &handler };
static const portolan_plugin descriptor = {
    .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR,
    .identifier = PORTOLAN_TEXT("org.portolan.line"), .name = PORTOLAN_TEXT("Line"), .vendor = PORTOLAN_TEXT("The Portolan authors"),
    .version = PORTOLAN_TEXT("1.0.0"), .handlers = handlers, .handler_count = 1, .init = init };
const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) { return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL; }
