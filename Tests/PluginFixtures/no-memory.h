/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses a load because no memory is free. */
#ifndef NO_MEMORY_H
#define NO_MEMORY_H

#include <portolan/portolan.h>

static inline void *no_memory(portolan_refusal *refusal) {
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_NO_MEMORY, .message = PORTOLAN_TEXT("no memory is free") };
    refusal->give(refusal, &error);
    return NULL;
}

#endif
