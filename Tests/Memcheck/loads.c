/* SPDX-License-Identifier: Apache-2.0 */
/* A host in C only, so that Valgrind can check plugins without Swift's runtime.
 *
 *   loads LIBRARY SCHEME HOST [QUERY]
 *
 * Loads that URL. Then loads it again for each call of the client and each action at that call: the client returns
 * STOPPED, it returns PAUSE and the host resumes, or the host stops the load. The host answers challenges. Its upload
 * body has no bytes at first. For `http` this program is also the server. It only lets Valgrind check the memory; the
 * Swift tests check the events. */
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

enum { CALL_LIMIT = 24, BODY_LENGTH = 3000 };
enum action { NOTHING, RETURN_STOPPED, RETURN_PAUSE, STOP };

/* The host's side of a load. The client comes first, so that a pointer to it is also a pointer to this struct. */
typedef struct host_load {
    portolan_client client;
    const portolan_load_table *table;
    void *load;
    int is_driven, is_over, is_paused, has_challenge, woken, has_waited;
    enum action action;
    int action_call, calls; /* the number of the call at which `action` happens; the number of calls so far */
    int64_t body_position;
    portolan_answer answer;
    pthread_mutex_t mutex;
    pthread_cond_t condition;
} host_load;

static host_load *of(portolan_client *client) { return (host_load *)client; }
static char sink;

/* Branches on each byte, so that Valgrind reports bytes that were never written. */
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
static portolan_flow flow(host_load *l) {
    int is_action_call = l->calls++ == l->action_call;
    if (is_action_call &&  l->action == RETURN_STOPPED) l->is_over = 1;
    if (l->is_over) return PORTOLAN_STOPPED;
    if (is_action_call && l->action == RETURN_PAUSE && l->is_driven) return l->is_paused = 1, PORTOLAN_PAUSE;
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
    host_load *l = of(c);
    pthread_mutex_lock(&l->mutex);
    l->woken = 1;
    pthread_cond_signal(&l->condition);
    pthread_mutex_unlock(&l->mutex);
}
static portolan_flow challenge(portolan_client *c, const portolan_challenge *challenge_in, const portolan_answer **answer) {
    host_load *l = of(c);
    look_at(challenge_in->protocol), look_at(challenge_in->host), look_at(challenge_in->realm), look_at(challenge_in->scheme);
    portolan_string ticker = PORTOLAN_TEXT("ticker"), tock = PORTOLAN_TEXT("tock"), guest = PORTOLAN_TEXT("guest");
    int is_first = challenge_in->failure_count == 0; /* the first answer has a wrong user name */
    l->answer = (portolan_answer){ .size = sizeof l->answer, .disposition = PORTOLAN_USE,
                                   .user = is_first ? guest : ticker, .password = tock };
    portolan_flow result = flow(l);
    if (result == PORTOLAN_STOPPED) return result;
    if (l->is_driven) {
        l->is_paused = 0;
        l->has_challenge = 1;
        return PORTOLAN_WAIT;
    }
    if (answer) *answer = &l->answer;
    return PORTOLAN_CONTINUE;
}
static void withdrawn(portolan_client *c) { (void)c; }
static int64_t read_body(portolan_client *c, void *buffer, size_t capacity) {
    host_load *l = of(c);
    int64_t remaining = BODY_LENGTH - l->body_position, count = remaining < 700 ? remaining : 700;
    if (l->is_over) return PORTOLAN_STOPPED;
    if (l->is_driven && !l->has_waited) {
        l->has_waited = 1;
        wake(c);
        return PORTOLAN_WAIT;
    }
    if ((size_t)count > capacity) count = (int64_t)capacity;
    memset(buffer, 'b', (size_t)count);
    l->body_position += count;
    return count;
}
static void sent(portolan_client *c, int64_t total) { (void)c, (void)total; }
static void reach(portolan_client *c, portolan_step step) { (void)c, (void)step; }
static int32_t rewind_body(portolan_client *c) {
    of(c)->body_position = 0;
    return of(c)->is_over ? PORTOLAN_STOPPED : 1;
}
static int32_t is_stopped(portolan_client *c) { return of(c)->is_over; }

static const portolan_client functions = { sizeof functions, 0, interim, response, load, trailers, finish, fail, redirected, confirmed,
                                           read_cached, challenge, withdrawn, read_body, sent, reach, rewind_body, is_stopped, wake };

/* Waits until the load wakes the host. Fails after 5 seconds. */
static void wait_until_woken(host_load *l) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    pthread_mutex_lock(&l->mutex);
    while (!l->woken && pthread_cond_timedwait(&l->condition, &l->mutex, &until) == 0) {}
    if (!l->woken) fprintf(stderr, "the load did not wake the host\n"), exit(3);
    l->woken = 0;
    pthread_mutex_unlock(&l->mutex);
}

static void drive(host_load *l) {
    int steps = 0;
    for (l->table->start(l->load); !l->is_over; steps++) {
        if (l->action == STOP && steps == l->action_call) {
            l->is_over = 1;
            if (l->table->stop) l->table->stop(l->load);
        } else if (l->has_challenge) {
            l->has_challenge = 0;
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

static void give_refusal(portolan_refusal *refusal, const portolan_error *error) {
    (void)refusal;
    fprintf(stderr, "refused: %.*s\n", (int)error->message.length, error->message.bytes);
    exit(2);
}

/* Returns the number of deliveries. */
static int run(const portolan_handler *handler, void *plugin, const portolan_request *request, enum action action, int action_call) {
    host_load l = { .client = functions, .table = handler->loads, .is_driven = handler->loads->start != NULL, .action = action, .action_call = action_call };
    portolan_refusal refusal = { .size = sizeof refusal, .give = give_refusal };
    pthread_mutex_init(&l.mutex, NULL);
    pthread_cond_init(&l.condition, NULL);
    l.load = handler->make(plugin, request, NULL, &l.client, &refusal);
    if (action != STOP || action_call >= 0) l.is_driven ? drive(&l) : l.table->run(l.load); /* otherwise stopped before its start */
    l.table->destroy(l.load);
    pthread_cond_destroy(&l.condition);
    pthread_mutex_destroy(&l.mutex);
    return l.calls;
}

/* ---- the server, for http ---- */

static const char *const http_responses[] = {
    "HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 2\r\n\r\nno",
    "HTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
    "Content-Disposition: attachment; filename=x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbytes\r\n4;a=b\r\nmore\r\n0\r\nX-Sum: 1\r\n\r\n",
};
static void *serve(void *argument) {
    int listener = *(int *)argument, connection;
    char buffer[4096], received[8192];
    while ((connection = accept(listener, NULL, NULL)) >= 0) {
        size_t length = 0;
        ssize_t count;
        for (int i = 0; (count = recv(connection, buffer, sizeof buffer, 0)) > 0;) {
            if (length + (size_t)count >= sizeof received) break;
            memcpy(received + length, buffer, (size_t)count);
            received[length += (size_t)count] = '\0';
            if (length < 5 || strcmp(received + length - 5, "0\r\n\r\n") != 0) continue;
            send(connection, http_responses[i], strlen(http_responses[i]), MSG_NOSIGNAL);
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
    portolan_refusal refusal = { .size = sizeof refusal, .give = give_refusal };
    portolan_request request = { .size = sizeof request, .url = string("memcheck:"), .scheme = string(arguments[2]),
                                 .host = string(arguments[3]), .path = string(""), .query = string(count > 4 ? arguments[4] : NULL),
                                 .port = -1, .method = string("PUT"), .body_length = -1 };
    pthread_t server;
    int listener = -1, load_count = 0;
    if (strcmp(arguments[2], "http") == 0) {
        listener = listen_at(&request.port);
        if (pthread_create(&server, NULL, serve, &listener) != 0) return 2;
    }
    void *state = plugin->init ? plugin->init(&host, &refusal) : NULL;
    for (size_t i = 0; i < plugin->handler_count; i++) {
        const portolan_handler *handler = plugin->handlers[i];
        if (!portolan_equal(handler->schemes[0], request.scheme)) continue;
        int deliveries = run(handler, state, &request, NOTHING, 0);
        for (int action_call = 0; action_call < deliveries && action_call < CALL_LIMIT; action_call++) {
            run(handler, state, &request, RETURN_STOPPED, action_call);
            run(handler, state, &request, RETURN_PAUSE, action_call);
            if (handler->loads->start) run(handler, state, &request, STOP, action_call);
            load_count += 3;
        }
        run(handler, state, &request, STOP, -1);
        load_count += 2;
    }
    if (plugin->deinit) plugin->deinit(state);
    if (listener >= 0) shutdown(listener, SHUT_RDWR), pthread_join(server, NULL), close(listener);
    printf("%s: %d loads\n", arguments[2], load_count);
    return load_count > 0 ? 0 : 2;
}
