/* SPDX-License-Identifier: Apache-2.0 */
/// Functions of Linux and the GNU C library that Swift's Glibc module does not have: epoll(7), eventfd(2), extended
/// attributes (xattr(7)), and GNU extensions.
#ifndef PORTOLAN_LINUX_H
#define PORTOLAN_LINUX_H

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/xattr.h>

/// secure_getenv(3): an environment variable; NULL for every variable if the process has more rights than its user.
/// Declared here, because stdlib.h does so only with _GNU_SOURCE, which Swift does not define.
extern char *secure_getenv(const char *name);

/// pthread_setname_np(3): names a thread, in 15 bytes at most. Declared here for the same reason.
extern int pthread_setname_np(pthread_t thread, const char *name);

#endif
