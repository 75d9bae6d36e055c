/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the fixture library through libffi like PortolanBinding, for Valgrind: each kind of signature, variadic
 * functions, and closures that the library calls, also from other threads and after the call that received them.
 *
 *   calls LIBRARY */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <ffi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { MAXIMUM_ARGUMENTS = 16 };

static void *library;
static void (*find_function(const char *name))(void) {
    void (*function)(void) = NULL;
    *(void **)&function = dlsym(library, name);
    if (!function) fprintf(stderr, "no function %s\n", name), exit(2);
    return function;
}
static void expect(int condition, const char *subject) {
    if (!condition) fprintf(stderr, "wrong: %s\n", subject), exit(1);
}

/* One call: the types and values of the arguments. `fixed` is the number of arguments before the dots of a variadic
 * function. */
typedef struct call {
    ffi_type *result, *types[MAXIMUM_ARGUMENTS];
    void *values[MAXIMUM_ARGUMENTS];
    unsigned count, fixed;
    int is_variadic;
} call;

static uint64_t perform(const char *name, call c) {
    ffi_cif interface;
    uint64_t result[2] = { 0, 0 };
    ffi_status status = c.is_variadic ? ffi_prep_cif_var(&interface, FFI_DEFAULT_ABI, c.fixed, c.count, c.result, c.types)
                                      : ffi_prep_cif(&interface, FFI_DEFAULT_ABI, c.count, c.result, c.types);
    expect(status == FFI_OK, name);
    ffi_call(&interface, find_function(name), result, c.values);
    return result[0];
}

/* ---- closures ---- */

/* A closure and its user data. */
typedef struct closure_slot {
    ffi_cif interface;
    ffi_type *types[4];
    ffi_closure *closure;
    void *code;
    int64_t received; /* bytes, or the sum of the arguments */
} closure_slot;

static void receive_bytes(ffi_cif *interface, void *result, void **values, void *context) {
    closure_slot *s = context;
    const char *bytes = *(const char **)values[0];
    size_t size = *(size_t *)values[1], count = *(size_t *)values[2];
    (void)interface;
    for (size_t i = 0; bytes && i < size * count; i++) s->received += bytes[i] != 0;
    *(ffi_arg *)result = size * count;
}
static void receive_narrow_arguments(ffi_cif *interface, void *result, void **values, void *context) {
    (void)interface;
    ((closure_slot *)context)->received = *(uint8_t *)values[1] + *(int16_t *)values[2];
    *(ffi_sarg *)result = (int8_t)-100;
}

static closure_slot *make_slot(void (*function)(ffi_cif *, void *, void **, void *), ffi_type *result,
                               ffi_type *a, ffi_type *b, ffi_type *c, ffi_type *d) {
    closure_slot *s = calloc(1, sizeof *s);
    s->types[0] = a, s->types[1] = b, s->types[2] = c, s->types[3] = d;
    expect(ffi_prep_cif(&s->interface, FFI_DEFAULT_ABI, 4, result, s->types) == FFI_OK, "a closure's interface");
    s->closure = ffi_closure_alloc(sizeof *s->closure, &s->code);
    expect(s->closure && ffi_prep_closure_loc(s->closure, &s->interface, function, s, s->code) == FFI_OK, "a closure");
    return s;
}
static void free_slot(closure_slot *s) {
    ffi_closure_free(s->closure);
    free(s);
}

static void call_with_closures(void) {
    closure_slot *write = make_slot(receive_bytes, &ffi_type_uint64, &ffi_type_pointer, &ffi_type_uint64, &ffi_type_uint64, &ffi_type_pointer);
    closure_slot *each = make_slot(receive_narrow_arguments, &ffi_type_sint8, &ffi_type_pointer, &ffi_type_uint8, &ffi_type_sint16, &ffi_type_double);
    const char *text = "chart";
    void *user = write;
    call with_text = { &ffi_type_sint32, { &ffi_type_pointer, &ffi_type_pointer, &ffi_type_pointer }, { &text, &write->code, &user },
                       .count = 3 };
    call with_user = { &ffi_type_sint32, { &ffi_type_pointer, &ffi_type_pointer }, { &write->code, &user }, .count = 2 };
    call with_narrow_arguments = { &ffi_type_sint32, { &ffi_type_pointer, &ffi_type_pointer }, { &each->code, &user }, .count = 2 };
    expect(perform("bf_write", with_text) == 0 && write->received == 5, "bf_write");
    expect((int32_t)perform("bf_write_elsewhere", with_user) == 4 && write->received == 9, "bf_write_elsewhere");
    expect(perform("bf_keep", with_user) == 0, "bf_keep");
    expect((int64_t)perform("bf_call_kept", (call){ .result = &ffi_type_sint64 }) == 4 && write->received == 13, "bf_call_kept");
    expect((int32_t)perform("bf_write_narrow", with_narrow_arguments) == -100 && each->received == 197, "bf_write_narrow");
    free_slot(each);
    free_slot(write);
}

/* ---- functions ---- */

static void call_with_numbers_and_text(void) {
    int8_t a = -1;
    uint8_t b = 2;
    int16_t c = -3;
    uint16_t d = 4;
    int32_t e = -5;
    uint32_t f = 6;
    int64_t g = -7, m = 1, n = 1, o = 1, p = 1;
    uint64_t h = 8;
    size_t i = 9;
    double j = 1.5;
    float k = 2.5f;
    bool l = true;
    call all = { &ffi_type_sint64,
                 { &ffi_type_sint8, &ffi_type_uint8, &ffi_type_sint16, &ffi_type_uint16, &ffi_type_sint32, &ffi_type_uint32, &ffi_type_sint64,
                   &ffi_type_uint64, &ffi_type_uint64, &ffi_type_double, &ffi_type_float, &ffi_type_uint8, &ffi_type_sint64, &ffi_type_sint64,
                   &ffi_type_sint64, &ffi_type_sint64 },
                 { &a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l, &m, &n, &o, &p }, .count = 16 };
    perform("bf_sum", all);
    const char *kinds = "", *text = "a text";
    call variadic = { &ffi_type_double, { &ffi_type_pointer }, { &kinds }, .count = 1, .fixed = 1, .is_variadic = 1 };
    perform("bf_vsum", variadic);
    call given = { &ffi_type_pointer, { &ffi_type_pointer }, { &text }, .count = 1 };
    uint64_t block = perform("bf_given_text", given);
    expect(strcmp((const char *)block, text) == 0, "bf_given_text");
    perform("bf_free", (call){ &ffi_type_void, { &ffi_type_pointer }, { &block }, .count = 1 });
}

static void call_with_handles(void) {
    const char *text = "0123456789";
    call open = { &ffi_type_pointer, { &ffi_type_pointer }, { &text }, .count = 1 };
    uint64_t thing = perform("bf_open", open);
    char buffer[4], *buffer_start = buffer;
    size_t capacity = sizeof buffer;
    call read = { &ffi_type_sint64, { &ffi_type_pointer, &ffi_type_pointer, &ffi_type_uint64 },
                  { &thing, &buffer_start, &capacity }, .count = 3 };
    int64_t count, total = 0;
    while ((count = (int64_t)perform("bf_read", read)) > 0)
        for (int64_t i = 0; i < count; i++) total += buffer[i] - '0';
    expect(total == 45, "bf_read");
    perform("bf_close", (call){ &ffi_type_void, { &ffi_type_pointer }, { &thing }, .count = 1 });
    size_t length = 0, *out = &length;
    int32_t filler = 7;
    call blob = { &ffi_type_pointer, { &ffi_type_sint32, &ffi_type_pointer }, { &filler, &out }, .count = 2 };
    uint64_t block = perform("bf_blob", blob);
    expect(length == 70000 && ((const char *)block)[69999] == 7, "bf_blob");
    perform("bf_free", (call){ &ffi_type_void, { &ffi_type_pointer }, { &block }, .count = 1 });
}

int main(int count, char **arguments) {
    library = dlopen(count > 1 ? arguments[1] : "", RTLD_NOW);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 2;
    for (int i = 0; i < 50; i++) call_with_numbers_and_text(), call_with_handles(), call_with_closures();
    expect((int32_t)perform("bf_live_things", (call){ .result = &ffi_type_sint32 }) == 0, "the number of things that are not closed");
    expect((int32_t)perform("bf_live_blocks", (call){ .result = &ffi_type_sint32 }) == 0, "the number of blocks that are not freed");
    printf("calls: 50 rounds\n");
    return 0;
}
