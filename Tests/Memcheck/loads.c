/* SPDX-License-Identifier: Apache-2.0 */
/* A host in C only, so that Valgrind can check plugins without Swift's runtime.
 *
 *   loads LIBRARY SCHEME HOST [QUERY]
 *
 * Loads that URL, and then again with each action of a client at each of its calls: returns STOPPED, returns PAUSE and
 * resumes, or stops the load between two calls. It answers challenges, has an upload body with no bytes at first, and
 * is also the server for `http`. It checks only the memory; the Swift tests check the loads. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <portolan/helpers.h>
#include <portolan/portolan.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 24, BODY = 3000 };
enum deed { NOTHING, SAY_STOPPED, SAY_PAUSE, STOP };

/* A load's client. The functions come first, so that a pointer to the client is a pointer to this. */
typedef struct loading {
    portolan_client client;
    const portolan_load_table *table;
    void *load;
    int is_driven, is_over, is_paused, asked, woken, has_waited;
    enum deed deed;
    int at, calls;
    int64_t given;
    portolan_answer answer;
    pthread_mutex_t mutex;
    pthread_cond_t condition;
} loading;

static loading *of(portolan_client *client) { return (loading *)client; }
static char sink;

/* So that Valgrind sees bytes that were never written. */
static void look(const void *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (((const char *)bytes)[i] == 'x') sink++;
}
static void look_at(portolan_string text) { look(text.bytes, text.bytes ? text.length : 0); }
static void look_at_fields(const portolan_field *fields, size_t count) {
    for (size_t i = 0; i < count; i++) look_at(fields[i].name), look_at(fields[i].value);
}
static void look_at_response(const portolan_response *response) {
    look_at(response->mime_type), look_at(response->text_encoding), look_at(response->suggested_name), look_at(response->url);
    look_at_fields(response->fields, response->field_count);
}

/* The result of a delivery. */
static portolan_flow flow(loading *l) {
    int is_it = l->calls++ == l->at;
    if (is_it && l->deed == SAY_STOPPED) l->is_over = 1;
    if (l->is_over) return PORTOLAN_STOPPED;
    if (is_it && l->deed == SAY_PAUSE && l->is_driven) return l->is_paused = 1, PORTOLAN_PAUSE;
    return PORTOLAN_CONTINUE;
}

static void interim(portolan_client *c, const portolan_response *response) { (void)c, look_at_response(response); }
static portolan_flow response(portolan_client *c, const portolan_response *response) {
    look_at_response(response);
    return flow(of(c));
}
static portolan_flow load(portolan_client *c, const void *bytes, size_t length) {
    look(bytes, length);
    return flow(of(c));
}
static void trailers(portolan_client *c, const portolan_field *fields, size_t count) { (void)c, look_at_fields(fields, count); }
static void finish(portolan_client *c) { of(c)->is_over = 1; }
static void fail(portolan_client *c, const portolan_error *error) {
    look_at(error->message), look_at(error->domain);
    of(c)->is_over = 1;
}
static portolan_flow redirected(portolan_client *c, const portolan_change *to, const portolan_response *response) {
    look_at(to->url), look_at(to->method), look_at_fields(to->fields, to->field_count);
    if (response) look_at_response(response);
    return flow(of(c));
}
static void confirmed(portolan_client *c, const portolan_response *newer) { (void)c, (void)newer; }
static int64_t read_cached(portolan_client *c, int64_t offset, void *buffer, size_t capacity) {
    return (void)c, (void)offset, (void)buffer, (void)capacity, 0;
}
static void wake(portolan_client *c) {
    loading *l = of(c);
    pthread_mutex_lock(&l->mutex);
    l->woken = 1;
    pthread_cond_signal(&l->condition);
    pthread_mutex_unlock(&l->mutex);
}
static portolan_flow challenge(portolan_client *c, const portolan_challenge *question, const portolan_answer **answer) {
    loading *l = of(c);
    look_at(question->protocol), look_at(question->host), look_at(question->realm), look_at(question->scheme);
    portolan_string ticker = PORTOLAN_TEXT("ticker"), tock = PORTOLAN_TEXT("tock"), guest = PORTOLAN_TEXT("guest");
    int is_first = question->failure_count == 0; /* the first answer is wrong */
    l->answer = (portolan_answer){ .size = sizeof l->answer, .disposition = PORTOLAN_USE,
                                   .user = is_first ? guest : ticker, .password = tock };
    portolan_flow result = flow(l);
    if (result == PORTOLAN_STOPPED) return result;
    if (l->is_driven) {
        l->is_paused = 0;
        l->asked = 1;
        return PORTOLAN_WAIT;
    }
    if (answer) *answer = &l->answer;
    return PORTOLAN_CONTINUE;
}
static void withdrawn(portolan_client *c) { (void)c; }
static int64_t read_body(portolan_client *c, void *buffer, size_t capacity) {
    loading *l = of(c);
    int64_t left = BODY - l->given, count = left < 700 ? left : 700;
    if (l->is_over) return PORTOLAN_STOPPED;
    if (l->is_driven && !l->has_waited) {
        l->has_waited = 1;
        wake(c);
        return PORTOLAN_WAIT;
    }
    if ((size_t)count > capacity) count = (int64_t)capacity;
    memset(buffer, 'b', (size_t)count);
    l->given += count;
    return count;
}
static void sent(portolan_client *c, int64_t total) { (void)c, (void)total; }
static void reach(portolan_client *c, portolan_step step) { (void)c, (void)step; }
static int32_t rewind_body(portolan_client *c) {
    of(c)->given = 0;
    return of(c)->is_over ? PORTOLAN_STOPPED : 1;
}
static int32_t is_stopped(portolan_client *c) { return of(c)->is_over; }

static const portolan_client functions = { sizeof functions, 0, interim, response, load, trailers, finish, fail, redirected, confirmed,
                                           read_cached, challenge, withdrawn, read_body, sent, reach, rewind_body, is_stopped, wake };

/* Waits until the load wakes the host. Fails after 5 seconds. */
static void wait_until_woken(loading *l) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    pthread_mutex_lock(&l->mutex);
    while (!l->woken && pthread_cond_timedwait(&l->condition, &l->mutex, &until) == 0) {}
    if (!l->woken) fprintf(stderr, "nobody woke the load\n"), exit(3);
    l->woken = 0;
    pthread_mutex_unlock(&l->mutex);
}

static void drive(loading *l) {
    int turns = 0;
    for (l->table->start(l->load); !l->is_over; turns++) {
        if (l->deed == STOP && turns == l->at) {
            l->is_over = 1;
            if (l->table->stop) l->table->stop(l->load);
        } else if (l->asked) {
            l->asked = 0;
            l->table->answered(l->load, &l->answer);
        } else if (l->is_paused) {
            l->is_paused = 0;
            l->table->resume(l->load);
        } else {
            wait_until_woken(l);
            l->table->woken(l->load);
        }
    }
}

static void give(portolan_refusal *refusal, const portolan_error *error) {
    (void)refusal;
    fprintf(stderr, "refused: %.*s\n", (int)error->message.length, error->message.bytes);
    exit(2);
}

/* Returns the number of deliveries. */
static int run(const portolan_handler *handler, void *plugin, const portolan_request *request, enum deed deed, int at) {
    loading l = { .client = functions, .table = handler->loads, .is_driven = handler->loads->start != NULL, .deed = deed, .at = at };
    portolan_refusal refusal = { .size = sizeof refusal, .give = give };
    pthread_mutex_init(&l.mutex, NULL);
    pthread_cond_init(&l.condition, NULL);
    l.load = handler->make(plugin, request, NULL, &l.client, &refusal);
    if (deed != STOP || at >= 0) l.is_driven ? drive(&l) : l.table->run(l.load); /* otherwise it was stopped first */
    l.table->destroy(l.load);
    pthread_cond_destroy(&l.condition);
    pthread_mutex_destroy(&l.mutex);
    return l.calls;
}

/* ---- the server, for http ---- */

static const char *const answers[] = {
    "HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 2\r\n\r\nno",
    "HTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
    "Content-Disposition: attachment; filename=x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbytes\r\n4;a=b\r\nmore\r\n0\r\nX-Sum: 1\r\n\r\n",
};
static void *serve(void *argument) {
    int listener = *(int *)argument, connection;
    char buffer[4096], heard[8192];
    while ((connection = accept(listener, NULL, NULL)) >= 0) {
        size_t length = 0;
        ssize_t count;
        for (int i = 0; (count = recv(connection, buffer, sizeof buffer, 0)) > 0;) {
            if (length + (size_t)count >= sizeof heard) break;
            memcpy(heard + length, buffer, (size_t)count);
            heard[length += (size_t)count] = '\0';
            if (length < 5 || strcmp(heard + length - 5, "0\r\n\r\n") != 0) continue;
            send(connection, answers[i], strlen(answers[i]), MSG_NOSIGNAL);
            i = 1;
            length = 0;
        }
        close(connection);
    }
    return NULL;
}
static int listen_at(int32_t *port) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 16) != 0) perror("listen"), exit(2);
    getsockname(listener, (struct sockaddr *)&address, &length);
    *port = ntohs(address.sin_port);
    return listener;
}

/* ---- the plugin ---- */

static const void *no_extension(portolan_host *host, const char *identifier) { return (void)host, (void)identifier, NULL; }
static void log_line(portolan_host *host, portolan_level level, portolan_string message) { (void)host, (void)level, look_at(message); }
static portolan_string string(const char *text) { return (portolan_string){ text, text ? strlen(text) : 0 }; }

int main(int count, char **arguments) {
    if (count < 4) return fprintf(stderr, "usage: loads LIBRARY SCHEME HOST [QUERY]\n"), 2;
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_NODELETE);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 2;
    const portolan_plugin *(*entry)(uint32_t) = NULL;
    *(void **)&entry = dlsym(library, "portolan_plugin_entry"); /* as in dlopen(3), because ISO C has no such conversion */
    const portolan_plugin *plugin = entry ? entry(PORTOLAN_ABI_MAJOR) : NULL;
    if (!plugin) return fprintf(stderr, "%s is no plugin\n", arguments[1]), 2;
    portolan_host host = { .size = sizeof host, .abi_minor = PORTOLAN_ABI_MINOR, .version = PORTOLAN_TEXT("0"),
                           .configuration = PORTOLAN_TEXT("{}"), .extension = no_extension, .log = log_line };
    portolan_refusal refusal = { .size = sizeof refusal, .give = give };
    portolan_request request = { .size = sizeof request, .url = string("memcheck:"), .scheme = string(arguments[2]),
                                 .host = string(arguments[3]), .path = string(""), .query = string(count > 4 ? arguments[4] : NULL),
                                 .port = -1, .method = string("PUT"), .body_length = -1 };
    pthread_t server;
    int listener = -1, loads = 0;
    if (strcmp(arguments[2], "http") == 0) {
        listener = listen_at(&request.port);
        if (pthread_create(&server, NULL, serve, &listener) != 0) return 2;
    }
    void *state = plugin->init ? plugin->init(&host, &refusal) : NULL;
    for (size_t i = 0; i < plugin->handler_count; i++) {
        const portolan_handler *handler = plugin->handlers[i];
        if (!portolan_equal(handler->schemes[0], request.scheme)) continue;
        int deliveries = run(handler, state, &request, NOTHING, 0);
        for (int at = 0; at < deliveries && at < CALLS; at++) {
            run(handler, state, &request, SAY_STOPPED, at);
            run(handler, state, &request, SAY_PAUSE, at);
            if (handler->loads->start) run(handler, state, &request, STOP, at);
            loads += 3;
        }
        run(handler, state, &request, STOP, -1);
        loads += 2;
    }
    if (plugin->deinit) plugin->deinit(state);
    if (listener >= 0) shutdown(listener, SHUT_RDWR), pthread_join(server, NULL), close(listener);
    printf("%s: %d loads\n", arguments[2], loads);
    return loads > 0 ? 0 : 2;
}
