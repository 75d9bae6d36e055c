/* SPDX-License-Identifier: Apache-2.0 */
/* What Swift's Glibc module leaves out, and a process that judges others needs: the kernel's number of a thread, signals to one thread, the return
 * addresses on its stack (backtrace(3), dladdr(3)), to end with the process that started it (prctl(2)), and a file in memory (memfd_create(2)). */
#ifndef PORTOLAN_CTHREADTRACE_SHIM_H
#define PORTOLAN_CTHREADTRACE_SHIM_H

#include <execinfo.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
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

/* dlfcn.h has it for _GNU_SOURCE alone, which Swift does not define: dladdr(3), and its Dl_info. */
struct portolan_code_place {
    const char *object;
    void *base;
    const char *function;
    void *address;
};
extern int portolan_find_code(const void *address, struct portolan_code_place *place) __asm__("dladdr");

/* Writes the stack of the calling thread, innermost first: a line for each frame, as in "/usr/lib/tide.so(+0x1169)", with what it is from where the
 * library is loaded. Without an allocation after the first call, so that a handler of signals may. */
static inline void portolan_write_stack(int output) {
    void *frames[48];
    int count = backtrace(frames, sizeof frames / sizeof *frames);
    for (int i = 0; i < count; i++) {
        struct portolan_code_place place = { NULL, NULL, NULL, NULL };
        uintptr_t offset = (uintptr_t)frames[i];
        if (portolan_find_code(frames[i], &place) && place.object) offset -= (uintptr_t)place.base;
        const char *object = place.object ? place.object : "?";
        size_t length = 0;
        while (object[length]) length++;
        char end[2 * sizeof offset + 6];
        size_t start = sizeof end;
        end[--start] = '\n';
        end[--start] = ')';
        do end[--start] = "0123456789abcdef"[offset & 15];
        while ((offset >>= 4) != 0);
        end[--start] = 'x';
        end[--start] = '0';
        end[--start] = '+';
        end[--start] = '(';
        if (write(output, object, length) < 0 || write(output, end + start, sizeof end - start) < 0) return;
    }
}

#endif
