/* SPDX-License-Identifier: Apache-2.0 */
/* The events that all loads of the subject send to the client. */

#ifdef REG_04
static char shared_greeting[256];
#endif

#if defined(LEAK_01) || defined(LEAK_05) || defined(LEAK_06) || defined(REDIR_05) || defined(REG_03b)
static void leak(void) {
#ifdef LEAK_05
    // More bytes, because only some of the stops reach this place.
    void *volatile lost = malloc(120);
#else
    void *volatile lost = malloc(24);
#endif
    (void)lost;
}
#endif

#ifdef UNLOAD_02
static char own_build;
#endif

/* Decodes the path after its first slash. Does not use the decoder of the contract, which refuses some bytes. */
static UNUSED void decode(portolan_string path, char *output, size_t size) {
    size_t length = 0;
    for (size_t i = 1; i < path.length && length < size - 1; i++) {
        unsigned byte;
        if (path.bytes[i] == '%' && i + 2 < path.length && sscanf(path.bytes + i + 1, "%2x", &byte) == 1) {
            output[length++] = (char)byte;
            i += 2;
        } else {
            output[length++] = path.bytes[i];
        }
    }
    output[length] = 0;
}

static size_t write_greeting(subject_load *load) {
    portolan_string name = load->request->path;
#ifdef THREAD_09
    name = (portolan_string){ load->name, strlen(load->name) };
#endif
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
#ifdef LEAK_06
    leak();
#endif
#ifdef DESC_05h
    if (!needs_password(load)) error.cause = (const portolan_error *)(uintptr_t)16;
#endif
#ifdef ERR_01
    if (!needs_password(load)) error.code = PORTOLAN_ERROR_IO_FAILED;
#endif
#ifdef ERR_02
    error.message = (portolan_string)PORTOLAN_TEXT("one line\nand another");
#endif
#ifdef ERR_02b
    error.message = (portolan_string){ "", 0 };
#endif
#ifdef ERR_03
    if (!needs_password(load)) error.code = -99;
#endif
#ifdef ERR_05
    error.message = load->request->url;
#endif
#ifdef DESC_05n
    const portolan_error cause = { .size = sizeof cause + 8, .code = PORTOLAN_ERROR_IO_FAILED, .message = PORTOLAN_TEXT("the disk failed") };
    if (!needs_password(load)) error.cause = &cause;
#endif
#ifdef DESC_05i
    if (!needs_password(load)) error.size = 4096;
#endif
#ifdef DESC_05c
    if (!needs_password(load)) error.size = 8;
#endif
#ifdef ORDER_11
    // Compilers refuse the constant NULL here.
    const portolan_error *volatile none = NULL;
    if (!needs_password(load)) return load->client->did_fail(load->client, none);
#endif
    load->client->did_fail(load->client, &error);
}

static portolan_response make_response(int64_t length) {
    portolan_response response = { .size = sizeof response, .mime_type = PORTOLAN_TEXT("text/plain"), .text_encoding = PORTOLAN_TEXT("utf-8"),
                                   .expected_length = length, .has_length = 1 };
#ifdef BODY_01b
    response.mime_type = (portolan_string)PORTOLAN_TEXT("text/html");
#endif
#ifdef BODY_01c
    if (length > 0) response.status = 404;
#endif
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

/* The text can be stored. Its validator is a hash of its bytes (FNV-1a). */
static void allow_storage(subject_load *load, portolan_response *response) {
    static const portolan_field age UNUSED = { PORTOLAN_TEXT("Cache-Control"), PORTOLAN_TEXT("max-age=60") };
#ifdef CACHE_05
    if (is_host(load, "ask")) response->storage = PORTOLAN_STORE;
#endif
#ifdef CACHE_05b
    if (is_host(load, "ask")) {
        response->storage = PORTOLAN_STORE_IN_MEMORY;
        response->fields = &age;
        response->field_count = 1;
    }
#endif
    if (!is_host(load, "text")) return;
    uint64_t hash = 0xcbf29ce484222325;
    for (const char *byte = load->text; *byte; byte++) hash = (hash ^ (unsigned char)*byte) * 0x100000001b3;
    snprintf(load->tag, sizeof load->tag, "\"%016llx\"", (unsigned long long)hash);
    if (!response->storage) response->storage = PORTOLAN_STORE;
    if (response->field_count) return;
    load->tag_field = (portolan_field){ PORTOLAN_STRING("ETag"), { load->tag, strlen(load->tag) } };
    response->fields = &load->tag_field;
    response->field_count = 1;
}

/* Returns the status of the redirect and of its target; 0 for other loads. */
static int32_t status_of(const subject_load *load) {
    if (is_host(load, "redirect")) return 302;
    return portolan_equal(load->request->path, PORTOLAN_STRING("/there")) ? 200 : 0;
}

static portolan_flow respond(subject_load *load, int64_t length) {
    portolan_client *client = load->client;
    portolan_response response = make_response(length);
    if (!response.status) response.status = status_of(load);
    allow_storage(load, &response);
#ifdef CACHE_01b
    if (is_host(load, "large")) response.storage = 7;
#endif
#ifdef ORDER_10
    client->cached_response_is_valid(client, NULL);
#endif
#ifdef ORDER_10b
    if (load->request->cache_policy == PORTOLAN_CACHE_REVALIDATE) client->cached_response_is_valid(client, NULL);
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
static char static_bytes[512];
static void *change_last_byte(void *length) {
    pause_for(1);
    static_bytes[(size_t)(uintptr_t)length - 1] ^= 1;
    return NULL;
}
#endif

#if defined(FLOW_09) || defined(FLOW_09b) || defined(PERF_05)
static void *spin(void *pointer) {
    subject_load *load = pointer;
    while (load->is_held) __asm__ volatile("" : : : "memory");
    return NULL;
}
#endif

static UNUSED portolan_flow deliver_bytes(subject_load *load, const char *text, size_t length) {
    portolan_client *client = load->client;
#ifdef BODY_03
    pthread_t thread;
    memcpy(static_bytes, text, length);
    pthread_create(&thread, NULL, change_last_byte, (void *)(uintptr_t)length);
    portolan_flow flow = client->did_load(client, static_bytes, length);
    pthread_join(thread, NULL);
    return flow;
#elif defined(BODY_04)
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + 4096, 4096, PROT_NONE);
    memcpy(pages + 4096 - length, text, length);
    portolan_flow flow = client->did_load(client, pages + 4096 - length, length + 1);
    munmap(pages, 8192);
    return flow;
#elif defined(FLOW_09b)
    load->is_held = 1;
    load->has_thread = pthread_create(&load->thread, NULL, spin, load) == 0;
    portolan_flow flow = client->did_load(client, text, length);
    load->is_held = 0;
    if (load->has_thread) pthread_join(load->thread, NULL);
    load->has_thread = 0;
    return flow;
#elif defined(LIFE_09)
    static size_t output;
    output = 0;
    portolan_flow flow = PORTOLAN_CONTINUE;
    while (output < length && flow != PORTOLAN_STOPPED) {
        size_t start = output;
        flow = client->did_load(client, text + start, 1);
        output++;
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

/* Whether the stored response of the text has the validator of the text. */
static int is_stored_text_current(subject_load *load) {
    portolan_response current = make_response(0);
    allow_storage(load, &current);
    const portolan_field *tag = portolan_find_field(load->cached->fields, load->cached->field_count, PORTOLAN_STRING("ETag"));
#if defined(CACHE_06)
    (void)tag;
    return 1;
#elif defined(CACHE_06b)
    return tag && tag->value.length == strlen(load->tag);
#else
    return tag && portolan_equal(tag->value, (portolan_string){ load->tag, strlen(load->tag) });
#endif
}

/* Confirms the stored response of the text if it is current. Returns 1 if the load is over. */
static int confirm_stored_text(subject_load *load) {
    portolan_client *client = load->client;
    if (!load->cached || !is_host(load, "text") || !is_stored_text_current(load)) return 0;
#ifdef CACHE_04
    size_t size = (size_t)load->cached->expected_length;
    char *copy = malloc(size);
    copy[size / 2] = 0;
    free(copy);
#endif
#ifdef CACHE_04b
    char copied[512];
    int64_t count = client->read_cached(client, 0, copied, sizeof copied);
    if (count < 0 || respond(load, count) == PORTOLAN_STOPPED) return 1;
    if (client->did_load(client, copied, (size_t)count) != PORTOLAN_STOPPED) finish(load);
    return 1;
#endif
#ifdef CACHE_04c
    char whole[512];
    int64_t read = client->read_cached(client, 0, whole, sizeof whole);
    if (read >= 0 && read != (int64_t)strlen(load->text)) {
        fail(load, PORTOLAN_ERROR_IO_FAILED, "the stored text is not whole");
        return 1;
    }
    if (read < 0) return 1;
#endif
#ifdef CACHE_02b
    if (respond(load, 0) == PORTOLAN_STOPPED) return 1;
#endif
    client->cached_response_is_valid(client, NULL);
#ifdef CACHE_02
    return 0;
#endif
#ifdef CACHE_03
    client->did_load(client, load->text, strlen(load->text));
#endif
#ifdef CACHE_03b
    fail(load, PORTOLAN_ERROR_IO_FAILED, "the stored text is current");
    return 1;
#endif
    finish(load);
    return 1;
}
