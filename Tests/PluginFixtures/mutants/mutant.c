/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that obeys every rule, in both styles, and its mutants: compiled with -DORDER_01 it breaks ORDER-01, and as
 * few other rules as possible. A letter after the number means another way to break the rule. mutant.plugin.json names
 * the URLs.
 *
 *   subject://text/NAME   greets NAME; can be stored   subject://empty      no bytes
 *   subject://bytes       4096 bytes of every value    subject://redirect   to subject://text/there
 *   subject://echo        returns the upload body      subject://hang       a response, then a wait in poll(2)
 *   subject://missing     fails                        subject://cut        fails after half of its body
 *   subject://nest        the body of data:,inner      subject://nest-first its first byte
 *   subject://thread/NAME greets, by its own thread    subject://nest-large 100,000 bytes of a nested body
 *   subject://ask         needs the user judge and the password s3cret, then greets
 *   subject-events:       event-driven: text, echo, redirect, ask, nest and missing as above; large, 2 MiB; huge, 4 GiB;
 *                         wait, which watches a timer and a descriptor; cancels, which sends a challenge, cancels it
 *                         after 5 ms, and then serves the text
 *
 * Only slow.plugin.json names these URLs: subject://slow/NAME and subject-events://slow respond after more than a
 * second, and the body of subject://varying differs each time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <locale.h>
#include <netinet/in.h>
#include <poll.h>
#include <portolan/helpers.h>
#include <portolan/nested.h>
#include <portolan/portolan.h>
#include <portolan/watch.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))
#ifndef IDENTIFIER
#define IDENTIFIER "org.portolan.subject"
#endif
#define SCHEME "subject"

enum { BYTES = 4096, SLOW = 1200, NEST_LARGE = 100000 };

typedef struct subject_plugin {
    portolan_host *host;
    const portolan_nested_table *nested;
    const portolan_watch_table *watch;
    pthread_t worker;
    atomic_int has_served, is_over, sleepers;
    char greeting[256];
} subject_plugin;

typedef struct subject_load {
    const portolan_request *request;
    const portolan_response *cached;
    portolan_client *client;
    subject_plugin *plugin;
    int pipe[2]; /* a pair of sockets; `hang` waits for the byte that `stop` writes */
    portolan_nested *inner;
    int descriptor;
    atomic_int is_started;
    pthread_t thread;
    int has_thread;
    void *shared;
    portolan_challenge challenge;
    int was_rejected, has_finished;
    int *stop_flag;
    pthread_mutex_t lock;
    size_t length;
    int64_t total;
    int stage, delivery_count, has_responded, is_paused, is_asking, is_over, repeats, was_held, pause_count, is_large;
    atomic_int is_held;
    void *read_ahead_buffer;
    struct timespec pause_time;
    char text[512], tag[24];
#ifdef THREAD_09
    char name[200];
#endif
    portolan_field tag_field;
} subject_load;

static UNUSED void pause_for(int milliseconds) { usleep((useconds_t)milliseconds * 1000); }

/* Uses processor time. */
static UNUSED void work_for(int milliseconds) {
    clock_t end = clock() + (clock_t)milliseconds * CLOCKS_PER_SEC / 1000;
    while (clock() < end) __asm__ volatile("" : : : "memory");
}

static int is_host(const subject_load *load, const char *host) {
    return portolan_equal(load->request->host, (portolan_string){ host, strlen(host) });
}

/* Whether the load sends a challenge, and fails without the password. */
static UNUSED int needs_password(const subject_load *load) { return is_host(load, "ask") || is_host(load, "ask-echo"); }

#include "client-events.h"
#include "challenges.h"
#include "nested-loads.h"
#include "blocking-loads.h"
#include "event-loads.h"
#include "instance.h"

/* ---- from make to destroy ---- */

#ifdef LIFE_08
static const portolan_request *last_request;
#endif

#ifdef LIFE_04
static void *report(void *pointer) {
    subject_load *load = pointer;
    pause_for(6);
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

/* ERR-07: whether the plugin ends the process because of the method. */
static int must_exit_for_method(const portolan_request *request UNUSED) {
#ifdef ERR_07
    static const char *const known_methods[] = { "GET", "HEAD", "POST", "PUT" };
    for (int i = 0; i < 4; i++) {
        if (portolan_equal(request->method, (portolan_string){ known_methods[i], strlen(known_methods[i]) })) return 0;
    }
    return 1;
#else
    return 0;
#endif
}

#ifdef LIFE_12c
static void allow_writing(int number, siginfo_t *fault, void *context) {
    (void)number, (void)context;
    mprotect((void *)((uintptr_t)fault->si_addr & ~(uintptr_t)4095), 4096, PROT_READ | PROT_WRITE);
}
#endif

static void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                  portolan_refusal *refusal) {
    if (portolan_equal(request->host, PORTOLAN_STRING("nowhere"))) {
#ifdef ORDER_11b
        return NULL;
#endif
        portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_BAD_URL, .message = PORTOLAN_TEXT("this plugin does not serve that host") };
#ifdef ERR_04
        error.code = PORTOLAN_ERROR_NOT_FOUND;
#endif
        refusal->give(refusal, &error);
        return NULL;
    }
#ifdef FUZZ_01
    if (request->host.length > 40) abort();
#endif
#ifdef FUZZ_02
    if (request->path.length > 200) abort();
#endif
#ifdef FUZZ_03
    if (request->method.length > 16) abort();
#endif
#ifdef FUZZ_03b
    const portolan_field *range = portolan_find_field(request->fields, request->field_count, PORTOLAN_STRING("Range"));
    if (range && range->value.length > 256) abort();
#endif
#ifdef PROP_03
    static const char *kept;
    if (kept && kept[0] == 7) return NULL;
    for (size_t i = 0; i < request->property_count; i++) {
        if (request->properties[i].kind == PORTOLAN_KIND_TEXT) kept = request->properties[i].bytes.bytes;
    }
#endif
    if (must_exit_for_method(request)) exit(1);
    subject_load *load = calloc(1, sizeof *load);
#ifndef FAULT_01
    if (!load) {
        portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_NO_RESOURCES, .message = PORTOLAN_TEXT("there is no memory") };
        refusal->give(refusal, &error);
        return NULL;
    }
#endif
    *load = (subject_load){ .request = request, .cached = cached, .client = client, .plugin = plugin };
#ifdef SEC_06
    int has_pipe = socketpair(AF_UNIX, SOCK_STREAM, 0, load->pipe) == 0;
#else
    int has_pipe = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, load->pipe) == 0;
#endif
    if (!has_pipe) {
#ifdef FAULT_02
        abort();
#endif
        portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_NO_RESOURCES, .message = PORTOLAN_TEXT("no sockets can be made") };
        free(load);
        refusal->give(refusal, &error);
        return NULL;
    }
#ifdef THREAD_06
    pthread_mutex_lock(&shared_mutex);
    pthread_mutex_unlock(&shared_mutex);
#endif
#ifdef THREAD_09
    static char path[sizeof load->name];
    for (size_t i = 0; i < sizeof path - 1; i++) path[i] = i < request->path.length ? request->path.bytes[i] : 0;
    char *copy = malloc(sizeof path);
    if (copy) memcpy(load->name, memcpy(copy, path, sizeof path), sizeof path);
    free(copy);
#endif
#ifdef LIFE_03c
    if (portolan_equal(request->host, PORTOLAN_STRING("bytes"))) pause_for(80);
#endif
#ifdef LIFE_07c
    char *decoded = malloc(256);
    if (decoded && portolan_decode(request->path, decoded, 256) != PORTOLAN_REFUSED_ESCAPE) free(decoded);
#endif
    load->stop_flag = &load->has_finished;
    pthread_mutex_init(&load->lock, NULL);
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
#ifdef LIFE_07b
    load->shared = malloc(24);
#endif
#ifdef LIFE_08
    if (last_request && last_request->path.length > 1000000) abort();
    last_request = request;
#endif
#ifdef LIFE_12
    if (request->url.length) *(volatile char *)request->url.bytes = request->url.bytes[0];
#endif
#ifdef LIFE_12c
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    struct sigaction lenient = { .sa_sigaction = allow_writing, .sa_flags = SA_SIGINFO }, before;
    pthread_mutex_lock(&turn);
    sigaction(SIGSEGV, &lenient, &before);
    if (request->url.length) *(volatile char *)request->url.bytes = request->url.bytes[0];
    sigaction(SIGSEGV, &before, NULL);
    pthread_mutex_unlock(&turn);
#endif
#ifdef LIFE_12b
    ((volatile portolan_request *)request)->body_length = request->body_length;
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
#ifdef LOAD_02
    if (load->is_large) large_loads--;
#endif
#ifdef LIFE_11
    static atomic_int count;
    if (atomic_fetch_add(&count, 1) == 0) pause_for(1100);
#endif
    load->is_held = 0;
    load->plugin->has_served = 1;
#ifdef FLOW_10
    if (load->was_held) held_loads--;
#endif
    if (load->has_thread) pthread_join(load->thread, NULL);
    free(load->read_ahead_buffer);
    pthread_mutex_destroy(&load->lock);
    close(load->pipe[0]);
    close(load->pipe[1]);
#ifdef LIFE_05
    munmap(load->shared, 4096);
#endif
#ifdef LIFE_07b
    if (load->is_started) free(load->shared);
#endif
    free(load);
}

/* ---- decisions about requests ---- */

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
#ifdef DESC_05g
    change.size = 4;
#endif
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

/* ---- the descriptor ---- */

static const portolan_load_table blocking = { .size = sizeof blocking, .run = run, .destroy = destroy,
#ifndef LIFE_06
                                              .stop = stop,
#endif
};
static const portolan_load_table event_driven = { .size = sizeof event_driven,
#ifdef DESC_05k
                                               .reserved = 1,
#endif
                                               .start = start, .resume = resume, .woken = woken,
                                               .answered = answered, .stop = stop_event_load, .destroy = destroy };

static const portolan_string schemes[] = { PORTOLAN_TEXT(SCHEME), PORTOLAN_TEXT(SCHEME) };
static const portolan_string event_schemes[] = { PORTOLAN_TEXT(SCHEME "-events") };

static const portolan_handler handler = {
    .size = sizeof handler,
#ifdef MANIF_08
    .flags = PORTOLAN_CACHEABLE | PORTOLAN_COOKIES,
#else
    .flags = PORTOLAN_CACHEABLE,
#endif
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
#ifdef DESC_05l
    .size = sizeof event_handler + 8,
#else
    .size = sizeof event_handler,
#endif
    .flags = PORTOLAN_CACHEABLE, .identifier = PORTOLAN_TEXT(IDENTIFIER ".events"), .schemes = event_schemes, .scheme_count = 1,
    .can_init = can_init, .make = make, .loads = &event_driven,
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
static void *sleep_forever(void *nothing) {
    for (;;) pause();
    return nothing;
}
__attribute__((constructor)) static void begin(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, sleep_forever, NULL);
}
#endif
#ifdef DESC_09e
__attribute__((constructor)) static void begin(void) {
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) pause();
    }
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
