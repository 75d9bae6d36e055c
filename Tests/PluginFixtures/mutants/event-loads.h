/* SPDX-License-Identifier: Apache-2.0 */
/* The event-driven loads of the subject. A load sends its next event until it has to wait. */

enum { PIECE_LENGTH = 65536, LARGE_PIECE_COUNT = 32, HUGE_PIECE_COUNT = 65537 };

#ifdef FLOW_08
static void *read_ahead(void *pointer) {
    subject_load *load = pointer;
    for (int i = 0; i < 64; i++) {
        memset((char *)load->read_ahead_buffer + ((size_t)i << 20), i, 1 << 20);
        pause_for(5);
    }
    return NULL;
}
#endif

#ifdef THREAD_02
static _Thread_local subject_load *load_of_this_thread;
#endif

#ifdef FLOW_10
static atomic_int held_loads;
#endif

/* Returns the length of the load `huge`: a little more than 4 GiB. */
static int64_t huge_length(void) {
    int64_t length = (int64_t)PIECE_LENGTH * HUGE_PIECE_COUNT;
#ifdef BODY_07
    return (uint32_t)length;
#else
    return length;
#endif
}

static int64_t response_length(subject_load *load) {
    if (is_host(load, "large")) return (int64_t)PIECE_LENGTH * LARGE_PIECE_COUNT;
    if (is_host(load, "huge")) return huge_length();
    if (is_host(load, "echo")) return load->request->body_length;
    if (is_host(load, "redirect")) return 0;
    return (int64_t)write_greeting(load);
}

static portolan_flow finish_and_stop(subject_load *load) {
#ifdef ORDER_02e
    if (portolan_equal(load->request->method, PORTOLAN_STRING("HEAD"))) return PORTOLAN_WAIT;
#endif
    finish(load);
    return PORTOLAN_STOPPED;
}

static portolan_flow next_echo_event(subject_load *load) {
    portolan_client *client = load->client;
#ifdef THREAD_03b
    static
#endif
    char piece[1024];
    int64_t count = client->read_body(client, piece, sizeof piece);
#ifdef UPLOAD_02
    while (count == PORTOLAN_WAIT) count = client->read_body(client, piece, sizeof piece);
#endif
    if (count == 0) return finish_and_stop(load);
    if (count < 0) return (portolan_flow)count;
    load->total += count;
    client->did_send(client, load->total);
    return client->did_load(client, piece, (size_t)count);
}

/* Reads from the nested load only when it is called, so nothing while the outer load is paused. */
static portolan_flow next_nest_event(subject_load *load) {
    const portolan_nested_table *nested = load->plugin->nested;
    const portolan_response *response = NULL;
    const void *bytes = NULL;
    int64_t count = PORTOLAN_STOPPED;
    if (!load->inner) {
        portolan_change change = { .size = sizeof change, .url = PORTOLAN_TEXT("data:,inner"), .drops_fields = 1, .drops_body = 1 };
        load->inner = nested->open(load->client, &change);
    }
    if (!load->has_responded) {
        portolan_flow flow = nested->response(load->inner, &response);
        if (flow == PORTOLAN_WAIT) return flow;
        if (flow == PORTOLAN_CONTINUE) {
            load->has_responded = 1;
            return respond(load, response->expected_length);
        }
    } else {
        count = nested->next(load->inner, &bytes);
        if (count == PORTOLAN_WAIT) return PORTOLAN_WAIT;
        if (count > 0) {
            portolan_flow flow = load->client->did_load(load->client, bytes, (size_t)count);
#ifdef NEST_04
            // Drops the bytes. The violation is that the load continues to read.
            while (flow == PORTOLAN_PAUSE && load->delivery_count++ < 3 && nested->next(load->inner, &bytes) > 0) load->repeats++;
#endif
            return flow;
        }
    }
    if (count == 0) return finish_and_stop(load);
    fail_with_nested_error(load, load->inner);
    return PORTOLAN_STOPPED;
}

static int cancels(const subject_load *load) { return is_host(load, "cancels"); }
static int waits(const subject_load *load) { return is_host(load, "wait") || is_host(load, "slow"); }

/* Waits for a timer, sends a byte through the load's sockets, waits until the host reports it, and then ends. */
static portolan_flow next_wait_event(subject_load *load) {
    const portolan_watch_table *watch = load->plugin->watch;
    portolan_client *client = load->client;
    char byte;
    if (!load->delivery_count++) {
#ifdef WATCH_02
        watch->watch(client, load->pipe[0], 64);
#endif
#ifdef WATCH_02b
        watch->set_timer(client, PORTOLAN_TIMER_LIMIT, 1);
#endif
        watch->set_timer(client, 0, is_host(load, "slow") ? SLOW : 5);
        int32_t problem = watch->watch(client, load->pipe[0], PORTOLAN_READABLE);
#ifndef FAULT_07b
        if (problem > 0) {
            fail(load, PORTOLAN_ERROR_NO_RESOURCES, "the host can't watch the sockets");
            return PORTOLAN_STOPPED;
        }
#endif
        return problem == PORTOLAN_STOPPED ? PORTOLAN_STOPPED : PORTOLAN_WAIT;
    }
    if (watch->fired(client, 0) && send(load->pipe[1], "x", 1, MSG_NOSIGNAL) < 0) {
        fail(load, PORTOLAN_ERROR_IO_FAILED, "the sockets are closed");
        return PORTOLAN_STOPPED;
    }
    if (!load->has_responded) {
        if (!(watch->ready(client, load->pipe[0]) & PORTOLAN_READABLE)) return PORTOLAN_WAIT;
        if (recv(load->pipe[0], &byte, 1, MSG_DONTWAIT) < 1) {
            fail(load, PORTOLAN_ERROR_IO_FAILED, "the sockets are closed");
            return PORTOLAN_STOPPED;
        }
#ifdef WATCH_03
        watch->watch(client, load->pipe[0], PORTOLAN_READABLE);
        close(load->pipe[0]);
        load->pipe[0] = -1;
#endif
        load->has_responded = 1;
        return respond(load, 5);
    }
    if (!load->repeats++) return client->did_load(client, "waits", 5);
    return finish_and_stop(load);
}

/* Closes the nested load when no event follows. */
static void close_inner(subject_load *load) {
    if (load->inner) load->plugin->nested->close(load->inner);
    load->inner = NULL;
}

#ifdef LOAD_02
static atomic_int large_loads;
#endif

static portolan_flow next_large_event(subject_load *load) {
    static char piece[PIECE_LENGTH];
#ifdef LOAD_02
    if (!load->is_large++) large_loads++;
    if (large_loads > 40) return load->client->did_load(load->client, piece, PIECE_LENGTH - 1);
#endif
#ifdef PERF_03
    if (!load->read_ahead_buffer) load->read_ahead_buffer = memset(malloc(32 << 20), 1, 32 << 20);
#endif
#ifdef PERF_02
    work_for(20);
#endif
#ifdef PERF_04
    if (load->delivery_count == 0) pause_for(900);
#endif
    if (load->delivery_count == LARGE_PIECE_COUNT) return finish_and_stop(load);
    load->delivery_count++;
#ifdef BODY_05
    for (int i = 1; i < PIECE_LENGTH / 1024; i++) {
        if (load->client->did_load(load->client, piece, 1024) == PORTOLAN_STOPPED) return PORTOLAN_STOPPED;
    }
    return load->client->did_load(load->client, piece, 1024);
#else
    return load->client->did_load(load->client, piece, PIECE_LENGTH);
#endif
}

static portolan_flow next_huge_event(subject_load *load) {
    static char piece[PIECE_LENGTH];
    if ((int64_t)load->delivery_count * PIECE_LENGTH == huge_length()) return finish_and_stop(load);
    load->delivery_count++;
    return load->client->did_load(load->client, piece, PIECE_LENGTH);
}

/* Sends the next event of a load. Returns PORTOLAN_STOPPED if no event follows. */
static portolan_flow next_event(subject_load *load) {
    portolan_client *client = load->client;
    int stage = load->stage++;
    if (stage == 0 && is_host(load, "redirect")) {
        /* The target of its Location: subject-events://text/there. */
        static const portolan_field location = { PORTOLAN_TEXT("Location"),
#ifdef SEC_03c
                                                 PORTOLAN_TEXT("file:///etc/hostname") };
#else
                                                 PORTOLAN_TEXT("//text/there") };
#endif
        portolan_change to = { .size = sizeof to };
        portolan_response response = make_response(0);
        response.status = status_of(load);
        response.fields = &location;
        response.field_count = 1;
#ifdef REDIR_01b
        response.field_count = 0;
#endif
        portolan_flow flow = client->was_redirected(client, &to, &response);
#ifdef REDIR_06
        if (flow == PORTOLAN_PAUSE) return PORTOLAN_CONTINUE;
#endif
        return flow;
    }
    if (stage == 0 && is_host(load, "ask")) {
        prepare_challenge(load);
        load->stage = 0;
        load->is_asking = 1;
        return client->did_receive_challenge(client, &load->challenge, NULL);
    }
    if (stage == 0 && cancels(load)) {
        prepare_challenge(load);
        load->is_asking = 1;
        load->plugin->watch->set_timer(client, 0, 5);
        return client->did_receive_challenge(client, &load->challenge, NULL);
    }
    if (stage == 0 && confirm_stored_text(load)) return PORTOLAN_STOPPED;
    if (is_host(load, "nest")) return next_nest_event(load);
    if (waits(load)) return next_wait_event(load);
    if (stage <= 1 && !load->has_responded) {
        load->has_responded = 1;
        load->stage = 2;
        return respond(load, response_length(load));
    }
    if (is_host(load, "echo")) return next_echo_event(load);
    if (is_host(load, "large")) return next_large_event(load);
    if (is_host(load, "huge")) return next_huge_event(load);
    if (is_host(load, "redirect") || stage > 2) return finish_and_stop(load);
    portolan_flow flow = client->did_load(client, load->text, load->length);
#ifdef FLOW_07
    if (flow == PORTOLAN_PAUSE) return finish_and_stop(load);
#endif
    return flow;
}

static void pump(subject_load *load) {
    load->length = write_greeting(load);
#ifdef FLOW_10
    if (held_loads > 0 && !load->was_held) return;
#endif
    while (!load->is_paused && !load->is_over && !load->is_asking) {
        portolan_flow flow = next_event(load);
        if (load->is_asking) return;
        if (flow == PORTOLAN_STOPPED) {
            load->is_over = 1;
            close_inner(load);
        }
        if (flow == PORTOLAN_WAIT) return;
        if (flow != PORTOLAN_PAUSE) continue;
#ifdef FLOW_01
        if (load->delivery_count == 0 && load->stage == 2) continue;
#endif
        load->is_paused = 1;
#ifdef FLOW_03
        clock_gettime(CLOCK_MONOTONIC, &load->pause_time);
#endif
#ifdef FLOW_08
        if (is_host(load, "large") && !load->read_ahead_buffer) {
            load->read_ahead_buffer = malloc(64 << 20);
            pthread_create(&load->thread, NULL, read_ahead, load);
            load->has_thread = 1;
        }
#endif
#ifdef FLOW_09
        if (!load->has_thread) {
            load->is_held = 1;
            load->has_thread = pthread_create(&load->thread, NULL, spin, load) == 0;
        }
#endif
#ifdef FLOW_10
        if (!load->was_held++) held_loads++;
#endif
#ifdef FUZZ_04
        load->pause_count++;
#endif
#ifdef PERF_05
        static atomic_int paused_loads;
        if (++paused_loads == 50 && !load->has_thread) {
            load->is_held = 1;
            load->has_thread = pthread_create(&load->thread, NULL, spin, load) == 0;
        }
#endif
    }
}

static void start(void *pointer) {
    subject_load *load = pointer;
    load->is_started = 1;
#ifdef LIFE_03
    pause_for(80);
#endif
#ifdef THREAD_02
    load_of_this_thread = load;
#endif
    if ((is_host(load, "nest") && !load->plugin->nested) || ((waits(load) || cancels(load)) && !load->plugin->watch)) {
        load->is_over = 1;
        return fail(load, PORTOLAN_ERROR_UNSUPPORTED_SCHEME, "the host does not offer the extension for it");
    }
    if (!is_host(load, "nest") && !waits(load) && !cancels(load) && !is_host(load, "text") && !is_host(load, "large") && !is_host(load, "huge") && !is_host(load, "echo") && !is_host(load, "ask") && !is_host(load, "redirect")) {
        load->is_over = 1;
        return fail(load, PORTOLAN_ERROR_NOT_FOUND, "nothing is there: try " SCHEME "-events://text/NAME");
    }
    pump(load);
}

static void woken(void *pointer) {
    subject_load *load = pointer;
    /* Acts like a peer that stops waiting for the password and serves the text without it. */
    if (load->is_asking && cancels(load) && load->plugin->watch->fired(load->client, 0)) {
#ifndef CHAL_08b
        load->client->did_cancel_challenge(load->client);
#endif
#ifdef CHAL_08
        return;
#endif
        load->is_asking = 0;
    }
    pump(load);
}

static void answered(void *pointer, const portolan_answer *answer) {
    subject_load *load = pointer;
    load->is_asking = 0;
    if (cancels(load)) {
        pump(load);
        return;
    }
    switch (handle_answer(load, answer)) {
    case 1: load->stage = 1; break;
    case 0:
        load->is_asking = 1;
        load->client->did_receive_challenge(load->client, &load->challenge, NULL);
        return;
    default: load->is_over = 1; return;
    }
    pump(load);
}

static void resume(void *pointer) {
    subject_load *load = pointer;
#ifdef FLOW_02
    if (load->is_paused && load->stage == 3 && !load->repeats++) load->stage = 2;
#endif
#ifdef FLOW_03
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((now.tv_sec - load->pause_time.tv_sec) * 1000 + (now.tv_nsec - load->pause_time.tv_nsec) / 1000000 > 200) load->stage = 3;
#endif
#ifdef FLOW_04
    if (!load->is_paused && load->has_responded && !load->is_over && !load->repeats++) load->client->did_load(load->client, "again", 5);
#endif
#ifdef THREAD_02
    if (load_of_this_thread != load) return;
#endif
    load->is_paused = 0;
    pump(load);
}

static UNUSED void stop_event_load(void *pointer) {
    subject_load *load = pointer;
#ifdef FUZZ_04
    if (load->is_paused && load->pause_count > 1) abort();
#endif
#ifdef FLOW_05
    if (load->is_paused) load->client->did_load(load->client, load->text, load->length);
#endif
#ifdef CANCEL_01
    if (!load->is_paused) fail(load, PORTOLAN_ERROR_CANCELLED, "it was stopped");
#endif
    load->is_over = 1;
    close_inner(load);
}
