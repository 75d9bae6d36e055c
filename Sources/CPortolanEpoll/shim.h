/* SPDX-License-Identifier: Apache-2.0 */
/// epoll(7) and eventfd(2), which Swift's Glibc module does not have.
#ifndef PORTOLAN_EPOLL_H
#define PORTOLAN_EPOLL_H

#include <sys/epoll.h>
#include <sys/eventfd.h>

#endif
