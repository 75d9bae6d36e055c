/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that keeps every rule, in both styles, and its mutants: compiled with -DORDER_01 it breaks ORDER-01, and as little else as can be.
 * A rule that is broken in several ways has a letter behind its number. mutant.plugin.json names the URLs.
 *
 *   subject://text/NAME   greets NAME                  subject://empty      no bytes
 *   subject://bytes       4096 bytes of every value    subject://redirect   to subject://text/there
 *   subject://echo        gives the upload body back   subject://hang       a response, then a wait in poll(2)
 *   subject://missing     fails                        subject://cut        fails after half of its body
 *   subject-events://text/NAME, subject-events://missing, event-driven */
#define _GNU_SOURCE
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <portolan/helpers.h>
#include <portolan/portolan.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))
#ifndef IDENTIFIER
#define IDENTIFIER "org.portolan.subject"
#endif
#define SCHEME "subject"

enum { BYTES = 4096 };

typedef struct subject_plugin {
    portolan_host *host;
    char greeting[256];
} subject_plugin;

typedef struct subject_load {
    const portolan_request *request;
    portolan_client *client;
    subject_plugin *plugin;
    int pipe[2]; /* hang: what stop writes to */
    int descriptor;
    atomic_int is_started;
    pthread_t thread;
    int has_thread;
    void *shared;
    int has_finished, is_paused, stage;
    char text[512];
} subject_load;

static UNUSED void pause_for(int milliseconds) { usleep((useconds_t)milliseconds * 1000); }

static int is_host(const subject_load *load, const char *host) {
    return portolan_equal(load->request->host, (portolan_string){ host, strlen(host) });
}

/* ---- the load ---- */

#ifdef REG_04
static char shared_greeting[256];
#endif

static size_t compose(subject_load *load) {
    portolan_string name = load->request->path;
    if (name.length > 0) name = (portolan_string){ name.bytes + 1, name.length - 1 };
#ifdef REG_04
    const char *greeting = shared_greeting;
#else
    const char *greeting = load->plugin->greeting;
#endif
    int length = snprintf(load->text, sizeof load->text, "%s %.*s\n", greeting, (int)(name.length > 128 ? 128 : name.length), name.bytes);
    return (size_t)length;
}

static void fail(subject_load *load, portolan_code code, const char *message) {
    portolan_error error = { .size = sizeof error, .code = code, .message = { message, strlen(message) } };
#ifdef ERR_01
    error.code = PORTOLAN_ERROR_IO_FAILED;
#endif
#ifdef ERR_02
    error.message = (portolan_string)PORTOLAN_TEXT("one line\nand another");
#endif
#ifdef ERR_02b
    error.message = (portolan_string){ "", 0 };
#endif
#ifdef ERR_03
    error.code = -99;
#endif
#ifdef ERR_05
    error.message = load->request->url;
#endif
#ifdef DESC_05c
    error.size = 8;
#endif
#ifdef ORDER_11
    // Not the constant itself, which compilers refuse.
    const portolan_error *volatile none = NULL;
    load->client->did_fail(load->client, none);
    return;
#endif
    load->client->did_fail(load->client, &error);
}

static portolan_response response_of(int64_t length) {
    portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("text/plain"), .text_encoding = PORTOLAN_TEXT("utf-8"),
                                   .expected_length = length };
#ifdef BODY_09
    response.mime_type = (portolan_string)PORTOLAN_TEXT("text/plain;charset=utf-8");
#endif
#ifdef BODY_09b
    response.text_encoding = (portolan_string)PORTOLAN_TEXT("utf 8");
#endif
#ifdef BODY_11
    response.url = (portolan_string)PORTOLAN_TEXT("relative/path");
#endif
#ifdef BODY_02
    if (length > 0) response.expected_length = length + 1;
#endif
#ifdef ORDER_13b
    response.status = 150;
#endif
#ifdef CACHE_01
    response.storage = 7;
#endif
#ifdef SEC_08
    static const portolan_field wrong = { PORTOLAN_TEXT("two words"), PORTOLAN_TEXT("value") };
    response.fields = &wrong;
    response.field_count = 1;
#endif
#ifdef SEC_08b
    static const portolan_field wrong = { PORTOLAN_TEXT("X-Name"), PORTOLAN_TEXT("value\r\nX-Other: value") };
    response.fields = &wrong;
    response.field_count = 1;
#endif
#ifdef DESC_05f
    static const portolan_field wrong = { PORTOLAN_TEXT("X-Name"), { "value", (size_t)-1 } };
    response.fields = &wrong;
    response.field_count = 1;
#endif
#ifdef LIFE_10
    static atomic_int count;
    if (atomic_fetch_add(&count, 1) % 2) response.suggested_name = (portolan_string)PORTOLAN_TEXT("another");
#endif
    return response;
}

static portolan_flow respond(subject_load *load, int64_t length) {
    portolan_client *client = load->client;
    portolan_response response = response_of(length);
#ifdef ORDER_10
    client->cached_response_is_valid(client, NULL);
#endif
#ifdef DESC_05d
    response.fields = (const portolan_field *)(uintptr_t)8;
    response.field_count = 3;
#endif
    portolan_flow flow = client->did_receive_response(client, &response);
#ifdef ORDER_08
    flow = client->did_receive_response(client, &response);
#endif
#ifdef ORDER_13
    response.status = 103;
    client->did_receive_interim(client, &response);
#endif
#ifdef ORDER_07
    if (flow == PORTOLAN_STOPPED)
        for (;;) pause();
#endif
    return flow;
}

#ifdef BODY_03
static char lent[512];
static void *scribble(void *length) {
    pause_for(1);
    lent[(size_t)(uintptr_t)length - 1] ^= 1;
    return NULL;
}
#endif

static UNUSED portolan_flow deliver_bytes(subject_load *load, const char *text, size_t length) {
    portolan_client *client = load->client;
#ifdef BODY_03
    pthread_t thread;
    memcpy(lent, text, length);
    pthread_create(&thread, NULL, scribble, (void *)(uintptr_t)length);
    portolan_flow flow = client->did_load(client, lent, length);
    pthread_join(thread, NULL);
    return flow;
#elif defined(BODY_04)
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + 4096, 4096, PROT_NONE);
    memcpy(pages + 4096 - length, text, length);
    portolan_flow flow = client->did_load(client, pages + 4096 - length, length + 1);
    munmap(pages, 8192);
    return flow;
#elif defined(LIFE_09)
    static size_t place;
    place = 0;
    portolan_flow flow = PORTOLAN_CONTINUE;
    while (place < length && flow != PORTOLAN_STOPPED) {
        size_t start = place;
        flow = client->did_load(client, text + start, 1);
        place++;
    }
    return flow;
#else
    portolan_flow flow = client->did_load(client, text, length / 2);
    if (flow == PORTOLAN_STOPPED) return flow;
    return client->did_load(client, text + length / 2, length - length / 2);
#endif
}

static void finish(subject_load *load) {
    load->client->did_finish(load->client);
#ifdef ORDER_02
    load->client->did_finish(load->client);
#endif
#ifdef ORDER_02c
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_UNKNOWN, .message = PORTOLAN_TEXT("it failed after its end") };
    load->client->did_fail(load->client, &error);
#endif
#ifdef ORDER_03
    load->client->did_reach(load->client, PORTOLAN_FIRST_BYTE);
#endif
}

#ifdef ORDER_05
static void *reach(void *load) {
    portolan_client *client = ((subject_load *)load)->client;
    for (int i = 0; i < 4; i++) client->did_reach(client, PORTOLAN_CONNECTED);
    return NULL;
}
#endif

#ifdef THREAD_01
static void *reach_outside(void *load) {
    portolan_client *client = ((subject_load *)load)->client;
    client->did_reach(client, PORTOLAN_CONNECTED);
    return NULL;
}
#endif

static void serve_text(subject_load *load) {
    size_t length = compose(load);
#ifdef ERR_06
    puts("subject: serving");
    fflush(stdout);
#endif
#ifdef ERR_06b
    fprintf(stderr, "subject: serving\n");
#endif
#ifdef THREAD_01
    pthread_t outside;
    pthread_create(&outside, NULL, reach_outside, load);
    pthread_join(outside, NULL);
#endif
#ifdef ORDER_05
    pthread_t thread;
    pthread_create(&thread, NULL, reach, load);
    for (int i = 0; i < 4; i++) load->client->did_reach(load->client, PORTOLAN_FIRST_BYTE);
    pthread_join(thread, NULL);
#endif
#ifdef ORDER_01
    portolan_client *client = load->client;
    client->did_load(client, load->text, length);
    if (respond(load, (int64_t)length) == PORTOLAN_STOPPED) return;
    finish(load);
    return;
#endif
    if (respond(load, (int64_t)length) == PORTOLAN_STOPPED) return;
    if (deliver_bytes(load, load->text, length) == PORTOLAN_STOPPED) return;
#ifdef LIFE_05
    mprotect(load->shared, 4096, PROT_NONE);
#endif
#ifdef ORDER_02b
    return;
#endif
    finish(load);
}

static void serve_bytes(subject_load *load) {
    unsigned char bytes[BYTES];
    for (int i = 0; i < BYTES; i++) bytes[i] = (unsigned char)i;
#ifdef BODY_01
    bytes[BYTES - 1] ^= 1;
#endif
    if (respond(load, BYTES) == PORTOLAN_STOPPED) return;
    size_t length = BYTES;
#ifdef BODY_02b
    length--;
#endif
    if (load->client->did_load(load->client, bytes, length) == PORTOLAN_STOPPED) return;
    finish(load);
}

static void serve_empty(subject_load *load) {
#ifdef LIFE_02
    for (;;) pause();
#endif
#ifdef BODY_06
    fail(load, PORTOLAN_ERROR_NOT_FOUND, "there is nothing in it");
    return;
#endif
    if (respond(load, 0) == PORTOLAN_STOPPED) return;
    finish(load);
}

static void serve_echo(subject_load *load) {
    portolan_client *client = load->client;
    char piece[1024];
    UNUSED int64_t total = 0;
    int64_t count;
    if (respond(load, load->request->body_length) == PORTOLAN_STOPPED) return;
    while ((count = client->read_body(client, piece, sizeof piece)) > 0) {
        total += count;
#ifdef ORDER_09
        client->did_send(client, count);
#elif defined(ORDER_09b)
        client->did_send(client, total + 1);
#else
        client->did_send(client, total);
#endif
        if (client->did_load(client, piece, (size_t)count) == PORTOLAN_STOPPED) return;
    }
    if (count == 0) finish(load);
}

static void serve_redirect(subject_load *load) {
    portolan_change to = { .size = sizeof to, .url = PORTOLAN_TEXT(SCHEME "://text/there") };
    portolan_response response = response_of(0);
#ifdef REDIR_01
    to.url = (portolan_string)PORTOLAN_TEXT("/text/there");
#endif
#ifdef DESC_05e
    to.size = 4;
#endif
    portolan_flow flow = load->client->was_redirected(load->client, &to, &response);
#ifdef ORDER_04
    load->client->did_reach(load->client, PORTOLAN_FIRST_BYTE);
#endif
#ifdef ORDER_04b
    return;
#endif
    if (flow == PORTOLAN_STOPPED) return;
    if (respond(load, 0) == PORTOLAN_STOPPED) return;
    finish(load);
}

static void serve_hang(subject_load *load) {
    if (respond(load, -1) == PORTOLAN_STOPPED) return;
    struct pollfd waiting = { .fd = load->pipe[0], .events = POLLIN };
    poll(&waiting, 1, -1);
}

static void serve_cut(subject_load *load) {
    if (respond(load, 20) == PORTOLAN_STOPPED) return;
    if (load->client->did_load(load->client, "half of it", 10) == PORTOLAN_STOPPED) return;
#ifdef BODY_10
    finish(load);
    return;
#endif
    fail(load, PORTOLAN_ERROR_TRUNCATED, "the body ends after 10 bytes of 20");
}

static void run(void *pointer) {
    subject_load *load = pointer;
    load->is_started = 1;
    if (is_host(load, "text")) serve_text(load);
    else if (is_host(load, "bytes")) serve_bytes(load);
    else if (is_host(load, "empty")) serve_empty(load);
    else if (is_host(load, "echo")) serve_echo(load);
    else if (is_host(load, "redirect")) serve_redirect(load);
    else if (is_host(load, "hang")) serve_hang(load);
    else if (is_host(load, "cut")) serve_cut(load);
    else fail(load, PORTOLAN_ERROR_NOT_FOUND, "nothing is there: try " SCHEME "://text/NAME");
#ifdef LIFE_07
    close(load->descriptor);
#endif
#ifdef ORDER_12
    pause_for(0);
#endif
}

static UNUSED void stop(void *pointer) {
    subject_load *load = pointer;
#ifdef LIFE_05
    if (is_host(load, "text")) *(volatile char *)load->shared = 1;
#endif
    if (write(load->pipe[1], "x", 1) < 0) abort();
}

/* ---- event-driven ---- */

static void pump(subject_load *load) {
    size_t length = compose(load);
    while (!load->is_paused && load->stage < 3) {
        portolan_flow flow = PORTOLAN_CONTINUE;
        switch (load->stage++) {
        case 0:
            if (!is_host(load, "text")) {
                load->stage = 3;
                fail(load, PORTOLAN_ERROR_NOT_FOUND, "nothing is there: try " SCHEME "-events://text/NAME");
                return;
            }
            flow = respond(load, (int64_t)length);
            break;
        case 1: flow = load->client->did_load(load->client, load->text, length); break;
        case 2: finish(load); return;
        }
        if (flow == PORTOLAN_STOPPED) load->stage = 3;
        if (flow == PORTOLAN_PAUSE) load->is_paused = 1;
    }
}

static void start(void *load) {
    ((subject_load *)load)->is_started = 1;
#ifdef LIFE_03
    pause_for(80);
#endif
    pump(load);
}
static void woken(void *load) { pump(load); }
static void resume(void *load) {
    ((subject_load *)load)->is_paused = 0;
    pump(load);
}

/* ---- from make to destroy ---- */

#ifdef LIFE_08
static const portolan_request *last_request;
#endif

#ifdef LIFE_04
static void *report(void *pointer) {
    subject_load *load = pointer;
    pause_for(3);
    if (!load->is_started) load->client->did_reach(load->client, PORTOLAN_CONNECTED);
    return NULL;
}
#endif

#ifdef ORDER_12
static void *wake_late(void *client) {
    pause_for(20);
    ((portolan_client *)client)->wake(client);
    return NULL;
}
#endif

static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    (void)cached;
    if (portolan_equal(request->host, PORTOLAN_STRING("nowhere"))) {
#ifdef ORDER_11b
        return NULL;
#endif
        portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_BAD_URL, .message = PORTOLAN_TEXT("the host is none of this plugin's") };
        refusal->give(refusal, &error);
        return NULL;
    }
    subject_load *load = calloc(1, sizeof *load);
    *load = (subject_load){ .request = request, .client = client, .plugin = plugin };
    if (pipe2(load->pipe, O_CLOEXEC) != 0) abort();
#ifdef LIFE_01
    client->did_reach(client, PORTOLAN_CONNECTED);
#endif
#ifdef LIFE_04
    load->has_thread = pthread_create(&load->thread, NULL, report, load) == 0;
#endif
#ifdef LIFE_05
    load->shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#endif
#ifdef LIFE_07
    load->descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
#endif
#ifdef LIFE_08
    if (last_request && last_request->path.length > 1000000) abort();
    last_request = request;
#endif
    return load;
}

static void destroy(void *pointer) {
    subject_load *load = pointer;
#ifdef ORDER_06
    load->client->did_reach(load->client, PORTOLAN_FIRST_BYTE);
#endif
#ifdef ORDER_12
    pthread_t thread;
    if (pthread_create(&thread, NULL, wake_late, load->client) == 0) pthread_detach(thread);
#endif
#ifdef LIFE_11
    static atomic_int count;
    if (atomic_fetch_add(&count, 1) == 0) pause_for(1100);
#endif
    if (load->has_thread) pthread_join(load->thread, NULL);
    close(load->pipe[0]);
    close(load->pipe[1]);
#ifdef LIFE_05
    munmap(load->shared, 4096);
#endif
    free(load);
}

/* ---- questions ---- */

static int32_t can_init(void *plugin UNUSED, const portolan_request *request) {
#ifdef CAN_08
    static const portolan_request *kept;
    if (kept && kept->path.length > 1u << 30) return 0;
    kept = request;
#endif
#ifdef CAN_03
    subject_plugin *p = plugin;
    p->host->log(p->host, PORTOLAN_LOG_DEBUG, PORTOLAN_STRING("asked"));
#endif
#ifdef CAN_03b
    static int descriptor = -1, count;
    if (++count == 500) descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (descriptor == -2) return 0;
#endif
#ifdef CAN_04
    static atomic_int inside;
    int others = atomic_fetch_add(&inside, 1);
    usleep(20);
    atomic_fetch_sub(&inside, 1);
    if (others > 0) return 0;
#endif
#ifdef CAN_05
    usleep(50);
#endif
#ifdef CAN_06
    if (strncmp(request->url.bytes, SCHEME, strlen(SCHEME)) != 0) return 0;
#endif
#ifdef CAN_07
    char copy[65536];
    memcpy(copy, request->path.bytes, request->path.length);
    __asm__ volatile("" : : "r"(copy) : "memory");
#endif
#ifdef CAN_01
    if (portolan_equal(request->host, PORTOLAN_STRING("empty"))) return 0;
#endif
#ifdef CAN_02
    return 1;
#endif
    return portolan_equal(request->scheme, PORTOLAN_STRING(SCHEME)) || portolan_equal(request->scheme, PORTOLAN_STRING(SCHEME "-events"));
}

static void canonical_request(void *plugin UNUSED, const portolan_request *request UNUSED, portolan_canonical *canonical) {
    portolan_change change UNUSED = { .size = sizeof change };
#if defined(CANON_01)
    char url[600];
    if (request->url.length > 500) return;
    int length = snprintf(url, sizeof url, "%s/x", request->url.bytes);
    change.url = (portolan_string){ url, (size_t)length };
    canonical->give(canonical, &change);
#elif defined(CANON_02)
    change.method = (portolan_string)PORTOLAN_TEXT("GET");
    canonical->give(canonical, &change);
#elif defined(CANON_02b)
    change.drops_body = 1;
    canonical->give(canonical, &change);
#elif defined(CANON_02c)
    change.drops_fields = 1;
    canonical->give(canonical, &change);
#elif defined(CANON_03)
    change.url = (portolan_string)PORTOLAN_TEXT("http://example.org/");
    canonical->give(canonical, &change);
#elif defined(CANON_06)
    canonical->give(canonical, &change);
    canonical->give(canonical, &change);
#else
    if (!request->fragment.bytes) return;
    change.url = (portolan_string){ request->url.bytes, request->url.length - request->fragment.length - 1 };
    canonical->give(canonical, &change);
#endif
}

static int32_t is_cache_equivalent(void *plugin UNUSED, const portolan_request *a, const portolan_request *b) {
#if defined(CANON_04)
    return a->url.length < b->url.length || portolan_equal(a->url, b->url);
#elif defined(CANON_04b)
    return a->url.length > b->url.length && portolan_equal(a->url, b->url);
#elif defined(CANON_05)
    return portolan_equal(a->scheme, b->scheme);
#else
    return portolan_equal(a->url, b->url);
#endif
}

/* ---- the instance ---- */

static UNUSED void *refuse(portolan_refusal *refusal, portolan_string message) {
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_BAD_REQUEST, .message = message };
    refusal->give(refusal, &error);
    return NULL;
}

static void *init(portolan_host *host, portolan_refusal *refusal UNUSED) {
    const portolan_property *greeting = portolan_find_property(host->settings, host->setting_count, PORTOLAN_STRING("greeting"));
#ifdef REG_03
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) return NULL;
#endif
    if (greeting && greeting->kind != PORTOLAN_KIND_TEXT) {
#if defined(REG_06)
        greeting = NULL;
#elif defined(REG_06b)
        return refuse(refusal, PORTOLAN_STRING("a setting is wrong"));
#else
        return refuse(refusal, PORTOLAN_STRING("greeting has to be a text"));
#endif
    }
#ifdef DESC_05b
    if (((const volatile char *)host)[host->size] != 0) return NULL;
#endif
#ifdef DESC_13
    static char own;
    char text[32];
    snprintf(text, sizeof text, "%p", (void *)&own);
    const char *other = getenv("SUBJECT_STATE");
    if (other && strcmp(other, text) != 0) return refuse(refusal, PORTOLAN_STRING("another copy is open"));
    setenv("SUBJECT_STATE", text, 1);
#endif
#ifdef REG_01
    static int starts;
    if (starts++ > 0) return refuse(refusal, PORTOLAN_STRING("it was started already"));
#endif
#ifdef REG_02
    if (!host->extension(host, PORTOLAN_NESTED)) return refuse(refusal, PORTOLAN_STRING(""));
#endif
#ifdef REG_05
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) return NULL;
#endif
    subject_plugin *plugin = calloc(1, sizeof *plugin);
    plugin->host = host;
    snprintf(plugin->greeting, sizeof plugin->greeting, "%.200s", greeting ? greeting->bytes.bytes : "Hello");
#ifdef REG_04
    memcpy(shared_greeting, plugin->greeting, sizeof shared_greeting);
#endif
    return plugin;
}

#ifdef REG_07
static void *log_late(void *host) {
    pause_for(20);
    ((portolan_host *)host)->log(host, PORTOLAN_LOG_INFO, PORTOLAN_STRING("ended"));
    return NULL;
}
#endif

static void deinit(void *pointer) {
    subject_plugin *plugin = pointer;
#ifdef REG_07
    pthread_t thread;
    if (pthread_create(&thread, NULL, log_late, plugin->host) == 0) pthread_detach(thread);
#endif
    free(plugin);
}

static const void *extension(void *plugin UNUSED, const char *identifier UNUSED) {
#ifdef DESC_11
    static const int table = 1;
    return &table;
#else
    return NULL;
#endif
}

static const portolan_load_table blocking = { .size = sizeof blocking, .run = run, .destroy = destroy,
#ifndef LIFE_06
                                              .stop = stop,
#endif
};
static const portolan_load_table of_events = { .size = sizeof of_events, .start = start, .resume = resume, .woken = woken, .destroy = destroy };

static const portolan_string schemes[] = { PORTOLAN_TEXT(SCHEME), PORTOLAN_TEXT(SCHEME) };
static const portolan_string event_schemes[] = { PORTOLAN_TEXT(SCHEME "-events") };

static const portolan_handler handler = {
    .size = sizeof handler,
#ifdef DESC_06
    .identifier = PORTOLAN_TEXT("subject"),
#else
    .identifier = PORTOLAN_TEXT(IDENTIFIER ".blocking"),
#endif
    .schemes = schemes,
#ifdef DESC_08
    .scheme_count = 2,
#else
    .scheme_count = 1,
#endif
    .can_init = can_init, .canonical_request = canonical_request, .is_cache_equivalent = is_cache_equivalent, .make = make, .loads = &blocking,
};
static const portolan_handler event_handler = {
    .size = sizeof event_handler, .identifier = PORTOLAN_TEXT(IDENTIFIER ".events"), .schemes = event_schemes, .scheme_count = 1,
    .can_init = can_init, .make = make, .loads = &of_events,
};
static const portolan_handler *const handlers[] = { &handler, &event_handler };

static const portolan_plugin descriptors[2] = {
    [0 ... 1] = {
#ifdef DESC_05
        .size = 24,
#else
        .size = sizeof(portolan_plugin),
#endif
        .abi_major = PORTOLAN_ABI_MAJOR, .identifier = PORTOLAN_TEXT(IDENTIFIER), .name = PORTOLAN_TEXT("Subject"),
#ifdef DESC_07b
        .vendor = PORTOLAN_TEXT(""),
#else
        .vendor = PORTOLAN_TEXT("The Portolan authors"),
#endif
#ifdef DESC_07
        .version = PORTOLAN_TEXT("1.0"),
#else
        .version = PORTOLAN_TEXT("1.0.0"),
#endif
        .handlers = handlers, .handler_count = 2, .init = init, .deinit = deinit, .extension = extension,
    },
};

#ifdef DESC_01
extern void subject_missing_function(void);
#endif
#ifdef DESC_02b
PORTOLAN_EXPORT int subject_helper(void);
PORTOLAN_EXPORT int subject_helper(void) { return 0; }
#endif
#ifdef DESC_09
__attribute__((constructor)) static void begin(void) {
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) abort();
}
#endif
#ifdef DESC_09b
static void *wait_for_ever(void *nothing) {
    for (;;) pause();
    return nothing;
}
__attribute__((constructor)) static void begin(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_ever, NULL);
}
#endif
#ifdef DESC_09c
__attribute__((constructor)) static void begin(void) { umask(0); }
#endif

#ifdef DESC_02
#define ENTRY subject_entry
PORTOLAN_EXPORT const portolan_plugin *ENTRY(uint32_t abi_major);
#else
#define ENTRY portolan_plugin_entry
#endif

PORTOLAN_EXPORT const portolan_plugin *ENTRY(uint32_t abi_major) {
#ifdef DESC_01
    subject_missing_function();
#endif
#ifdef DESC_09d
    setlocale(LC_ALL, "C.UTF-8");
#endif
#ifdef DESC_10
    static atomic_int asked;
    if (!atomic_exchange(&asked, 1)) pause_for(150);
#endif
#ifndef DESC_04
    if (abi_major != PORTOLAN_ABI_MAJOR) return NULL;
#endif
#ifdef DESC_03
    static atomic_uint count;
    return &descriptors[atomic_fetch_add(&count, 1) % 2];
#endif
    (void)abi_major;
    return &descriptors[0];
}
