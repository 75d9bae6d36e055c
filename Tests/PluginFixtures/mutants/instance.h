/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the subject, which init allocates and deinit frees. */

static void *refuse(portolan_refusal *refusal, portolan_string message) {
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_BAD_REQUEST, .message = message };
    refusal->give(refusal, &error);
    return NULL;
}

#ifdef THREAD_08
static void *run_worker(void *pointer) {
    subject_plugin *plugin = pointer;
    while (!plugin->is_over) {
        if (!plugin->has_served) pause_for(1);
    }
    return NULL;
}
#endif

#if defined UNLOAD_01 || defined UNLOAD_01b
static void *sleep_forever(void *nothing) {
    for (;;) pause();
    return nothing;
}
#endif
#ifdef UNLOAD_01b
static void start_sleeping_thread(void) {
    pthread_t sleeper;
    if (pthread_create(&sleeper, NULL, sleep_forever, NULL) == 0) pthread_detach(sleeper);
}
#endif

#ifdef ERR_07c
static void end_quietly(void) { _exit(0); }
#endif

#ifdef ERR_07d
static void never_end(void) {
    for (;;) pause();
}
#endif

#ifdef FAULT_03b
static void *return_plugin(void *plugin) { return plugin; }
#endif

static void *init(portolan_host *host, portolan_refusal *refusal) {
    const portolan_property *greeting = portolan_find_property(host->settings, host->setting_count, PORTOLAN_STRING("greeting"));
#ifdef REG_03
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) return NULL;
#endif
    if (greeting && greeting->kind != PORTOLAN_KIND_TEXT) {
#ifdef REG_03b
        leak();
#endif
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
#ifdef UNLOAD_02
    char build[32];
    snprintf(build, sizeof build, "%p", (void *)&own_build);
    setenv("SUBJECT_BUILD", build, 1);
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
#ifdef THREAD_04c
    if (chdir("/usr") != 0) return NULL;
#endif
#ifdef THREAD_04d
    setenv("SUBJECT_HOME", "/usr", 1);
#endif
#ifdef ERR_07c
    atexit(end_quietly);
#endif
#ifdef ERR_07d
    atexit(never_end);
#endif
    subject_plugin *plugin = calloc(1, sizeof *plugin);
#ifndef FAULT_01b
    if (!plugin) return refuse(refusal, PORTOLAN_STRING("there is no memory"));
#endif
#ifdef FAULT_03b
    pthread_t first;
    if (pthread_create(&first, NULL, return_plugin, plugin) != 0) abort();
    pthread_join(first, NULL);
#endif
    plugin->host = host;
    plugin->nested = host->extension(host, PORTOLAN_NESTED);
    plugin->watch = host->extension(host, PORTOLAN_WATCH);
#ifdef LOAD_04
    instances_are_alive = 1;
#endif
#ifdef THREAD_08
    if (pthread_create(&plugin->worker, NULL, run_worker, plugin) != 0) abort();
#endif
#ifdef UNLOAD_01
    pthread_t sleeper;
    if (pthread_create(&sleeper, NULL, sleep_forever, NULL) == 0) pthread_detach(sleeper);
#endif
#ifdef UNLOAD_01b
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_sleeping_thread);
#endif
#ifdef UNLOAD_04
    if (fork() == 0) {
        setsid();
        for (;;) pause();
    }
#endif
#ifdef FUZZ_05
    if (greeting && greeting->bytes.length > 64) abort();
#endif
    snprintf(plugin->greeting, sizeof plugin->greeting, "%.200s", greeting ? greeting->bytes.bytes : "Hello");
#ifdef REG_04
    memcpy(shared_greeting, plugin->greeting, sizeof shared_greeting);
#endif
#ifdef REG_04b
    static char first_greeting[sizeof plugin->greeting];
    if (!first_greeting[0]) memcpy(first_greeting, plugin->greeting, sizeof first_greeting);
    memcpy(plugin->greeting, first_greeting, sizeof first_greeting);
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
#ifdef UNLOAD_03
    pause_for(1200);
#endif
#ifdef LEAK_03
    plugin->is_over = 1;
    while (plugin->sleepers > 0) pause_for(1);
#endif
#ifdef THREAD_08
    plugin->is_over = 1;
    pthread_join(plugin->worker, NULL);
#endif
#ifdef LOAD_04
    instances_are_alive = 0;
#endif
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
