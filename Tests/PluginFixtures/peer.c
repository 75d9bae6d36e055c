/* SPDX-License-Identifier: Apache-2.0 */
/* Two network protocols in one blocking plugin, for tests with servers (`needs` in a manifest):
 *
 *   finger://HOST:PORT/USER       sends USER, and delivers what the server sends (RFC 1288)
 *   memcached://HOST:PORT/KEY     gets the value of KEY; fails with notFound if there is none
 *
 * Each load has one connection, and `stop` shuts it down. */
#include <netdb.h>
#include <portolan/helpers.h>
#include <portolan/portolan.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINE = 512 };

typedef struct peer {
    portolan_client *client;
    const portolan_request *request;
    pthread_mutex_t lock; /* guards the two members after it */
    int fd, is_stopped;
    char host[256], word[LINE];
    size_t filled, used; /* of `bytes` */
    char bytes[4096];
} peer;

static void fail(peer *p, portolan_code code, const char *message) {
    portolan_error error = { .size = sizeof error, .code = code, .message = { message, strlen(message) } };
    p->client->did_fail(p->client, &error);
}

/* Returns 0 if the load is stopped. */
static int keep(peer *p, int fd) {
    pthread_mutex_lock(&p->lock);
    int is_stopped = p->is_stopped;
    if (!is_stopped) p->fd = fd;
    pthread_mutex_unlock(&p->lock);
    return !is_stopped;
}

/* Returns 0 after it has reported why there is no connection. */
static int open_connection(peer *p) {
    char port[8];
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM }, *all = NULL;
    snprintf(port, sizeof port, "%d", p->request->port);
    if (getaddrinfo(p->host, port, &hints, &all) != 0) {
        fail(p, PORTOLAN_ERROR_NAME_NOT_FOUND, "the host name does not resolve");
        return 0;
    }
    int fd = -1;
    for (struct addrinfo *address = all; address && fd < 0; address = address->ai_next) {
        fd = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, 0);
        if (fd < 0) continue;
        if (!keep(p, fd)) {
            close(fd);
            fd = -1;
            break;
        }
        if (connect(fd, address->ai_addr, address->ai_addrlen) == 0) break;
        keep(p, -1);
        close(fd);
        fd = -1;
    }
    freeaddrinfo(all);
    if (fd < 0) fail(p, PORTOLAN_ERROR_CANNOT_CONNECT, "no connection could be made; check that the server runs");
    return fd >= 0;
}

static int send_all(peer *p, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t count = send(p->fd, bytes, length, MSG_NOSIGNAL);
        if (count < 0) return 0;
        bytes += count;
        length -= (size_t)count;
    }
    return 1;
}

/* Makes bytes available. Returns their number, 0 at the end, or -1. */
static ssize_t fill(peer *p) {
    if (p->used < p->filled) return (ssize_t)(p->filled - p->used);
    ssize_t count = recv(p->fd, p->bytes, sizeof p->bytes, 0);
    p->used = 0;
    p->filled = count > 0 ? (size_t)count : 0;
    return count;
}

/* Reads a line without its CRLF. Returns 0 if the connection ends before, or if the line is too long. */
static int read_line(peer *p, char *line, size_t capacity) {
    size_t length = 0;
    while (fill(p) > 0) {
        char byte = p->bytes[p->used++];
        if (byte == '\n') {
            line[length > 0 && line[length - 1] == '\r' ? length - 1 : length] = 0;
            return 1;
        }
        if (length + 1 >= capacity) return 0;
        line[length++] = byte;
    }
    return 0;
}

static portolan_flow respond(peer *p, const char *type, int64_t length) {
    portolan_response response = { .size = sizeof response, .mime_type = { type, strlen(type) }, .expected_length = length, .has_length = 1 };
    return p->client->did_receive_response(p->client, &response);
}

static void run_finger(peer *p) {
    char line[LINE + 2];
    int length = snprintf(line, sizeof line, "%s\r\n", p->word);
    if (!send_all(p, line, (size_t)length)) {
        fail(p, PORTOLAN_ERROR_CONNECTION_LOST, "the server closed the connection");
        return;
    }
    ssize_t count = fill(p);
    if (count < 0) {
        fail(p, PORTOLAN_ERROR_CONNECTION_LOST, "the server reset the connection");
        return;
    }
    if (respond(p, "text/plain", -1) == PORTOLAN_STOPPED) return;
    for (; count > 0; count = fill(p)) {
        p->used = p->filled;
        if (p->client->did_load(p->client, p->bytes, (size_t)count) == PORTOLAN_STOPPED) return;
    }
    if (count < 0) {
        fail(p, PORTOLAN_ERROR_CONNECTION_LOST, "the server reset the connection");
        return;
    }
    p->client->did_finish(p->client);
}

static void run_memcached(peer *p) {
    char line[LINE + 8], key[LINE];
    long long length = -1;
    int size = snprintf(line, sizeof line, "get %s\r\n", p->word);
    if (!send_all(p, line, (size_t)size) || !read_line(p, line, sizeof line)) {
        fail(p, PORTOLAN_ERROR_CONNECTION_LOST, "the server closed the connection");
        return;
    }
    if (strcmp(line, "END") == 0) {
        fail(p, PORTOLAN_ERROR_NOT_FOUND, "the server has no value for this key");
        return;
    }
    if (sscanf(line, "VALUE %511s %*u %lld", key, &length) != 2 || length < 0) {
        fail(p, PORTOLAN_ERROR_BAD_RESPONSE, "the server sent no value");
        return;
    }
    if (respond(p, "application/octet-stream", length) == PORTOLAN_STOPPED) return;
    while (length > 0) {
        ssize_t count = fill(p);
        if (count <= 0) {
            fail(p, PORTOLAN_ERROR_TRUNCATED, "the value ends too early");
            return;
        }
        if (count > length) count = (ssize_t)length;
        const char *start = p->bytes + p->used;
        p->used += (size_t)count;
        length -= count;
        if (p->client->did_load(p->client, start, (size_t)count) == PORTOLAN_STOPPED) return;
    }
    p->client->did_finish(p->client);
}

static void run(void *state) {
    peer *p = state;
    if (!open_connection(p)) return;
    if (portolan_equal(p->request->scheme, PORTOLAN_STRING("finger"))) run_finger(p);
    else run_memcached(p);
}

static void stop(void *state) {
    peer *p = state;
    pthread_mutex_lock(&p->lock);
    p->is_stopped = 1;
    if (p->fd >= 0) shutdown(p->fd, SHUT_RDWR);
    pthread_mutex_unlock(&p->lock);
}

static void destroy(void *state) {
    peer *p = state;
    if (p->fd >= 0) close(p->fd);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    (void)plugin;
    (void)cached;
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_BAD_URL };
    peer *p = calloc(1, sizeof *p);
    if (!p) {
        error.code = PORTOLAN_ERROR_NO_MEMORY;
        error.message = PORTOLAN_STRING("no memory for the load");
        refusal->give(refusal, &error);
        return NULL;
    }
    p->client = client;
    p->request = request;
    p->fd = -1;
    pthread_mutex_init(&p->lock, NULL);
    portolan_string path = request->path;
    if (path.length > 0) path = (portolan_string){ path.bytes + 1, path.length - 1 };
    int64_t host = portolan_decode(request->host, p->host, sizeof p->host), word = portolan_decode(path, p->word, sizeof p->word);
    int is_key = portolan_equal(request->scheme, PORTOLAN_STRING("memcached"));
    if (host <= 0 || (size_t)host >= sizeof p->host || request->port <= 0) error.message = PORTOLAN_STRING("write scheme://host:port/name");
    else if (word < 0 || (size_t)word >= sizeof p->word) error.message = PORTOLAN_STRING("the name has malformed percent-encoding, a line break, or over 511 bytes");
    else if (is_key && (word == 0 || word > 250 || strpbrk(p->word, " \t\v\f"))) error.message = PORTOLAN_STRING("a key has 1 to 250 bytes, and no blanks");
    if (!error.message.bytes) return p;
    destroy(p);
    refusal->give(refusal, &error);
    return NULL;
}

static const portolan_load_table loads = { .size = sizeof loads, .run = run, .stop = stop, .destroy = destroy };
static const portolan_string schemes[] = { PORTOLAN_TEXT("finger"), PORTOLAN_TEXT("memcached") };
static const portolan_handler handler = { .size = sizeof handler, .identifier = PORTOLAN_TEXT("org.portolan.test.peer"), .schemes = schemes,
                                          .scheme_count = 2, .make = make, .loads = &loads };
static const portolan_handler *const handlers[] = { &handler };
static const portolan_plugin descriptor = { .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR,
                                            .identifier = PORTOLAN_TEXT("org.portolan.test.peer"), .name = PORTOLAN_TEXT("Peer"),
                                            .vendor = PORTOLAN_TEXT("The Portolan authors"), .version = PORTOLAN_TEXT("1.0.0"),
                                            .handlers = handlers, .handler_count = 1 };
const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) { return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL; }
