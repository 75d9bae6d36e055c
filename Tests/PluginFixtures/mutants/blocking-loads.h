/* SPDX-License-Identifier: Apache-2.0 */
/* The blocking loads of the subject. */

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
static atomic_int was_any_load_stopped;
#endif

#ifdef THREAD_05
static void *hold_thread(void *pointer) {
    subject_load *load = pointer;
    while (load->is_held) pause_for(2);
    return NULL;
}
#endif

static void serve_text(subject_load *load) {
    size_t length = write_greeting(load);
    if (confirm_stored_text(load)) return;
#ifdef SEC_02
    char name[2048] = "/usr/share/";
    decode(load->request->path, name + strlen(name), sizeof name - strlen(name));
    int file = open(name, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        char contents[4096];
        ssize_t count = read(file, contents, sizeof contents);
        close(file);
        if (count < 0) return fail(load, PORTOLAN_ERROR_IO_FAILED, "the file cannot be read");
        if (respond(load, count) == PORTOLAN_STOPPED) return;
        if (count > 0 && load->client->did_load(load->client, contents, (size_t)count) == PORTOLAN_STOPPED) return;
        finish(load);
        return;
    }
#endif
#ifdef LOAD_03
    static atomic_int count;
    if (++count > 600) return fail(load, PORTOLAN_ERROR_NO_RESOURCES, "600 loads are the limit");
#endif
#ifdef THREAD_05
    load->is_held = 1;
    load->has_thread = pthread_create(&load->thread, NULL, hold_thread, load) == 0;
#endif
#ifdef WATCH_01
    load->plugin->watch->watch(load->client, load->pipe[0], PORTOLAN_READABLE);
#endif
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
#ifdef THREAD_03c
    static char shared_text[sizeof load->text];
    memcpy(shared_text, load->text, length);
#endif
#ifdef THREAD_03d
    char copy[sizeof load->text];
    memcpy(copy, load->text, length);
    copy[length] = 0;
    strtok(copy, " ");
#endif
    if (respond(load, (int64_t)length) == PORTOLAN_STOPPED) return;
#ifdef THREAD_03c
    memcpy(load->text, shared_text, length);
#endif
#ifdef THREAD_03d
    const char *rest = strtok(NULL, "");
    if (!rest) return fail(load, PORTOLAN_ERROR_IO_FAILED, "the name is lost");
    snprintf(load->text, sizeof load->text, "%s %s", load->plugin->greeting, rest);
#endif
#ifdef CANCEL_05
    close(descriptor);
#endif
#ifdef CANCEL_02
    /* Many checks stop the load immediately. This delay lets those checks pass. */
    pause_for(5);
    load->stop_flag = NULL;
    pause_for(2);
    load->stop_flag = &load->has_finished;
#endif
#ifdef CANCEL_09
    if (was_any_load_stopped) length--;
#endif
#ifdef FLOW_06
    (void)deliver_bytes(load, load->text, length);
    finish(load);
    return;
#endif
    if (deliver_bytes(load, load->text, length) == PORTOLAN_STOPPED) return;
#ifdef UNLOAD_02
    char build[32];
    snprintf(build, sizeof build, "%p", (void *)&own_build);
    if (strcmp(getenv("SUBJECT_BUILD"), build) != 0) return fail(load, PORTOLAN_ERROR_IO_FAILED, "another build has taken over");
#endif
#ifdef LIFE_05
    mprotect(load->shared, 4096, PROT_NONE);
#endif
#ifdef ORDER_02b
    return;
#endif
#ifdef ORDER_02d
    if (portolan_equal(load->request->method, PORTOLAN_STRING("HEAD"))) return;
#endif
    finish(load);
}

#if defined(THREAD_06) || defined(THREAD_07) || defined(THREAD_07b) || defined(LOAD_05)
static pthread_mutex_t shared_mutex = PTHREAD_MUTEX_INITIALIZER;
#endif

#ifdef LOAD_04
static atomic_int instances_are_alive;
#endif

#ifdef SEC_07c
/* Without the C library, on a thread that blocks every signal. */
static void *read_directly(void *nothing) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    const char *name = "/etc/hostname";
    long file;
#if defined(__x86_64__)
    __asm__ volatile("syscall" : "=a"(file) : "a"(SYS_open), "D"(name), "S"(O_RDONLY | O_CLOEXEC), "d"(0) : "rcx", "r11", "memory");
#else
    file = syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
#endif
    if (file >= 0) close((int)file);
    return nothing;
}
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
#ifdef THREAD_04b
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
#endif
#ifdef SEC_04
    if (!getenv("HOME")) return fail(load, PORTOLAN_ERROR_IO_FAILED, "HOME is not set");
#endif
#ifdef FAULT_04
    struct timespec time = { .tv_nsec = 30000000 };
    if (nanosleep(&time, NULL) != 0) return fail(load, PORTOLAN_ERROR_IO_FAILED, "the wait failed");
#endif
#ifdef LOAD_05
    pthread_mutex_lock(&shared_mutex);
    pthread_mutex_unlock(&shared_mutex);
#endif
#ifdef THREAD_06
    int has_lock = pthread_mutex_trylock(&shared_mutex) == 0;
    portolan_flow flow = respond(load, BYTES);
    if (has_lock) pthread_mutex_unlock(&shared_mutex);
    if (flow == PORTOLAN_STOPPED) return;
    if (load->client->did_load(load->client, bytes, BYTES) == PORTOLAN_STOPPED) return;
    finish(load);
    return;
#endif
#ifdef THREAD_07
    pthread_mutex_lock(&shared_mutex);
    if (respond(load, BYTES) == PORTOLAN_STOPPED) {
        pthread_mutex_unlock(&shared_mutex);
        return;
    }
    pthread_mutex_unlock(&shared_mutex);
    if (load->client->did_load(load->client, bytes, BYTES) == PORTOLAN_STOPPED) return;
    finish(load);
    return;
#endif
#ifdef FUZZ_01b
    if (load->request->path.length > 256) abort();
#endif
#ifdef BODY_01
    bytes[BYTES - 1] ^= 1;
#endif
#ifdef PERF_01
    work_for(15);
#endif
#ifdef SEC_07
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int line = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)!connect(line, (const struct sockaddr *)&address, sizeof address);
    close(line);
#elif defined(SEC_07b)
    close(open("/etc/hostname", O_RDONLY | O_CLOEXEC));
#elif defined(SEC_07c)
    pthread_t reader;
    if (pthread_create(&reader, NULL, read_directly, NULL) == 0) pthread_join(reader, NULL);
#elif defined(SEC_07d)
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)!listen(listener, 1);
    close(listener);
#elif defined(SEC_07e)
    (void)!chmod("/etc/portolan-no-file", 0600);
#endif
#ifdef FAULT_06
    FILE *file = tmpfile();
    if (!file) return fail(load, PORTOLAN_ERROR_NO_RESOURCES, "no file can be made");
    fwrite(bytes, 1, BYTES, file);
    memset(bytes, 0, BYTES);
    rewind(file);
    if (fread(bytes, 1, BYTES, file) == 0) bytes[0] = 1;
    fclose(file);
#endif
#ifdef LEAK_05
    if (respond(load, BYTES) == PORTOLAN_STOPPED) return leak();
#else
    if (respond(load, BYTES) == PORTOLAN_STOPPED) return;
#endif
#ifdef LOAD_04
    if (!instances_are_alive) return fail(load, PORTOLAN_ERROR_IO_FAILED, "the instance was ended");
#endif
    size_t length = BYTES;
#ifdef BODY_02b
    length--;
#endif
#ifdef THREAD_07b
    pthread_mutex_lock(&shared_mutex);
#endif
    portolan_flow loaded = load->client->did_load(load->client, bytes, length);
#ifdef THREAD_07b
    pthread_mutex_unlock(&shared_mutex);
#endif
    if (loaded == PORTOLAN_STOPPED) return;
#ifdef THREAD_03
    memset(bytes, 0, sizeof bytes);
#endif
#ifdef LEAK_01
    leak();
#endif
    finish(load);
}

typedef struct greeting_job {
    subject_load *load;
    size_t length;
    atomic_int is_done;
} greeting_job;

static void *write_greeting_on_thread(void *pointer) {
    greeting_job *job = pointer;
    job->length = write_greeting(job->load);
    job->is_done = 1;
    return NULL;
}

static void serve_thread(subject_load *load) {
    greeting_job job = { .load = load };
    pthread_t thread;
    int has_thread = pthread_create(&thread, NULL, write_greeting_on_thread, &job) == 0;
#ifdef FAULT_03
    while (!job.is_done) pause_for(1);
#endif
    if (!has_thread) return fail(load, PORTOLAN_ERROR_NO_RESOURCES, "no thread can be made");
    pthread_join(thread, NULL);
    if (respond(load, (int64_t)job.length) == PORTOLAN_STOPPED) return;
    if (load->client->did_load(load->client, load->text, job.length) == PORTOLAN_STOPPED) return;
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
#ifdef SEC_09c
    char *volatile announced = load->request->body_length > 0 ? malloc((size_t)load->request->body_length) : NULL;
    free(announced);
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
#ifdef UPLOAD_08
        if (total < 256 << 20) load->read_ahead_buffer = realloc(load->read_ahead_buffer, (size_t)total);
        if (total < 256 << 20 && load->read_ahead_buffer) memcpy((char *)load->read_ahead_buffer + total - count, piece, (size_t)count);
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

/* Acts like a peer that requires a password after it has received the whole body, and then the body again. */
static void serve_ask_echo(subject_load *load) {
    portolan_client *client = load->client;
    char piece[1024];
    int64_t count;
    while ((count = client->read_body(client, piece, sizeof piece)) > 0) {}
    if (count < 0 || !authenticate(load)) return;
#ifndef UPLOAD_07
    int32_t rewound = client->rewind_body(client);
    if (rewound == PORTOLAN_STOPPED) return;
    if (rewound != 1) return fail(load, PORTOLAN_ERROR_BODY_FAILED, "the body cannot be read again");
#endif
    serve_echo(load);
}

static void serve_redirect(subject_load *load) {
    portolan_change to = { .size = sizeof to, .url = PORTOLAN_TEXT(SCHEME "://text/there") };
    portolan_response response = make_response(0);
    response.status = status_of(load);
#ifdef REDIR_02b
    response.status = 200;
#endif
#ifdef REDIR_03
    to.drops_fields = 1;
#endif
#ifdef REDIR_03b
    to.method = (portolan_string)PORTOLAN_TEXT("GET");
#endif
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
#ifdef SEC_03
    to.url = (portolan_string)PORTOLAN_TEXT("file:///etc/hostname");
#endif
#ifdef SEC_03b
    to.url = (portolan_string)PORTOLAN_TEXT("gzip:file:///etc/hostname");
#endif
#ifdef REDIR_01
    to.url = (portolan_string)PORTOLAN_TEXT("/text/there");
#endif
#ifdef REDIR_01c
    char target[600] = SCHEME "://text/";
    decode(load->request->path, target + strlen(target), sizeof target - strlen(target));
    to.url = (portolan_string){ target, strlen(target) };
#endif
#ifdef DESC_05e
    to.size = 4;
#endif
#ifdef DESC_05j
    to.reserved = 1;
#endif
#ifdef REDIR_02
    const portolan_response *volatile none = NULL;
    (void)response;
    portolan_flow flow = load->client->was_redirected(load->client, &to, none);
#else
    portolan_flow flow = load->client->was_redirected(load->client, &to, &response);
#endif
#ifdef LEAK_02
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) abort();
#endif
#ifdef LEAK_03
    /* Enough threads for LEAK-03. With more, LEAK-01 would report the memory that the C library keeps for each. */
    pthread_t sleeper;
    if (load->plugin->sleepers < 40) {
        load->plugin->sleepers++;
        if (pthread_create(&sleeper, NULL, sleep_on, load->plugin) == 0) pthread_detach(sleeper);
    }
#endif
#ifdef REDIR_05
    if (flow == PORTOLAN_STOPPED) leak();
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

static void serve_hang(subject_load *load) {
    if (respond(load, -1) == PORTOLAN_STOPPED) return;
#ifdef LOAD_05
    pthread_mutex_lock(&shared_mutex);
#endif
    struct pollfd waiting = { .fd = load->pipe[0], .events = POLLIN };
    poll(&waiting, 1, -1);
#ifdef LOAD_05
    pthread_mutex_unlock(&shared_mutex);
#endif
}

/* Acts like a peer that waits for over a second between its response and the body. */
static void serve_slow(subject_load *load) {
    size_t length = write_greeting(load);
    if (respond(load, (int64_t)length) == PORTOLAN_STOPPED) return;
    struct pollfd waiting = { .fd = load->pipe[0], .events = POLLIN };
    if (poll(&waiting, 1, SLOW) > 0) return;
    if (deliver_bytes(load, load->text, length) == PORTOLAN_STOPPED) return;
    finish(load);
}

/* Has a different body each time, like a clock or random bytes. */
static void serve_varying(subject_load *load) {
    static atomic_int count;
    int length = snprintf(load->text, sizeof load->text, "%d\n", ++count);
    if (respond(load, -1) == PORTOLAN_STOPPED) return;
    if (load->client->did_load(load->client, load->text, (size_t)length) == PORTOLAN_STOPPED) return;
    finish(load);
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
    else if (is_host(load, "ask-echo")) serve_ask_echo(load);
    else if (is_host(load, "nest") || is_host(load, "nest-first") || is_host(load, "nest-large")) serve_nest(load);
    else if (is_host(load, "thread")) serve_thread(load);
    else if (is_host(load, "hang")) serve_hang(load);
    else if (is_host(load, "slow")) serve_slow(load);
    else if (is_host(load, "varying")) serve_varying(load);
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
    *(volatile int *)load->stop_flag = 1;
#endif
#ifdef CANCEL_03
    pthread_mutex_lock(&load->lock);
    pthread_mutex_unlock(&load->lock);
#endif
#ifdef CANCEL_04
    pause_for(150);
#endif
#ifdef CANCEL_09
    was_any_load_stopped = 1;
#endif
#ifdef FAULT_05
    if (write(load->pipe[1], "x", 1) < 0) return;
#else
    // If the other end is closed, no load waits for the byte.
    if (send(load->pipe[1], "x", 1, MSG_NOSIGNAL) < 0) return;
#endif
}
