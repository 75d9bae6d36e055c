/* SPDX-License-Identifier: Apache-2.0 */
/* Replacements of C++'s operator new, which a check can refuse. A refused call requests more than any machine has, so that
 * the C++ library itself calls the new-handler and throws std::bad_alloc. They are in C, because that exception passes
 * them, and must not pass a function in Swift. Only one Swift file uses them, because each file has its own copy of the
 * variable. */
#ifndef PORTOLAN_CPLUGINOBSERVATION_OPERATOR_NEW_H
#define PORTOLAN_CPLUGINOBSERVATION_OPERATOR_NEW_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

typedef int (*portolan_refusal_test)(void);

/* The function that counts a call, and returns whether it is refused. */
static inline portolan_refusal_test *portolan_new_refusal(void) {
    static portolan_refusal_test must_refuse;
    return &must_refuse;
}
static inline void portolan_refuse_new(portolan_refusal_test must_refuse) { *portolan_new_refusal() = must_refuse; }

static inline size_t portolan_size_or_refusal(size_t size) {
    portolan_refusal_test must_refuse = *portolan_new_refusal();
    /* A multiple of every alignment, so that the library can round it without an overflow. */
    return must_refuse && must_refuse() ? (size_t)PTRDIFF_MAX & ~(size_t)0xFFFFF : size;
}

/* operator new(size), operator new[](size), and both with an alignment. The names are those of the Itanium C++ ABI. */
static inline void *portolan_new(size_t size) {
    void *(*original)(size_t);
    *(void **)&original = dlsym(NULL, "_Znwm");
    return original(portolan_size_or_refusal(size));
}
static inline void *portolan_new_list(size_t size) {
    void *(*original)(size_t);
    *(void **)&original = dlsym(NULL, "_Znam");
    return original(portolan_size_or_refusal(size));
}
static inline void *portolan_new_aligned(size_t size, size_t alignment) {
    void *(*original)(size_t, size_t);
    *(void **)&original = dlsym(NULL, "_ZnwmSt11align_val_t");
    return original(portolan_size_or_refusal(size), alignment);
}
static inline void *portolan_new_aligned_list(size_t size, size_t alignment) {
    void *(*original)(size_t, size_t);
    *(void **)&original = dlsym(NULL, "_ZnamSt11align_val_t");
    return original(portolan_size_or_refusal(size), alignment);
}

/* With std::nothrow, which return NULL instead of an exception. */
static inline void *portolan_new_nothrow(size_t size, const void *nothrow) {
    void *(*original)(size_t, const void *);
    *(void **)&original = dlsym(NULL, "_ZnwmRKSt9nothrow_t");
    return original(portolan_size_or_refusal(size), nothrow);
}
static inline void *portolan_new_aligned_nothrow(size_t size, size_t alignment, const void *nothrow) {
    void *(*original)(size_t, size_t, const void *);
    *(void **)&original = dlsym(NULL, "_ZnwmSt11align_val_tRKSt9nothrow_t");
    return original(portolan_size_or_refusal(size), alignment, nothrow);
}
static inline void *portolan_new_aligned_nothrow_list(size_t size, size_t alignment, const void *nothrow) {
    void *(*original)(size_t, size_t, const void *);
    *(void **)&original = dlsym(NULL, "_ZnamSt11align_val_tRKSt9nothrow_t");
    return original(portolan_size_or_refusal(size), alignment, nothrow);
}
static inline void *portolan_new_nothrow_list(size_t size, const void *nothrow) {
    void *(*original)(size_t, const void *);
    *(void **)&original = dlsym(NULL, "_ZnamRKSt9nothrow_t");
    return original(portolan_size_or_refusal(size), nothrow);
}

#endif
