/* SPDX-License-Identifier: Apache-2.0 */
/// epoll(7), eventfd(2) and ppoll(2), which Swift's Glibc module leaves out.
#ifndef PORTOLAN_EPOLL_H
#define PORTOLAN_EPOLL_H

#include <sys/epoll.h>
#include <sys/eventfd.h>

/* The system's header declares it for _GNU_SOURCE only; its types are left to the Glibc module. */
struct pollfd;
struct timespec;
extern int portolan_ppoll(struct pollfd *, unsigned long count, const struct timespec *, const void *mask) __asm__("ppoll");

#endif
