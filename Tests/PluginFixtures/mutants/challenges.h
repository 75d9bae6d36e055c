/* SPDX-License-Identifier: Apache-2.0 */
/* The load of the subject that needs a password. */

/* Handles an answer. Returns 1 if it is right, 0 if the load sends another challenge, -1 if the load has failed. */
static int handle_answer(subject_load *load, const portolan_answer *answer) {
    portolan_challenge *challenge = &load->challenge;
    switch (answer->disposition) {
    case PORTOLAN_USE: break;
    case PORTOLAN_CANCEL:
#ifdef CHAL_05
        fail(load, PORTOLAN_ERROR_AUTHENTICATION_REQUIRED, "a password is needed");
#else
        fail(load, PORTOLAN_ERROR_AUTHENTICATION_CANCELLED, "the challenge was cancelled");
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
#ifdef CHAL_09b
        for (size_t i = 0; i < answer->password.length && i < 16; i++) {
            snprintf(message + 3 * i, 4, "%%%02x", (unsigned char)answer->password.bytes[i]);
        }
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

#ifdef CHAL_02b
static _Thread_local const portolan_answer *kept_answer;
#endif

/* Returns whether the right password was received. If not, the load has failed or was stopped. */
static int authenticate(subject_load *load) {
    portolan_client *client = load->client;
    prepare_challenge(load);
#ifdef LIFE_10b
    static atomic_int wrong_count;
    if (wrong_count >= 3) {
        fail(load, PORTOLAN_ERROR_ACCESS_DENIED, "too many wrong passwords");
        return 0;
    }
#endif
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
        if (flow == PORTOLAN_STOPPED) return 0;
#ifdef CHAL_02
        clock_gettime(CLOCK_MONOTONIC, &after);
        if ((after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000 > 20) {
            fail(load, PORTOLAN_ERROR_TIMED_OUT, "the answer came too late");
            return 0;
        }
#endif
        int result = handle_answer(load, answer);
        if (result < 0) return 0;
#ifdef CHAL_03b
        while (result == 0 && !client->is_stopped(client)) pause_for(5);
#endif
#ifdef LIFE_10b
        if (result == 0) wrong_count++;
#endif
#ifdef CHAL_02b
        kept_answer = answer;
#endif
        if (result > 0) return 1;
    }
}

static void serve_ask(subject_load *load) {
    portolan_client *client = load->client;
    if (!authenticate(load)) return;
    size_t length = write_greeting(load);
    if (respond(load, (int64_t)length) == PORTOLAN_STOPPED) return;
#ifdef CHAL_02b
    if (kept_answer && kept_answer->password.length > 1000000) abort();
#endif
    if (client->did_load(client, load->text, length) == PORTOLAN_STOPPED) return;
    finish(load);
}
