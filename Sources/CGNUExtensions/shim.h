/* SPDX-License-Identifier: Apache-2.0 */
/// GNU extensions of the C library. Declared here, because Swift's Glibc module does not have them.
#ifndef PORTOLAN_GNU_EXTENSIONS_H
#define PORTOLAN_GNU_EXTENSIONS_H

#include <pthread.h>

/// secure_getenv(3): an environment variable; NULL for every variable if the process has more rights than its user.
extern char *secure_getenv(const char *name);

/// pthread_setname_np(3): names a thread, in 15 bytes at most.
extern int pthread_setname_np(pthread_t thread, const char *name);

#endif
