/* SPDX-License-Identifier: Apache-2.0 */
/* The library of the rows ffi and ffi-variadic, without any use of Portolan. Calls.plugin.json makes each call, or lets
 * the library make the calls. */
#include "calls.h"
#include <stdarg.h>
#include <stdlib.h>

struct counter {
    int64_t remaining_steps, sum;
};

counter *counter_open(int64_t times) {
    counter *new = malloc(sizeof *new);
    if (new) *new = (counter){ times, 0 };
    return new;
}

int64_t counter_step(counter *counter, int64_t by, uint32_t factor) {
    counter->sum += by * factor;
    return --counter->remaining_steps;
}

int64_t counter_step_variadic(counter *counter, ...) {
    va_list arguments;
    va_start(arguments, counter);
    int64_t by = va_arg(arguments, int64_t);
    uint32_t factor = va_arg(arguments, uint32_t);
    va_end(arguments);
    return counter_step(counter, by, factor);
}

/* Volatile, to hide from the compiler which function is called. */
int64_t counter_run(counter *counter, int64_t by, uint32_t factor) {
    int64_t (*volatile step)(struct counter *, int64_t, uint32_t) = counter_step;
    while (step(counter, by, factor) > 0) {}
    return counter->sum;
}

int64_t counter_run_variadic(counter *counter, int64_t by, uint32_t factor) {
    int64_t (*volatile step)(struct counter *, ...) = counter_step_variadic;
    while (step(counter, by, factor) > 0) {}
    return counter->sum;
}

int64_t counter_sum(const counter *counter) { return counter->sum; }

void counter_close(counter *counter) { free(counter); }
