/* SPDX-License-Identifier: Apache-2.0 */
/* The blocking loads of the subject. */

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
    if (!is_host(load, "ask")) error.code = PORTOLAN_ERROR_IO_FAILED;
#endif
#ifdef ERR_02
    error.message = (portolan_string)PORTOLAN_TEXT("one line\nand another");
#endif
#ifdef ERR_02b
    error.message = (portolan_string){ "", 0 };
#endif
#ifdef ERR_03
    if (!is_host(load, "ask")) error.code = -99;
#endif
#ifdef ERR_05
    error.message = load->request->url;
#endif
#ifdef DESC_05c
    if (!is_host(load, "ask")) error.size = 8;
#endif
#ifdef ORDER_11
    // Not the constant itself, which compilers refuse.
    const portolan_error *volatile none = NULL;
    if (!is_host(load, "ask")) return load->client->did_fail(load->client, none);
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
    if (flow == PORTOLAN_CONTINUE && load->request->scheme.length == strlen(SCHEME)) flow = client->did_receive_response(client, &response);
#endif
#ifdef ORDER_13
    response.status = 103;
    if (flow == PORTOLAN_CONTINUE) client->did_receive_interim(client, &response);
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
#ifdef CANCEL_03
    pthread_mutex_lock(&load->lock);
#endif
    portolan_flow flow = client->did_load(client, text, length / 2);
#ifdef CANCEL_03
    pthread_mutex_unlock(&load->lock);
#endif
    if (flow == PORTOLAN_STOPPED) return flow;
    return client->did_load(client, text + length / 2, length - length / 2);
#endif
}

#ifdef LEAK_03
static void *sleep_on(void *pointer) {
    subject_plugin *plugin = pointer;
    while (!plugin->is_over) pause_for(2);
    plugin->sleepers--;
    return NULL;
}
#endif

static void finish(subject_load *load) {
#ifdef LEAK_04
    char path[512];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/subject-XXXXXX", folder ? folder : "/tmp");
    int file = mkstemp(path);
    if (file >= 0) close(file);
#endif
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

#ifdef CANCEL_09
static atomic_int was_one_stopped;
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
#ifdef CANCEL_05
    int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
#endif
    if (respond(load, (int64_t)length) == PORTOLAN_STOPPED) return;
#ifdef CANCEL_05
    close(descriptor);
#endif
#ifdef CANCEL_02
    load->cell = NULL;
    pause_for(3);
    load->cell = &load->has_finished;
#endif
#ifdef CANCEL_09
    if (was_one_stopped) length--;
#endif
#ifdef FLOW_06
    (void)deliver_bytes(load, load->text, length);
    finish(load);
    return;
#endif
    if (deliver_bytes(load, load->text, length) == PORTOLAN_STOPPED) return;
#ifdef LIFE_05
    mprotect(load->shared, 4096, PROT_NONE);
#endif
#ifdef ORDER_02b
    return;
#endif
    finish(load);
}

#if defined(THREAD_06) || defined(THREAD_07) || defined(LOAD_05)
static pthread_mutex_t of_all = PTHREAD_MUTEX_INITIALIZER;
#endif

#ifdef LOAD_04
static atomic_int instances_are_alive;
#endif

static void serve_bytes(subject_load *load) {
#ifdef THREAD_03
    static unsigned char bytes[BYTES];
#else
    unsigned char bytes[BYTES];
#endif
    for (int i = 0; i < BYTES; i++) bytes[i] = (unsigned char)i;
#ifdef THREAD_03
    pause_for(2);
#endif
#ifdef THREAD_04
    signal(SIGUSR1, SIG_IGN);
#endif
#ifdef SEC_04
    if (!getenv("HOME")) return fail(load, PORTOLAN_ERROR_IO_FAILED, "HOME is not set");
#endif
#ifdef FAULT_04
    struct timespec time = { .tv_nsec = 30000000 };
    if (nanosleep(&time, NULL) != 0) return fail(load, PORTOLAN_ERROR_IO_FAILED, "the wait failed");
#endif
#ifdef LOAD_05
    pthread_mutex_lock(&of_all);
    pthread_mutex_unlock(&of_all);
#endif
#ifdef THREAD_06
    int has_lock = pthread_mutex_trylock(&of_all) == 0;
    portolan_flow flow = respond(load, BYTES);
    if (has_lock) pthread_mutex_unlock(&of_all);
    if (flow == PORTOLAN_STOPPED) return;
    if (load->client->did_load(load->client, bytes, BYTES) == PORTOLAN_STOPPED) return;
    finish(load);
    return;
#endif
#ifdef THREAD_07
    pthread_mutex_lock(&of_all);
    if (respond(load, BYTES) == PORTOLAN_STOPPED) {
        pthread_mutex_unlock(&of_all);
        return;
    }
    pthread_mutex_unlock(&of_all);
    if (load->client->did_load(load->client, bytes, BYTES) == PORTOLAN_STOPPED) return;
    finish(load);
    return;
#endif
#ifdef BODY_01
    bytes[BYTES - 1] ^= 1;
#endif
    if (respond(load, BYTES) == PORTOLAN_STOPPED) return;
#ifdef LOAD_04
    if (!instances_are_alive) return fail(load, PORTOLAN_ERROR_IO_FAILED, "it was ended");
#endif
    size_t length = BYTES;
#ifdef BODY_02b
    length--;
#endif
    if (load->client->did_load(load->client, bytes, length) == PORTOLAN_STOPPED) return;
#ifdef THREAD_03
    memset(bytes, 0, sizeof bytes);
#endif
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
#ifdef UPLOAD_04
    if (load->request->body_length == 0) return fail(load, PORTOLAN_ERROR_BAD_REQUEST, "there is nothing in it");
#endif
#ifdef UPLOAD_05
    char *whole = malloc((size_t)load->request->body_length);
    whole[0] = 0;
    free(whole);
#endif
    if (respond(load, load->request->body_length) == PORTOLAN_STOPPED) return;
#ifdef CANCEL_07
    for (;;) {
        count = client->read_body(client, piece, sizeof piece);
        if (count == 0) break;
        if (count < 0) continue;
#else
    while ((count = client->read_body(client, piece, sizeof piece)) > 0) {
#endif
        total += count;
#ifdef ORDER_09
        client->did_send(client, count);
#elif defined(ORDER_09b)
        client->did_send(client, total + 1);
#elif defined(UPLOAD_06)
        client->did_send(client, total - 1);
#else
        client->did_send(client, total);
#endif
#ifdef UPLOAD_01b
        piece[0] ^= 1;
#endif
#ifdef BODY_08
        count = (int64_t)strnlen(piece, (size_t)count);
#endif
        if (client->did_load(client, piece, (size_t)count) == PORTOLAN_STOPPED) return;
#ifdef UPLOAD_01
        if (total > 5000) {
            count = 0;
            break;
        }
#endif
    }
#ifdef UPLOAD_03
    count = 0;
#endif
    if (count == 0) finish(load);
}

static void serve_redirect(subject_load *load) {
    portolan_change to = { .size = sizeof to, .url = PORTOLAN_TEXT(SCHEME "://text/there") };
    portolan_response response = response_of(0);
#ifdef PROP_01
    to.properties = load->request->properties;
    to.property_count = load->request->property_count;
#endif
#ifdef REDIR_04
    char url[600];
    portolan_string user = load->request->user, password = load->request->password;
    if (user.bytes && user.length + password.length < 500) {
        int length = snprintf(url, sizeof url, SCHEME "://%.*s:%.*s@text/there", (int)user.length, user.bytes, (int)password.length,
                              password.bytes);
        to.url = (portolan_string){ url, (size_t)length };
    }
#endif
#ifdef REDIR_01
    to.url = (portolan_string)PORTOLAN_TEXT("/text/there");
#endif
#ifdef DESC_05e
    to.size = 4;
#endif
    portolan_flow flow = load->client->was_redirected(load->client, &to, &response);
#ifdef LEAK_02
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) abort();
#endif
#ifdef LEAK_03
    pthread_t sleeper;
    load->plugin->sleepers++;
    if (pthread_create(&sleeper, NULL, sleep_on, load->plugin) == 0) pthread_detach(sleeper);
#endif
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

/* What becomes of an answer: 1, it is right; 0, the load asks again; -1, it has failed. */
static int settle(subject_load *load, const portolan_answer *answer) {
    portolan_challenge *challenge = &load->challenge;
    switch (answer->disposition) {
    case PORTOLAN_USE: break;
    case PORTOLAN_CANCEL:
#ifdef CHAL_05
        fail(load, PORTOLAN_ERROR_AUTHENTICATION_REQUIRED, "a password is needed");
#else
        fail(load, PORTOLAN_ERROR_AUTHENTICATION_CANCELLED, "nobody wants to say the password");
#endif
        return -1;
    case PORTOLAN_REJECT_SPACE:
#ifdef CHAL_07
        if (!load->was_rejected++) return 0;
#endif
        fail(load, PORTOLAN_ERROR_AUTHENTICATION_REQUIRED, "a password is needed");
        return -1;
    default:
#ifdef CHAL_06
        fail(load, PORTOLAN_ERROR_NOT_FOUND, "nothing is there");
#else
        fail(load, PORTOLAN_ERROR_AUTHENTICATION_REQUIRED, "a password is needed");
#endif
        return -1;
    }
    int is_right = portolan_equal(answer->user, PORTOLAN_STRING("judge")) && portolan_equal(answer->password, PORTOLAN_STRING("s3cret"));
#ifdef CHAL_03
    is_right = is_right && challenge->failure_count > 0;
#endif
    if (is_right) return 1;
#ifndef CHAL_10
    if (challenge->failure_count >= 3) {
        char message[128] = "the password is wrong";
#ifdef CHAL_09
        snprintf(message, sizeof message, "the password is wrong: %.*s", (int)answer->password.length, answer->password.bytes);
#endif
        fail(load, PORTOLAN_ERROR_AUTHENTICATION_REQUIRED, message);
        return -1;
    }
#endif
    static const portolan_error wrong = { .size = sizeof wrong, .code = PORTOLAN_ERROR_AUTHENTICATION_REQUIRED,
                                          .message = PORTOLAN_TEXT("the password is wrong") };
#ifndef CHAL_04
    challenge->failure_count++;
#endif
#ifndef CHAL_04b
    challenge->previous = &wrong;
#else
    (void)wrong;
#endif
    return 0;
}

static void prepare_challenge(subject_load *load) {
    load->challenge = (portolan_challenge){ .size = sizeof load->challenge, .method = PORTOLAN_ASK_PASSWORD,
                                            .protocol = PORTOLAN_TEXT(SCHEME), .host = PORTOLAN_TEXT("ask"),
                                            .realm = PORTOLAN_TEXT("harbour"), .port = -1 };
#ifdef CHAL_01
    load->challenge.host = (portolan_string){ NULL, 0 };
#endif
#ifdef CHAL_01b
    load->challenge.method = 0;
#endif
}

static void serve_ask(subject_load *load) {
    portolan_client *client = load->client;
    prepare_challenge(load);
    for (;;) {
        const portolan_answer *answer = NULL;
#ifdef CHAL_02
        struct timespec before, after;
        clock_gettime(CLOCK_MONOTONIC, &before);
#endif
        portolan_flow flow = client->did_receive_challenge(client, &load->challenge, &answer);
#ifdef CANCEL_06
        while (flow == PORTOLAN_STOPPED) flow = client->did_receive_challenge(client, &load->challenge, &answer);
#endif
        if (flow == PORTOLAN_STOPPED) return;
#ifdef CHAL_02
        clock_gettime(CLOCK_MONOTONIC, &after);
        if ((after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000 > 20) {
            return fail(load, PORTOLAN_ERROR_TIMED_OUT, "nobody answered in time");
        }
#endif
        int settled = settle(load, answer);
        if (settled < 0) return;
        if (settled > 0) break;
    }
    size_t length = compose(load);
    if (respond(load, (int64_t)length) == PORTOLAN_STOPPED) return;
    if (client->did_load(client, load->text, length) == PORTOLAN_STOPPED) return;
    finish(load);
}

/* An inner load, whose bytes are passed on. */
static void fail_by(subject_load *load, portolan_nested *inner) {
    const portolan_error *cause = load->plugin->nested->error(inner);
    if (!cause) return;
    portolan_error error = { .size = sizeof error, .code = cause->code, .domain = cause->domain, .cause = cause,
                             .message = PORTOLAN_TEXT("the inner load failed") };
#ifdef NEST_02
    error.cause = NULL;
#endif
#ifdef NEST_02b
    finish(load);
    return;
#endif
    load->client->did_fail(load->client, &error);
}

static void pass_on(subject_load *load, portolan_nested *inner) {
    const portolan_nested_table *nested = load->plugin->nested;
    const portolan_response *response = NULL;
    const void *bytes = NULL;
    int64_t count;
    if (nested->response(inner, &response) == PORTOLAN_STOPPED || !response) {
#ifdef CANCEL_08
        while (!nested->error(inner)) pause_for(1);
#endif
#ifdef NEST_02b
        if (respond(load, -1) == PORTOLAN_STOPPED) return;
#endif
        return fail_by(load, inner);
    }
    if (respond(load, response->expected_length) == PORTOLAN_STOPPED) return;
    while ((count = nested->next(inner, &bytes)) > 0) {
        if (load->client->did_load(load->client, bytes, (size_t)count) == PORTOLAN_STOPPED) return;
    }
    if (count < 0) fail_by(load, inner);
    else finish(load);
}

static void serve_nest(subject_load *load) {
    const portolan_nested_table *nested = load->plugin->nested;
    if (!nested) return fail(load, PORTOLAN_ERROR_UNSUPPORTED_SCHEME, "the host offers no portolan.nested/1");
#ifdef NEST_01
    if (respond(load, 5) == PORTOLAN_STOPPED) return;
    if (load->client->did_load(load->client, "inner", 5) == PORTOLAN_STOPPED) return;
    finish(load);
    return;
#endif
    portolan_change change = { .size = sizeof change, .url = PORTOLAN_TEXT("data:,inner"), .drops_fields = 1, .drops_body = 1 };
    portolan_nested *inner = nested->open(load->client, &change);
    pass_on(load, inner);
    nested->close(inner);
#ifdef NEST_08
    nested->close(inner);
#endif
#ifdef NEST_08b
    const void *bytes = NULL;
    nested->next(inner, &bytes);
#endif
}

static void serve_hang(subject_load *load) {
    if (respond(load, -1) == PORTOLAN_STOPPED) return;
#ifdef LOAD_05
    pthread_mutex_lock(&of_all);
#endif
    struct pollfd waiting = { .fd = load->pipe[0], .events = POLLIN };
    poll(&waiting, 1, -1);
#ifdef LOAD_05
    pthread_mutex_unlock(&of_all);
#endif
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
#ifdef LOAD_01
    static atomic_int active;
    if (atomic_fetch_add(&active, 1) >= 64) fail(load, PORTOLAN_ERROR_NO_RESOURCES, "too many loads");
    else
#endif
    if (is_host(load, "text")) serve_text(load);
    else if (is_host(load, "bytes")) serve_bytes(load);
    else if (is_host(load, "empty")) serve_empty(load);
    else if (is_host(load, "echo")) serve_echo(load);
    else if (is_host(load, "redirect")) serve_redirect(load);
    else if (is_host(load, "ask")) serve_ask(load);
    else if (is_host(load, "nest")) serve_nest(load);
    else if (is_host(load, "hang")) serve_hang(load);
    else if (is_host(load, "cut")) serve_cut(load);
    else fail(load, PORTOLAN_ERROR_NOT_FOUND, "nothing is there: try " SCHEME "://text/NAME");
#ifdef LOAD_01
    active--;
#endif
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
#ifdef CANCEL_02
    *(volatile int *)load->cell = 1;
#endif
#ifdef CANCEL_03
    pthread_mutex_lock(&load->lock);
    pthread_mutex_unlock(&load->lock);
#endif
#ifdef CANCEL_04
    pause_for(150);
#endif
#ifdef CANCEL_09
    was_one_stopped = 1;
#endif
    if (write(load->pipe[1], "x", 1) < 0) abort();
}
