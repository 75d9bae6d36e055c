/* SPDX-License-Identifier: Apache-2.0 */
/// Functions of Linux and the GNU C library that Swift's Glibc module does not have: epoll(7), eventfd(2), extended
/// attributes (xattr(7)), GNU extensions, and system calls that not every C library has.
#ifndef PORTOLAN_LINUX_H
#define PORTOLAN_LINUX_H

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

/// secure_getenv(3): an environment variable; NULL for every variable if the process has more rights than its user.
/// Declared here, because stdlib.h does so only with _GNU_SOURCE, which Swift does not define.
extern char *secure_getenv(const char *name);

/// pthread_setname_np(3): names a thread, in 15 bytes at most. Declared here for the same reason.
extern int pthread_setname_np(pthread_t thread, const char *name);

/// syscall(2). Declared here for the same reason, and because unistd.h is part of Swift's module.
extern long syscall(long number, ...);

/// renameat2(2) with RENAME_NOREPLACE: fails with EEXIST if the target exists, and with EINVAL if the file system does
/// not know the flag.
static inline int portolan_rename_without_replacing(const char *path, const char *target) {
    // AT_FDCWD. fcntl.h would take struct stat away from Swift's module.
    const int current_folder = -100;
    return (int)syscall(SYS_renameat2, current_folder, path, current_folder, target, 1u << 0);
}

/// accept4(2) and pipe2(2), which are GNU extensions, too: the new descriptors are closed by exec(2).
static inline int portolan_accept(int listener) {
    const int close_on_exec = 02000000; // SOCK_CLOEXEC
    return (int)syscall(SYS_accept4, listener, (void *)0, (void *)0, close_on_exec);
}
static inline int portolan_accept_non_blocking(int listener) {
    const int close_on_exec = 02000000, non_blocking = 04000; // SOCK_CLOEXEC, SOCK_NONBLOCK
    return (int)syscall(SYS_accept4, listener, (void *)0, (void *)0, close_on_exec | non_blocking);
}
static inline int portolan_pipe(int ends[2]) {
    const int close_on_exec = 02000000; // O_CLOEXEC
    return (int)syscall(SYS_pipe2, ends, close_on_exec);
}

#endif
