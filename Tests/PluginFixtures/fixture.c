/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that breaks the contract, one rule for each URL. `fixture://NAME` is blocking; `fixture-events://NAME` is
 * event-driven. The tables at the end list the names; README.md lists the rule that each breaks. Every violation is
 * limited: if a host does not notice it, the load still ends. */
#include <portolan/helpers.h>
#include <portolan/portolan.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct fixture {
    portolan_client *client;
    const struct violation *violation;
    pthread_t thread;
    int has_thread, pipe[2];
} fixture;

/* `act` is called by `run` or `start`; `in_make`, `in_stop` and `in_destroy` by the function that they name. */
typedef struct violation {
    portolan_string name;
    void (*act)(fixture *);
    void (*in_make)(fixture *), (*in_stop)(fixture *), (*in_destroy)(fixture *);
} violation;

#define ARRAY_COUNT(array) (sizeof(array) / sizeof *(array))

static portolan_flow respond(fixture *f, int64_t length) {
    portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("text/plain"), .expected_length = length, .has_length = 1 };
    return f->client->did_receive_response(f->client, &response);
}
static portolan_flow deliver_data(fixture *f) { return f->client->did_load(f->client, "data", 4); }
static void finish(fixture *f) { f->client->did_finish(f->client); }
static void fail_with(fixture *f, int32_t code, portolan_string message) {
    portolan_error error = { .size = sizeof error, .code = code, .message = message };
    f->client->did_fail(f->client, &error);
}
static void respond_with(fixture *f, portolan_response response) {
    f->client->did_receive_response(f->client, &response);
    finish(f);
}
static void load_correctly(fixture *f) {
    if (respond(f, 4) == PORTOLAN_STOPPED || deliver_data(f) == PORTOLAN_STOPPED) return;
    finish(f);
}

/* ---- order ---- */

static void data_before_response(fixture *f) { deliver_data(f);  load_correctly(f); }
static void finish_before_response(fixture *f) { finish(f); }
static void no_end(fixture *f) { respond(f, -1); deliver_data(f); }
static void two_finishes(fixture *f) { load_correctly(f); finish(f); }
static void fail_after_finish(fixture *f) { load_correctly(f); fail_with(f, PORTOLAN_ERROR_UNKNOWN, PORTOLAN_STRING("a second end")); }
static void data_after_finish(fixture *f) { load_correctly(f); deliver_data(f); }
static void response_after_finish(fixture *f) { load_correctly(f); respond(f, 4); }
static void data_after_redirect(fixture *f) {
    portolan_change to = { .size = sizeof to, .url = PORTOLAN_TEXT("fixture://good") };
    f->client->was_redirected(f->client, &to, NULL); /* ignores the result */
    load_correctly(f);
}
static void second_response(fixture *f) { respond(f, -1); deliver_data(f); respond(f, -1); deliver_data(f); finish(f); }
static void confirms_nothing(fixture *f) { f->client->cached_response_is_valid(f->client, NULL); finish(f); }
static void fail_without_error(fixture *f) {
    const portolan_error *volatile none = NULL; /* volatile, to hide it from the compiler */
    f->client->did_fail(f->client, none);
}

/* ---- body and response ---- */

static void longer_than_expected(fixture *f) { respond(f, 3); deliver_data(f); finish(f); }
static void shorter_than_expected(fixture *f) { respond(f, 5); deliver_data(f); finish(f); }
static void bad_mime_type(fixture *f) {
    respond_with(f, (portolan_response){ .size = sizeof(portolan_response), .mime_type = PORTOLAN_TEXT("text plain") });
}
static void bad_charset(fixture *f) {
    respond_with(f, (portolan_response){ .size = sizeof(portolan_response), .mime_type = PORTOLAN_TEXT("text/plain"),
                                         .text_encoding = PORTOLAN_TEXT("utf 8\"") });
}
static void unknown_storage(fixture *f) {
    respond_with(f, (portolan_response){ .size = sizeof(portolan_response), .storage = (portolan_storage)7 });
}
static void bad_field_name(fixture *f) {
    const portolan_field field = { PORTOLAN_TEXT("bad name"), PORTOLAN_TEXT("value") };
    respond_with(f, (portolan_response){ .size = sizeof(portolan_response), .fields = &field, .field_count = 1 });
}
static void bad_field_value(fixture *f) {
    const portolan_field field = { PORTOLAN_TEXT("name"), PORTOLAN_TEXT("value\r\nset-cookie: a=b") };
    respond_with(f, (portolan_response){ .size = sizeof(portolan_response), .fields = &field, .field_count = 1 });
}
/* Lengths and counts of uninitialised structs. The host must not read the memory that they describe. */
static void huge_field_value(fixture *f) {
    const portolan_field field = { PORTOLAN_TEXT("name"), { "value", (size_t)1 << 46 } };
    respond_with(f, (portolan_response){ .size = sizeof(portolan_response), .fields = &field, .field_count = 1 });
}
static void endless_field_value(fixture *f) {
    const portolan_field field = { PORTOLAN_TEXT("name"), { "value", SIZE_MAX } };
    respond_with(f, (portolan_response){ .size = sizeof(portolan_response), .fields = &field, .field_count = 1 });
}
static void huge_field_count(fixture *f) {
    const portolan_field field = { PORTOLAN_TEXT("name"), PORTOLAN_TEXT("value") };
    respond_with(f, (portolan_response){ .size = sizeof(portolan_response), .fields = &field, .field_count = (size_t)1 << 40 });
}
static void many_fields(fixture *f) {
    static portolan_field fields[2000];
    for (size_t i = 0; i < ARRAY_COUNT(fields); i++) fields[i] = (portolan_field){ PORTOLAN_TEXT("name"), PORTOLAN_TEXT("value") };
    respond_with(f, (portolan_response){ .size = sizeof(portolan_response), .fields = fields, .field_count = ARRAY_COUNT(fields) });
}
static void huge_data(fixture *f) {
    const portolan_response response = { .size = sizeof response, .expected_length = -1 };
    if (f->client->did_receive_response(f->client, &response) == PORTOLAN_STOPPED) return;
    f->client->did_load(f->client, "data", (size_t)1 << 62);
}
static void response_from_nowhere(fixture *f) {
    respond_with(f, (portolan_response){ .size = sizeof(portolan_response), .url = PORTOLAN_TEXT("no url") });
}
static void short_response(fixture *f) { respond_with(f, (portolan_response){ .size = 8 }); }

/* ---- redirects, challenges, errors ---- */

static void redirect_to(fixture *f, portolan_string url) {
    portolan_change to = { .size = sizeof to, .url = url };
    if (f->client->was_redirected(f->client, &to, NULL) != PORTOLAN_STOPPED) load_correctly(f);
}
static void redirect_malformed(fixture *f) { redirect_to(f, PORTOLAN_STRING("http://[::bad/%zz")); }
static void redirect_relative(fixture *f) { redirect_to(f, PORTOLAN_STRING("/elsewhere")); }
static void redirect_nowhere(fixture *f) { redirect_to(f, (portolan_string){ NULL, 0 }); }
static void challenge_without_space(fixture *f) {
    portolan_challenge challenge = { .size = sizeof challenge, .method = PORTOLAN_ASK_PASSWORD, .port = -1 };
    const portolan_answer *answer = NULL;
    if (f->client->did_receive_challenge(f->client, &challenge, &answer) != PORTOLAN_STOPPED) load_correctly(f);
}
static void error_empty(fixture *f) { fail_with(f, PORTOLAN_ERROR_UNKNOWN, PORTOLAN_STRING("")); }
static void error_two_lines(fixture *f) { fail_with(f, PORTOLAN_ERROR_UNKNOWN, PORTOLAN_STRING("one\ntwo")); }
static void error_not_utf8(fixture *f) { fail_with(f, PORTOLAN_ERROR_UNKNOWN, PORTOLAN_STRING("caf\xe9")); }
static void error_too_long(fixture *f) {
    char text[5000];
    memset(text, 'x', sizeof text);
    fail_with(f, PORTOLAN_ERROR_UNKNOWN, (portolan_string){ text, sizeof text });
}
static void error_unpublished(fixture *f) { fail_with(f, -4711, PORTOLAN_STRING("a code that nobody published")); }
static void short_error(fixture *f) {
    portolan_error error = { .size = 4, .code = PORTOLAN_ERROR_UNKNOWN, .message = PORTOLAN_TEXT("its size is too small") };
    f->client->did_fail(f->client, &error);
}

/* ---- stop, pause, threads ---- */

static void data_after_stopped(fixture *f) {
    respond(f, -1);
    for (int i = 0; i < 1000 && deliver_data(f) != PORTOLAN_STOPPED; i++) {}
    for (int i = 0; i < 10; i++) deliver_data(f); /* although the client has returned STOPPED */
    finish(f);
}
static void data_while_paused(fixture *f) {
    static const char piece[65536] = { 0 };
    respond(f, -1);
    for (int i = 0; i < 1000; i++)
        if (f->client->did_load(f->client, piece, sizeof piece) == PORTOLAN_STOPPED) return; /* handles PAUSE like CONTINUE */
    finish(f);
}
static void finish_while_paused(fixture *f) {
    static const char piece[65536] = { 0 };
    portolan_flow flow = respond(f, -1);
    for (int i = 0; i < 1000 && flow == PORTOLAN_CONTINUE; i++) flow = f->client->did_load(f->client, piece, sizeof piece);
    if (flow != PORTOLAN_STOPPED) finish(f);
}
static void *other_thread(void *load) {
    for (int i = 0; i < 100; i++) deliver_data(load);
    return NULL;
}
static void call_from_own_thread(fixture *f) { /* no calls overlap: only the thread is wrong */
    respond(f, -1);
    f->has_thread = pthread_create(&f->thread, NULL, other_thread, f) == 0;
    if (f->has_thread) pthread_join(f->thread, NULL);
    f->has_thread = 0;
    finish(f);
}
static void overlap(fixture *f) { /* both threads at the same time */
    respond(f, -1);
    f->has_thread = pthread_create(&f->thread, NULL, other_thread, f) == 0;
    other_thread(f);
    if (f->has_thread) pthread_join(f->thread, NULL);
    f->has_thread = 0;
    finish(f);
}
static void thread_after_start(fixture *f) { /* event-driven: the thread calls during `start` or later; `destroy` joins it */
    respond(f, -1);
    f->has_thread = pthread_create(&f->thread, NULL, other_thread, f) == 0;
}
static void respond_without_end(fixture *f) {
    if (respond(f, -1) != PORTOLAN_STOPPED) deliver_data(f);
}
static void deliver_data_in_wrong_function(fixture *f) { deliver_data(f); }

/* ---- correct loads that test how the host stops a load ---- */

static void until_stopped(fixture *f) { /* delivers nothing, so it must call is_stopped */
    respond(f, -1);
    while (!f->client->is_stopped(f->client)) poll(NULL, 0, 1);
}
static void wait_in_read(fixture *f) { /* waits in a system call, which `stop` interrupts */
    char byte;
    respond(f, -1);
    if (read(f->pipe[0], &byte, 1) != 1) fail_with(f, PORTOLAN_ERROR_IO_FAILED, PORTOLAN_STRING("the read was not interrupted"));
}
static void wait_after_step(fixture *f) { /* the same, but `did_reach` has no result that could report the stop */
    char byte;
    f->client->did_reach(f->client, PORTOLAN_CONNECTED);
    if (read(f->pipe[0], &byte, 1) != 1) fail_with(f, PORTOLAN_ERROR_IO_FAILED, PORTOLAN_STRING("the read was not interrupted"));
}
static void interrupt(fixture *f) {
    if (write(f->pipe[1], "", 1) != 1) abort();
}

/* ---- the plugin ---- */

static const violation blocking[] = {
    { .name = PORTOLAN_TEXT("good"), .act = load_correctly },
    { .name = PORTOLAN_TEXT("until-stopped"), .act = until_stopped },
    { .name = PORTOLAN_TEXT("wait-in-read"), .act = wait_in_read, .in_stop = interrupt },
    { .name = PORTOLAN_TEXT("wait-after-step"), .act = wait_after_step, .in_stop = interrupt },
    { .name = PORTOLAN_TEXT("data-before-response"), .act = data_before_response },
    { .name = PORTOLAN_TEXT("finish-before-response"), .act = finish_before_response },
    { .name = PORTOLAN_TEXT("no-end"), .act = no_end },
    { .name = PORTOLAN_TEXT("two-finishes"), .act = two_finishes },
    { .name = PORTOLAN_TEXT("fail-after-finish"), .act = fail_after_finish },
    { .name = PORTOLAN_TEXT("data-after-finish"), .act = data_after_finish },
    { .name = PORTOLAN_TEXT("response-after-finish"), .act = response_after_finish },
    { .name = PORTOLAN_TEXT("data-after-redirect"), .act = data_after_redirect },
    { .name = PORTOLAN_TEXT("second-response"), .act = second_response },
    { .name = PORTOLAN_TEXT("confirms-nothing"), .act = confirms_nothing },
    { .name = PORTOLAN_TEXT("fail-without-error"), .act = fail_without_error },
    { .name = PORTOLAN_TEXT("longer-than-expected"), .act = longer_than_expected },
    { .name = PORTOLAN_TEXT("shorter-than-expected"), .act = shorter_than_expected },
    { .name = PORTOLAN_TEXT("bad-mime-type"), .act = bad_mime_type },
    { .name = PORTOLAN_TEXT("bad-charset"), .act = bad_charset },
    { .name = PORTOLAN_TEXT("unknown-storage"), .act = unknown_storage },
    { .name = PORTOLAN_TEXT("bad-field-name"), .act = bad_field_name },
    { .name = PORTOLAN_TEXT("bad-field-value"), .act = bad_field_value },
    { .name = PORTOLAN_TEXT("huge-field-value"), .act = huge_field_value },
    { .name = PORTOLAN_TEXT("endless-field-value"), .act = endless_field_value },
    { .name = PORTOLAN_TEXT("huge-field-count"), .act = huge_field_count },
    { .name = PORTOLAN_TEXT("many-fields"), .act = many_fields },
    { .name = PORTOLAN_TEXT("huge-data"), .act = huge_data },
    { .name = PORTOLAN_TEXT("response-from-nowhere"), .act = response_from_nowhere },
    { .name = PORTOLAN_TEXT("short-response"), .act = short_response },
    { .name = PORTOLAN_TEXT("redirect-malformed"), .act = redirect_malformed },
    { .name = PORTOLAN_TEXT("redirect-relative"), .act = redirect_relative },
    { .name = PORTOLAN_TEXT("redirect-nowhere"), .act = redirect_nowhere },
    { .name = PORTOLAN_TEXT("challenge-without-space"), .act = challenge_without_space },
    { .name = PORTOLAN_TEXT("error-empty"), .act = error_empty },
    { .name = PORTOLAN_TEXT("error-two-lines"), .act = error_two_lines },
    { .name = PORTOLAN_TEXT("error-not-utf8"), .act = error_not_utf8 },
    { .name = PORTOLAN_TEXT("error-too-long"), .act = error_too_long },
    { .name = PORTOLAN_TEXT("error-unpublished"), .act = error_unpublished },
    { .name = PORTOLAN_TEXT("short-error"), .act = short_error },
    { .name = PORTOLAN_TEXT("data-after-stopped"), .act = data_after_stopped },
    { .name = PORTOLAN_TEXT("call-from-own-thread"), .act = call_from_own_thread },
    { .name = PORTOLAN_TEXT("overlap"), .act = overlap },
    { .name = PORTOLAN_TEXT("event-in-make"), .act = load_correctly, .in_make = deliver_data_in_wrong_function },
    { .name = PORTOLAN_TEXT("event-in-destroy"), .act = load_correctly, .in_destroy = deliver_data_in_wrong_function },
};
static const violation driven[] = {
    { .name = PORTOLAN_TEXT("good"), .act = load_correctly },
    { .name = PORTOLAN_TEXT("silent"), .act = respond_without_end }, /* correct, but never ends by itself */
    { .name = PORTOLAN_TEXT("data-while-paused"), .act = data_while_paused },
    { .name = PORTOLAN_TEXT("finish-while-paused"), .act = finish_while_paused },
    { .name = PORTOLAN_TEXT("call-from-own-thread"), .act = thread_after_start },
    { .name = PORTOLAN_TEXT("event-in-stop"), .act = respond_without_end, .in_stop = deliver_data_in_wrong_function },
    { .name = PORTOLAN_TEXT("event-in-destroy"), .act = load_correctly, .in_destroy = deliver_data_in_wrong_function },
};

static fixture *find(const violation *list, size_t count, portolan_string name, portolan_client *client, portolan_refusal *refusal) {
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_BAD_URL, .message = PORTOLAN_TEXT("no fixture has that name") };
    fixture *f = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!portolan_equal(list[i].name, name)) continue;
        f = calloc(1, sizeof *f);
        if (!f || pipe(f->pipe) != 0) abort();
        f->client = client;
        f->violation = &list[i];
        if (f->violation->in_make) f->violation->in_make(f);
        return f;
    }
    refusal->give(refusal, &error);
    return NULL;
}
static void *make_blocking(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                           portolan_refusal *refusal) {
    (void)plugin, (void)cached;
    return find(blocking, ARRAY_COUNT(blocking), request->host, client, refusal);
}
static void *make_driven(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                         portolan_refusal *refusal) {
    (void)plugin, (void)cached;
    return find(driven, ARRAY_COUNT(driven), request->host, client, refusal);
}
static void act(void *load) { ((fixture *)load)->violation->act(load); }
static void ignore(void *load) { (void)load; }
static void stop(void *load) {
    fixture *f = load;
    if (f->violation->in_stop) f->violation->in_stop(f);
}
static void destroy(void *load) {
    fixture *f = load;
    if (f->violation->in_destroy) f->violation->in_destroy(f);
    if (f->has_thread) pthread_join(f->thread, NULL);
    close(f->pipe[0]);
    close(f->pipe[1]);
    free(f);
}

static const portolan_string blocking_schemes[] = { PORTOLAN_TEXT("fixture") }, driven_schemes[] = { PORTOLAN_TEXT("fixture-events") };
static const portolan_load_table blocking_loads = { .size = sizeof blocking_loads, .run = act, .stop = stop, .destroy = destroy };
static const portolan_load_table driven_loads = { .size = sizeof driven_loads, .start = act, .resume = ignore, .woken = ignore,
                                                  .stop = stop, .destroy = destroy };
static const portolan_handler blocking_handler = { .size = sizeof blocking_handler, .identifier = PORTOLAN_TEXT("org.portolan.fixture"),
                                                   .schemes = blocking_schemes, .scheme_count = 1, .make = make_blocking,
                                                   .loads = &blocking_loads };
static const portolan_handler driven_handler = { .size = sizeof driven_handler, .identifier = PORTOLAN_TEXT("org.portolan.fixture.events"),
                                                 .schemes = driven_schemes, .scheme_count = 1, .make = make_driven,
                                                 .loads = &driven_loads };
static const portolan_handler *const handlers[] = { &blocking_handler, &driven_handler };
static const portolan_plugin descriptor = {
    .size = sizeof descriptor, .abi_major = PORTOLAN_ABI_MAJOR,
    .identifier = PORTOLAN_TEXT("org.portolan.fixture"), .name = PORTOLAN_TEXT("Fixture"), .vendor = PORTOLAN_TEXT("The Portolan authors"),
    .version = PORTOLAN_TEXT("1.0.0"), .handlers = handlers, .handler_count = 2 };
const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) { return abi_major == PORTOLAN_ABI_MAJOR ? &descriptor : NULL; }
