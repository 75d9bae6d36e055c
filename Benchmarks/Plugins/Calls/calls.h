/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CALLS_H
#define CALLS_H

#include <stdint.h>

/* Counts a number of steps down to zero, and sums what the steps add. */
typedef struct counter counter;

counter *counter_open(int64_t times);
/* Each performs one step, which adds by * factor, and returns the number of remaining steps. */
int64_t counter_step(counter *counter, int64_t by, uint32_t factor);
int64_t counter_step_variadic(counter *counter, ...);
/* Each performs all steps, and returns the sum. */
int64_t counter_run(counter *counter, int64_t by, uint32_t factor);
int64_t counter_run_variadic(counter *counter, int64_t by, uint32_t factor);
int64_t counter_sum(const counter *counter);
void counter_close(counter *counter);

#endif
