/* SPDX-License-Identifier: Apache-2.0 */
/* A library without any use of Portolan, with a function for each type and each ownership rule of a binding. */
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#pragma GCC visibility push(default)

/* Data symbols, which a binding cannot call. */
int bf_data = 7;
const char bf_constant[] = "seven";
__thread int bf_own_data;

/* The numbers of handles and blocks that the caller has not freed yet, and of calls of `bf_note`. */
static int live_things, live_blocks, calls;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void add_to_count(int *counter, int change) {
    pthread_mutex_lock(&mutex);
    *counter += change;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
}

static int read_count(int *counter) {
    pthread_mutex_lock(&mutex);
    int value = *counter;
    pthread_mutex_unlock(&mutex);
    return value;
}

int bf_live_things(void) { return read_count(&live_things); }
int bf_live_blocks(void) { return read_count(&live_blocks); }
/* The number of calls of `bf_note` since the start. */
int bf_calls(void) { return read_count(&calls); }
void bf_note(void) { add_to_count(&calls, 1); }

/* One function for each number type, as its parameter and its result. */
int8_t bf_int8(int8_t x) { return (int8_t)-x; }
uint8_t bf_uint8(uint8_t x) { return (uint8_t)~x; }
int16_t bf_int16(int16_t x) { return (int16_t)-x; }
uint16_t bf_uint16(uint16_t x) { return (uint16_t)~x; }
int32_t bf_int32(int32_t x) { return -x; }
uint32_t bf_uint32(uint32_t x) { return ~x; }
int64_t bf_int64(int64_t x) { return -x; }
uint64_t bf_uint64(uint64_t x) { return ~x; }
size_t bf_size(size_t x) { return ~x; }
ssize_t bf_ssize(ssize_t x) { return -x; }
long bf_long(long x) { return -x; }
unsigned long bf_ulong(unsigned long x) { return ~x; }
float bf_float(float x) { return x * 2; }
double bf_double(double x) { return x / 2; }
bool bf_bool(bool x) { return !x; }

/* Sixteen arguments, more than fit in registers. */
int64_t bf_sum(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f, int64_t g, uint64_t h, size_t i, double j, float k, bool l,
               int64_t m, int64_t n, int64_t o, int64_t p) {
    return a + b + c + d + e + (int64_t)f + g + (int64_t)h + (int64_t)i + (int64_t)j + (int64_t)k + l + m + n + o + p;
}

/* Adds variable arguments. Each letter of `kinds` is the type of one: int, long, double, text. 'o' is an output. */
double bf_vsum(const char *kinds, ...) {
    va_list list;
    va_start(list, kinds);
    double sum = 0;
    for (; *kinds; kinds++) {
        if (*kinds == 'i') sum += va_arg(list, int);
        if (*kinds == 'l') sum += (double)va_arg(list, long);
        if (*kinds == 'd') sum += va_arg(list, double);
        if (*kinds == 's') sum += (double)strlen(va_arg(list, const char *));
        if (*kinds == 'o') *va_arg(list, long *) = 77;
    }
    va_end(list);
    return sum;
}

/* Text that the library owns, or NULL; then text that the caller must free. */
const char *bf_lent_text(int which) { return which == 0 ? NULL : which == 1 ? "lent" : "line\nbreak\x1b[31m"; }

char *bf_given_text(const char *text) {
    add_to_count(&live_blocks, 1);
    return strdup(text ? text : "nothing");
}

void bf_free(void *block) {
    add_to_count(&live_blocks, -1);
    free(block);
}

/* A text of `count` bytes, which the caller must free. */
char *bf_long_text(size_t count) {
    add_to_count(&live_blocks, 1);
    char *text = malloc(count + 1);
    memset(text, 'x', count);
    text[count] = 0;
    return text;
}

/* Structs whose fields a binding reads: a list of two rows, and a row in which nothing is set. */
typedef struct row {
    int8_t kind;
    double weight;
    uint32_t length;
    char label[8];
    const char *text;
    const struct row *next;
    bool is_last;
} row;

const row *bf_rows(void) {
    static const row last = {.kind = 2, .weight = 0.5, .label = {'l', 'a', 's', 't', 'l', 'a', 'b', 'e'}, .text = "one, two", .is_last = true};
    static const row first = {.kind = -1, .weight = 2, .length = 4000000000u, .label = "first", .text = "text", .next = &last};
    return &first;
}

const row *bf_empty_row(void) {
    static const row empty;
    return &empty;
}

const row *bf_no_row(void) { return NULL; }

/* A struct with an unaligned field. */
const void *bf_packed_row(void) {
    static const struct __attribute__((packed)) {
        uint8_t kind;
        uint64_t number;
    } packed = {1, 0x0102030405060708};
    return &packed;
}

/* Bytes that the library borrows, bytes that the caller must free, and bytes that the library owns. */
uint64_t bf_hash(const void *bytes, size_t length) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    return hash;
}

void *bf_blob(int filler, size_t *length) {
    add_to_count(&live_blocks, 1);
    *length = 70000;
    char *block = malloc(70000);
    memset(block, filler, 70000);
    return block;
}

const void *bf_lent_blob(size_t *length) {
    *length = 4;
    return "a\0b";
}

const void *bf_absurd_blob(size_t *length) {
    *length = SIZE_MAX;
    return "x";
}

/* Returns one byte, and reports a length of 1/4 GiB and one byte. */
int bf_lend_huge(const void **bytes, uint32_t *length) {
    *bytes = "x";
    *length = (256u << 20) + 1;
    return 0;
}

/* Outputs. */
int bf_outputs(int8_t *a, uint16_t *b, int64_t *c, double *d, bool *e, const char **f, const char **g) {
    *a = -5;
    *b = 65535;
    *c = INT64_MIN;
    *d = 0.25;
    *e = true;
    *f = "put out";
    *g = NULL;
    return 0;
}

/* A handle. */
typedef struct thing {
    const char *remaining_text;
    bool is_woken;
} thing;

thing *bf_open(const char *text) {
    if (strcmp(text, "refused") == 0) return NULL;
    add_to_count(&live_things, 1);
    thing *self = calloc(1, sizeof *self);
    self->remaining_text = text;
    return self;
}

int bf_open_into(const char *text, thing **self) {
    *self = bf_open(text);
    return *self ? 0 : 9;
}

/* Fails to open. Outputs a handle and a reason that the caller must not free. */
int bf_open_broken(thing **self, const char **reason) {
    static thing broken = {.remaining_text = "its lid is stuck"};
    *self = &broken;
    *reason = "a broken thing";
    return 14;
}

/* Fails to open, but outputs a handle that the caller must close. A test does not close it. So that LeakSanitizer does
   not report it, a variable points to it. */
thing *bf_half_open;
int bf_open_half(thing **self) {
    bf_half_open = *self = bf_open("");
    return 14;
}

/* Outputs a text that the caller must free, and returns `status`. */
int bf_give_text(int status, char **text) {
    *text = bf_given_text("given");
    return status;
}

const char *bf_thing_error(thing *self) { return self->remaining_text; }

void bf_close(thing *self) {
    add_to_count(&live_things, -1);
    free(self);
}

const char *bf_error(int status) { return status == 9 ? "the thing was refused" : status == 0 ? "" : "something else"; }

/* Fills a buffer. Returns the number of bytes, 0 at the end. */
ssize_t bf_read(thing *self, void *buffer, size_t capacity) {
    size_t length = strlen(self->remaining_text);
    if (length > capacity) length = capacity;
    memcpy(buffer, self->remaining_text, length);
    self->remaining_text += length;
    return (ssize_t)length;
}

/* Fills a buffer and outputs the number of bytes. Returns 1 at the end. */
int bf_read_into(thing *self, void *buffer, uint32_t capacity, uint32_t *filled) {
    *filled = (uint32_t)bf_read(self, buffer, capacity);
    return *filled == 0;
}

/* Like `bf_read_into`, but returns 1 together with the last bytes. */
int bf_read_early(thing *self, void *buffer, uint32_t capacity, uint32_t *filled) {
    bf_read_into(self, buffer, capacity, filled);
    return *self->remaining_text == 0;
}

/* Outputs one byte as text. Returns NULL together with the last byte. */
thing *bf_next_thing(thing *self, const char **byte) {
    static char text[2];
    text[0] = *self->remaining_text;
    *byte = text;
    if (*self->remaining_text) self->remaining_text++;
    return *self->remaining_text ? self : NULL;
}

/* Fills a buffer, but returns −1, which means a failure. */
ssize_t bf_read_broken(void *buffer, size_t capacity) {
    memset(buffer, 'x', capacity);
    return -1;
}

/* Reports more filled bytes than the buffer has. */
ssize_t bf_overfill(void *buffer, size_t capacity) {
    memset(buffer, 'x', capacity);
    return (ssize_t)capacity + 1;
}

/* Returns 1 for the end, and outputs a length but no bytes. */
int bf_end(const void **bytes, size_t *length) {
    *bytes = NULL;
    *length = 3;
    return 1;
}

/* Returns 1 for the end, and outputs the length -1, as many libraries do. */
int bf_end_below_zero(const void **bytes, size_t *length) {
    *bytes = "none";
    *length = (size_t)-1;
    return 1;
}

/* Outputs bytes that the handle owns, one at a time. */
int bf_next(thing *self, const void **bytes, size_t *length) {
    *bytes = self->remaining_text;
    *length = *self->remaining_text ? 1 : 0;
    self->remaining_text += *length;
    return *length == 0;
}

/* Returns one byte of the text at a time, and NULL at the end. */
const char *bf_next_word(thing *self) {
    static char text[2];
    text[0] = *self->remaining_text;
    if (*self->remaining_text) self->remaining_text++;
    return text[0] ? text : NULL;
}

/* Outputs a digit at a time, and returns 1 together with the last one. */
int bf_next_digit(thing *self, int *digit) {
    *digit = *self->remaining_text - '0';
    if (*self->remaining_text) self->remaining_text++;
    return *self->remaining_text == 0;
}

/* Pointers that the caller passes once, kept like those of putenv(3) and openlog(3). */
static const char *remembered_text;
static const void *remembered_bytes;
static size_t remembered_length;
static long *remembered_place;

void bf_remember_text(const char *text) { remembered_text = text; }
const char *bf_remembered_text(void) { return remembered_text; }

void bf_remember_bytes(const void *bytes, size_t length) {
    remembered_bytes = bytes;
    remembered_length = length;
}

const void *bf_remembered_bytes(size_t *length) {
    *length = remembered_length;
    return remembered_bytes;
}

/* Writes to the caller's memory and reads it again, long after the call that received the pointer. */
void bf_remember_place(long *place) { remembered_place = place; }

long bf_use_place(long value) {
    *remembered_place = value;
    return *remembered_place;
}

/* Callbacks. */
typedef size_t write_function(const void *bytes, size_t size, size_t count, void *user);

int bf_write(const char *text, write_function *write, void *user) {
    for (; *text; text++)
        if (write(text, 1, 1, user) != 1) return 23;
    return 0;
}

int bf_write_narrow(int8_t (*each)(void *user, uint8_t a, int16_t b, double c), void *user) { return each(user, 200, -3, 0.5); }

int bf_write_absurd(write_function *write, void *user) { return (int)write("x", SIZE_MAX, SIZE_MAX, user); }
int bf_write_huge(write_function *write, void *user) { return (int)write("x", 1, (256u << 20) + 1, user); }
int bf_write_null(write_function *write, void *user) { return (int)write(NULL, 1, 5, user); }
int bf_write_other_user(write_function *write, void *user) { return (int)write("x", 1, 1, (char *)user + 16); }

static write_function *kept_function;
static void *kept_user;

int bf_keep(write_function *write, void *user) {
    kept_function = write;
    kept_user = user;
    return 0;
}

/* Calls the kept callback, which can happen after its load has ended. */
int64_t bf_call_kept(void) { return kept_function ? (int64_t)kept_function("late", 1, 4, kept_user) : -1; }

static void *call_on_thread(void *result) {
    *(int64_t *)result = bf_call_kept();
    return NULL;
}

int bf_write_elsewhere(write_function *write, void *user) {
    pthread_t thread;
    int64_t result = 0;
    bf_keep(write, user);
    if (pthread_create(&thread, NULL, call_on_thread, &result) != 0) return 99;
    pthread_join(thread, NULL);
    return (int)result;
}

/* Writes until the callback asks it to stop. */
int bf_write_forever(write_function *write, void *user) {
    while (write("again ", 1, 6, user) == 6) {}
    return 23;
}

int64_t bf_pull(size_t (*read)(void *buffer, size_t size, size_t count, void *user), void *user) {
    char buffer[100];
    int64_t sum = 0;
    size_t length;
    while ((length = read(buffer, 1, sizeof buffer, user)) > 0 && length <= sizeof buffer)
        for (size_t i = 0; i < length; i++) sum += (unsigned char)buffer[i];
    return length == 0 ? sum : -1;
}

/* Blocks until it is woken by another thread. */
int bf_wait(thing *self) {
    pthread_mutex_lock(&mutex);
    calls++;
    pthread_cond_broadcast(&condition);
    while (!self->is_woken) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return 7;
}

/* Writes a byte, ignores the result, and then blocks until it is woken. */
int bf_write_and_wait(thing *self, write_function *write, void *user) {
    write("x", 1, 1, user);
    return bf_wait(self);
}

void bf_wake(thing *self) {
    pthread_mutex_lock(&mutex);
    self->is_woken = true;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
}

/* A callback without user data. */
typedef void log_function(const void *text, size_t length);

static log_function *logger;

void bf_set_log(log_function *log) { logger = log; }
void bf_write_log(const char *text, log_function *log) { log(text, strlen(text)); }
void bf_log(const char *text) { logger(text, strlen(text)); }

static void *log_on_thread(void *text) {
    bf_log(text);
    return NULL;
}

int bf_log_elsewhere(const char *text) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, log_on_thread, (void *)text) != 0) return 99;
    return pthread_join(thread, NULL);
}

#pragma GCC visibility pop
