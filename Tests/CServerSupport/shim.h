/* SPDX-License-Identifier: Apache-2.0 */
/// accept4(2), pipe2(2) and eventfd(2) create descriptors that no child inherits, not even a child that another thread
/// starts at that moment. posix_spawn_file_actions_addclosefrom_np(3) makes a child inherit none.
/// Declared here, because Swift's Glibc module has no GNU extensions.
#ifndef PORTOLAN_SERVER_SUPPORT_H
#define PORTOLAN_SERVER_SUPPORT_H

#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

extern int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
extern int pipe2(int ends[2], int flags);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);

#endif
