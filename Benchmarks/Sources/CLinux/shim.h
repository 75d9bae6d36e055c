/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that Swift's module of the C library does not have: epoll(7), and memmem(3), a GNU extension. */
#ifndef BENCH_LINUX_H
#define BENCH_LINUX_H

#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>

static inline const void *bench_find(const void *bytes, size_t length, const char *wanted) {
    extern void *memmem(const void *, size_t, const void *, size_t);
    return memmem(bytes, length, wanted, strlen(wanted));
}

static const uint32_t bench_epoll_in = EPOLLIN, bench_epoll_out = EPOLLOUT;

#endif
