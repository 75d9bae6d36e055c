/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CALLS_H
#define CALLS_H

#include <stdint.h>

/* Counts down to zero, and adds the numbers. */
typedef struct counter counter;

counter *counter_open(int64_t times);
/* Each takes one step, and returns the number of steps left. */
int64_t counter_step(counter *counter, int64_t by, uint32_t factor);
int64_t counter_step_variadic(counter *counter, ...);
/* Each takes all steps, and returns their sum. */
int64_t counter_run(counter *counter, int64_t by, uint32_t factor);
int64_t counter_run_variadic(counter *counter, int64_t by, uint32_t factor);
int64_t counter_sum(const counter *counter);
void counter_close(counter *counter);

#endif
