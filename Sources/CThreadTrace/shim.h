/* SPDX-License-Identifier: Apache-2.0 */
/* What Swift's Glibc module leaves out, and a process that judges others needs: the kernel's number of a thread, signals to one thread, the return
 * addresses on its stack (backtrace(3)), to end with the process that started it (prctl(2)), and a file in memory (memfd_create(2)). */
#ifndef PORTOLAN_CTHREADTRACE_SHIM_H
#define PORTOLAN_CTHREADTRACE_SHIM_H

#include <execinfo.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int portolan_thread_number(void) { return (int)syscall(SYS_gettid); }

/* Sends a signal to one thread of this process (tgkill(2)). */
static inline int portolan_signal_thread(int thread, int number) { return (int)syscall(SYS_tgkill, getpid(), thread, number); }

/* Whoever ends the judge, by Ctrl-C or worse, ends what it has under way. */
static inline int portolan_end_with_parent(void) { return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); }

/* A file in memory, open for what is executed in this process's place, too; below zero: errno says why not. */
static inline int portolan_memory_file(const char *name) { return (int)syscall(SYS_memfd_create, name, 0); }

#endif
