/* SPDX-License-Identifier: Apache-2.0 */
/* The event-driven loads of the subject: each does its next step until it has to wait. */

enum { LARGE_RUN = 65536, LARGE_RUNS = 32 };

#ifdef FLOW_08
static void *read_ahead(void *pointer) {
    subject_load *load = pointer;
    for (int i = 0; i < 64; i++) {
        memset((char *)load->ahead + ((size_t)i << 20), i, 1 << 20);
        pause_for(5);
    }
    return NULL;
}
#endif

#ifdef THREAD_02
static _Thread_local subject_load *of_this_thread;
#endif

#if defined(FLOW_09) || defined(PERF_05)
static void *spin(void *pointer) {
    subject_load *load = pointer;
    while (load->is_held) __asm__ volatile("" : : : "memory");
    return NULL;
}
#endif

#ifdef FLOW_10
static atomic_int held_loads;
#endif

static int64_t length_of(subject_load *load) {
    if (is_host(load, "large")) return (int64_t)LARGE_RUN * LARGE_RUNS;
    if (is_host(load, "echo")) return load->request->body_length;
    if (is_host(load, "redirect")) return 0;
    return (int64_t)compose(load);
}

static portolan_flow end(subject_load *load) {
    finish(load);
    return PORTOLAN_STOPPED;
}

static portolan_flow next_of_echo(subject_load *load) {
    portolan_client *client = load->client;
    char piece[1024];
    int64_t count = client->read_body(client, piece, sizeof piece);
#ifdef UPLOAD_02
    while (count == PORTOLAN_WAIT) count = client->read_body(client, piece, sizeof piece);
#endif
    if (count == 0) return end(load);
    if (count < 0) return (portolan_flow)count;
    load->total += count;
    client->did_send(client, load->total);
    return client->did_load(client, piece, (size_t)count);
}

static portolan_flow next_of_large(subject_load *load) {
    static char run[LARGE_RUN];
#ifdef PERF_03
    if (!load->ahead) load->ahead = memset(malloc(32 << 20), 1, 32 << 20);
#endif
#ifdef PERF_04
    if (load->runs == 0) pause_for(900);
#endif
    if (load->runs == LARGE_RUNS) return end(load);
    load->runs++;
#ifdef BODY_05
    for (int i = 1; i < LARGE_RUN / 1024; i++) {
        if (load->client->did_load(load->client, run, 1024) == PORTOLAN_STOPPED) return PORTOLAN_STOPPED;
    }
    return load->client->did_load(load->client, run, 1024);
#else
    return load->client->did_load(load->client, run, LARGE_RUN);
#endif
}

/* The next step of a load; PORTOLAN_STOPPED where there is none any more. */
static portolan_flow next(subject_load *load) {
    portolan_client *client = load->client;
    int stage = load->stage++;
    if (stage == 0 && is_host(load, "redirect")) {
        portolan_change to = { .size = sizeof to, .url = PORTOLAN_TEXT(SCHEME "-events://text/there") };
        portolan_response response = response_of(0);
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
    if (stage <= 1 && !load->has_responded) {
        load->has_responded = 1;
        load->stage = 2;
        return respond(load, length_of(load));
    }
    if (is_host(load, "echo")) return next_of_echo(load);
    if (is_host(load, "large")) return next_of_large(load);
    if (is_host(load, "redirect") || stage > 2) return end(load);
    portolan_flow flow = client->did_load(client, load->text, load->length);
#ifdef FLOW_07
    if (flow == PORTOLAN_PAUSE) return end(load);
#endif
    return flow;
}

static void pump(subject_load *load) {
    load->length = compose(load);
#ifdef FLOW_10
    if (held_loads > 0 && !load->was_held) return;
#endif
    while (!load->is_paused && !load->is_over && !load->is_asking) {
        portolan_flow flow = next(load);
        if (load->is_asking) return;
        if (flow == PORTOLAN_STOPPED) load->is_over = 1;
        if (flow == PORTOLAN_WAIT) return;
        if (flow != PORTOLAN_PAUSE) continue;
#ifdef FLOW_01
        if (load->runs == 0 && load->stage == 2) continue;
#endif
        load->is_paused = 1;
#ifdef FLOW_03
        clock_gettime(CLOCK_MONOTONIC, &load->paused);
#endif
#ifdef FLOW_08
        if (is_host(load, "large") && !load->ahead) {
            load->ahead = malloc(64 << 20);
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
        load->pauses++;
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
    of_this_thread = load;
#endif
    if (!is_host(load, "text") && !is_host(load, "large") && !is_host(load, "echo") && !is_host(load, "ask") && !is_host(load, "redirect")) {
        load->is_over = 1;
        return fail(load, PORTOLAN_ERROR_NOT_FOUND, "nothing is there: try " SCHEME "-events://text/NAME");
    }
    pump(load);
}

static void woken(void *load) { pump(load); }

static void answered(void *pointer, const portolan_answer *answer) {
    subject_load *load = pointer;
    load->is_asking = 0;
    switch (settle(load, answer)) {
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
    if ((now.tv_sec - load->paused.tv_sec) * 1000 + (now.tv_nsec - load->paused.tv_nsec) / 1000000 > 200) load->stage = 3;
#endif
#ifdef FLOW_04
    if (!load->is_paused && load->has_responded && !load->is_over && !load->repeats++) load->client->did_load(load->client, "again", 5);
#endif
#ifdef THREAD_02
    if (of_this_thread != load) return;
#endif
    load->is_paused = 0;
    pump(load);
}

static UNUSED void stop_turns(void *pointer) {
    subject_load *load = pointer;
#ifdef FUZZ_04
    if (load->is_paused && load->pauses > 1) abort();
#endif
#ifdef FLOW_05
    if (load->is_paused) load->client->did_load(load->client, load->text, load->length);
#endif
#ifdef CANCEL_01
    if (!load->is_paused) fail(load, PORTOLAN_ERROR_CANCELLED, "it was stopped");
#endif
    load->is_over = 1;
}
