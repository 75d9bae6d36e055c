/* SPDX-License-Identifier: Apache-2.0 */
/* The loads of the subject that contain a nested load. */

#if defined(NEST_08c) || defined(NEST_08d) || defined(NEST_08e)
/* Closes the nested load before the last use of its memory, as a destructor in C++ does while an exception unwinds. */
static void close_early(subject_load *load, portolan_nested *inner) {
    load->plugin->nested->close(inner);
    load->inner = NULL;
    load->repeats = 1;
}
#endif

/* Fails with the error of the nested load as the cause. */
static void fail_with_nested_error(subject_load *load, portolan_nested *inner) {
    const portolan_error *cause = load->plugin->nested->error(inner);
    if (!cause) return;
#ifdef LEAK_07
    load->repeats = 1;
#endif
    portolan_error error = { .size = sizeof error, .code = cause->code, .domain = cause->domain, .cause = cause,
                             .message = PORTOLAN_TEXT("the inner load failed") };
#ifdef NEST_02
    error.cause = NULL;
#endif
#ifdef NEST_07
    if (cause->code == PORTOLAN_ERROR_NESTED_TOO_DEEP) error = (portolan_error){ .size = sizeof error, .code = PORTOLAN_ERROR_IO_FAILED, .message = error.message };
#endif
#ifdef NEST_02b
    finish(load);
    return;
#endif
#ifdef NEST_08c
    close_early(load, inner);
#endif
    load->client->did_fail(load->client, &error);
}

static void forward_events(subject_load *load, portolan_nested *inner) {
    const portolan_nested_table *nested = load->plugin->nested;
    const portolan_response *response = NULL;
    const void *bytes = NULL;
    int64_t count;
    /* Like a plugin that reads one member of an archive. */
    int needs_only_first_byte = is_host(load, "nest-first");
#ifdef NEST_08f
    const void *previous = NULL;
#endif
    if (nested->response(inner, &response) == PORTOLAN_STOPPED || !response) {
#ifdef CANCEL_08
        while (!nested->error(inner)) pause_for(1);
#endif
#ifdef NEST_02b
        if (respond(load, -1) == PORTOLAN_STOPPED) return;
#endif
        return fail_with_nested_error(load, inner);
    }
#ifdef SEC_09
    int64_t announced = response->expected_length;
    char *whole = announced > 0 ? malloc((size_t)announced) : NULL;
    if (whole) whole[0] = 0;
    free(whole);
#endif
#ifdef NEST_08e
    close_early(load, inner);
    if (respond(load, response->expected_length) == PORTOLAN_STOPPED) return;
    if (load->client->did_load(load->client, "inner", 5) != PORTOLAN_STOPPED) finish(load);
    return;
#endif
    if (respond(load, needs_only_first_byte ? 1 : response->expected_length) == PORTOLAN_STOPPED) return;
    while ((count = nested->next(inner, &bytes)) > 0) {
#ifdef NEST_08d
        close_early(load, inner);
        if (load->client->did_load(load->client, bytes, (size_t)count) != PORTOLAN_STOPPED) finish(load);
        return;
#endif
#ifdef FUZZ_06
        if (count > 64 && *(const unsigned char *)bytes > 0x80) abort();
#endif
#ifdef SEC_09b
        uint32_t declared = UINT32_MAX;
        if (count >= (int64_t)sizeof declared) memcpy(&declared, bytes, sizeof declared);
        char *volatile part = declared <= 1U << 30 ? malloc(declared) : NULL;
        free(part);
#endif
#ifdef NEST_08f
        if (previous && load->client->did_load(load->client, previous, 1) == PORTOLAN_STOPPED) return;
        previous = bytes;
#endif
#ifdef NEST_09
        /* Expects a header of two bytes in one piece. */
        if (load->total == 0 && count < 2) return fail(load, PORTOLAN_ERROR_TRUNCATED, "the header is incomplete");
        load->total += count;
#endif
#ifdef NEST_09b
        /* Loses what does not fit in its buffer. */
        if (count > 65536) count = 65536;
#endif
#ifdef ORDER_02f
        if (portolan_equal(load->request->method, PORTOLAN_STRING("HEAD"))) return;
#endif
        if (needs_only_first_byte) count = 1;
        if (load->client->did_load(load->client, bytes, (size_t)count) == PORTOLAN_STOPPED) return;
        if (needs_only_first_byte) return finish(load);
    }
#ifdef NEST_05
    if (count < 0 && nested->error(inner)) return finish(load);
#endif
    if (count < 0) fail_with_nested_error(load, inner);
    else finish(load);
}

static void serve_nest(subject_load *load) {
    const portolan_nested_table *nested = load->plugin->nested;
#ifndef FAULT_07
    if (!nested) return fail(load, PORTOLAN_ERROR_UNSUPPORTED_SCHEME, "the host offers no portolan.nested/1");
#endif
#ifdef NEST_01
    if (respond(load, 5) == PORTOLAN_STOPPED) return;
    if (load->client->did_load(load->client, "inner", 5) == PORTOLAN_STOPPED) return;
    finish(load);
    return;
#endif
    portolan_change change = { .size = sizeof change, .url = PORTOLAN_TEXT("data:,inner"), .drops_fields = 1, .drops_body = 1 };
#ifdef ORDER_02f
    change.method = PORTOLAN_STRING("GET");
#endif
    char *large_url = NULL;
    if (is_host(load, "nest-large")) {
        size_t length = strlen("data:,") + NEST_LARGE;
        large_url = malloc(length);
        if (!large_url) return fail(load, PORTOLAN_ERROR_NO_MEMORY, "no memory for the URL");
        memcpy(memset(large_url, 'x', length), "data:,", strlen("data:,"));
        change.url = (portolan_string){ large_url, length };
    }
#ifdef SEC_01
    char url[1100] = "data:,inner";
    decode(load->request->path, url + strlen(url), sizeof url - strlen(url));
    change.url = (portolan_string){ url, strlen(url) };
#endif
#ifdef DESC_05m
    change.reserved = 1;
#endif
    portolan_nested *inner = nested->open(load->client, &change);
    free(large_url);
    forward_events(load, inner);
#if defined(LEAK_07) || defined(NEST_08c) || defined(NEST_08d) || defined(NEST_08e)
    if (load->repeats) return;
#endif
    nested->close(inner);
#ifdef NEST_08
    nested->close(inner);
#endif
#ifdef NEST_08b
    const void *bytes = NULL;
    nested->next(inner, &bytes);
#endif
}
