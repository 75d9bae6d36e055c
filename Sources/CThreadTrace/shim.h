/* SPDX-License-Identifier: Apache-2.0 */
/* What Swift's Glibc module leaves out, and a process that judges others needs: the kernel's number of a thread, signals to one thread, the return
 * addresses on its stack (backtrace(3)), to end with the process that started it (prctl(2)), a file in memory (memfd_create(2)), and whether memory can
 * be read (process_vm_readv(2)). */
#ifndef PORTOLAN_CTHREADTRACE_SHIM_H
#define PORTOLAN_CTHREADTRACE_SHIM_H

#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

static inline int portolan_thread_number(void) { return (int)syscall(SYS_gettid); }

/* Sends a signal to one thread of this process (tgkill(2)). */
static inline int portolan_signal_thread(int thread, int number) { return (int)syscall(SYS_tgkill, getpid(), thread, number); }

/* Whoever ends the judge, by Ctrl-C or worse, ends what it has under way. */
static inline int portolan_end_with_parent(void) { return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); }

/* A file in memory, open for what is executed in this process's place, too; below zero: errno says why not. */
static inline int portolan_memory_file(const char *name) { return (int)syscall(SYS_memfd_create, name, 0); }

/* 1 where the byte at `place` can be read; 0 where not, or where the kernel does not tell: it does not of memory that no other process may see. */
static inline int portolan_can_read(const void *place) {
    char byte;
    struct iovec local = { &byte, 1 }, remote = { (void *)(uintptr_t)place, 1 };
    return syscall(SYS_process_vm_readv, getpid(), &local, 1UL, &remote, 1UL, 0UL) == 1;
}

/* dlfcn.h has it for _GNU_SOURCE alone, which Swift does not define: dladdr(3) without a lock, as _dl_find_object(3) of glibc 2.35 has it. */
struct portolan_mapped_object {
    unsigned long long flags;
    void *start;
    void *end;
    const struct link_map *map;
    void *frames;
    unsigned long long reserved[7];
};
extern int portolan_find_object(void *address, struct portolan_mapped_object *object) __asm__("_dl_find_object");

/* Writes where `address` is, as in "/usr/lib/tide.so(+0x1169)", with its place as the library's own symbols have it; of the program, "(+0x1169)". */
static inline void portolan_write_place(int output, void *address) {
    struct portolan_mapped_object object = { .map = NULL };
    uintptr_t offset = (uintptr_t)address;
    const char *name = "?";
    if (portolan_find_object(address, &object) == 0 && object.map) {
        offset -= (uintptr_t)object.map->l_addr;
        name = object.map->l_name;
    }
    size_t length = 0;
    while (name[length]) length++;
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
    if (write(output, name, length) < 0 || write(output, end + start, sizeof end - start) < 0) return;
}

/* Writes the stack of the calling thread, a handler of a signal on it: innermost first, a line for each frame. `context` is what the handler was
 * given. After the first call it takes no lock and allocates nothing. */
static inline void portolan_write_stack(int output, const void *context) {
    void *frames[48];
    int count = backtrace(frames, sizeof frames / sizeof *frames);
    for (int i = 0; i < count; i++) portolan_write_place(output, frames[i]);
    /* A call of NULL has no frame that could be unwound: what it was to return to lies on top of the stack, or in the link register. */
    const ucontext_t *interrupted = (const ucontext_t *)context;
    if (!interrupted) return;
#if defined(__x86_64__)
    if (interrupted->uc_mcontext.gregs[16 /* REG_RIP */] == 0) {
        portolan_write_place(output, *(char **)(uintptr_t)interrupted->uc_mcontext.gregs[15 /* REG_RSP */] - 1);
    }
#elif defined(__aarch64__)
    if (interrupted->uc_mcontext.pc == 0) portolan_write_place(output, (char *)(uintptr_t)interrupted->uc_mcontext.regs[30] - 1);
#endif
}

#endif
