/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for a process that checks other processes. Swift's Glibc module does not have them: the kernel's number of a
 * thread, signals to one thread, the return addresses on its stack (backtrace(3)), the relation to the parent and to
 * descendants (prctl(2)), waiting for a signal (sigtimedwait(2)), a file in memory (memfd_create(2)), and whether
 * memory can be read (process_vm_readv(2)). */
#ifndef PORTOLAN_CPLUGINOBSERVATION_SHIM_H
#define PORTOLAN_CPLUGINOBSERVATION_SHIM_H

#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

/* The readable form of a mangled Swift name (libswiftCore); NULL if `name` is not one. The caller frees the result. */
char *swift_demangle(const char *name, size_t length, char *output, size_t *output_size, uint32_t flags);

static inline int portolan_thread_number(void) { return (int)syscall(SYS_gettid); }

/* Sends a signal to one thread of this process (tgkill(2)). */
static inline int portolan_signal_thread(int thread, int number) { return (int)syscall(SYS_tgkill, getpid(), thread, number); }

/* Sends this process a signal when its parent ends. */
static inline int portolan_signal_at_end_of_parent(int number) { return prctl(PR_SET_PDEATHSIG, (unsigned long)number, 0UL, 0UL, 0UL); }

/* Makes this process the parent of every descendant whose parent ends, also of one that left the process group and
 * session. */
static inline int portolan_adopt_descendants(int adopts) { return prctl(PR_SET_CHILD_SUBREAPER, (unsigned long)adopts, 0UL, 0UL, 0UL); }

/* Sets whether other processes of this user may read this one by ptrace(2) or /proc. Child processes inherit the
 * setting. Returns the previous value. */
static inline int portolan_set_open_to_others(int is_open) {
    int before = prctl(PR_GET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
    prctl(PR_SET_DUMPABLE, (unsigned long)is_open, 0UL, 0UL, 0UL);
    return before;
}

/* The resource limits of a process (prlimit(2)): soft and hard, by the kernel's numbers. */
enum { PORTOLAN_LIMIT_COUNT = 16 };
struct portolan_limits {
    uint64_t soft[PORTOLAN_LIMIT_COUNT], hard[PORTOLAN_LIMIT_COUNT];
};
static inline int portolan_get_limits(pid_t process, struct portolan_limits *limits) {
    for (int number = 0; number < PORTOLAN_LIMIT_COUNT; number++) {
        uint64_t pair[2] = { 0, 0 };
        if (syscall(SYS_prlimit64, process, number, (void *)0, pair) != 0) return -1;
        limits->soft[number] = pair[0];
        limits->hard[number] = pair[1];
    }
    return 0;
}

/* Whether this process's memory limits (RLIMIT_DATA, RLIMIT_AS) are below those in `limits`. Safe in a signal handler. */
static inline int portolan_has_less_memory(const struct portolan_limits *limits) {
    const int numbers[] = { RLIMIT_DATA, RLIMIT_AS };
    for (int i = 0; i < 2; i++) {
        uint64_t pair[2] = { 0, 0 };
        if (syscall(SYS_prlimit64, 0, numbers[i], (void *)0, pair) == 0 && pair[0] < limits->soft[numbers[i]]) return 1;
    }
    return 0;
}

/* Sets the limits of `process` that differ from `limits`. Returns how many limits differed, or -1 if one can't be set. */
static inline int portolan_restore_limits(pid_t process, const struct portolan_limits *limits) {
    struct portolan_limits now;
    int changed = 0, refused = 0;
    if (portolan_get_limits(process, &now) != 0) return 0;
    for (int number = 0; number < PORTOLAN_LIMIT_COUNT; number++) {
        if (now.soft[number] == limits->soft[number] && now.hard[number] == limits->hard[number]) continue;
        uint64_t pair[2] = { limits->soft[number], limits->hard[number] };
        changed++;
        if (syscall(SYS_prlimit64, process, number, pair, (void *)0) != 0) refused = 1;
    }
    return refused ? -1 : changed;
}

/* Returns whether a process has ended but its parent can't see that, because another process traces it (ptrace(2)).
 * Reads /proc/PID/status (proc(5)). */
static inline int portolan_is_held_after_end(pid_t process) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = 0;
    const char *state = strstr(text, "\nState:\tZ"), *tracer = strstr(text, "\nTracerPid:\t");
    return state && tracer && atoi(tracer + 12) > 0;
}

/* Waits for one of `signals`, which must be blocked. Returns its number and sets `sender` to the process that sent it,
 * or returns -1 after the time. */
static inline int portolan_await_signal(const sigset_t *signals, int64_t nanoseconds, int *sender) {
    struct timespec time = { .tv_sec = (time_t)(nanoseconds / 1000000000), .tv_nsec = (long)(nanoseconds % 1000000000) };
    siginfo_t information = { 0 };
    int number = sigtimedwait(signals, &information, &time);
    *sender = number > 0 ? (int)information.si_pid : 0;
    return number;
}

/* Reaps any child that has ended, also one that was created without a signal for its end (__WALL). Returns 0 if there
 * is none. */
static inline int portolan_reap(int *status) { return (int)waitpid(-1, status, WNOHANG | 0x40000000); }

/* Creates a file in memory that stays open across exec. Returns a negative value on failure; errno has the reason. */
static inline int portolan_memory_file(const char *name) { return (int)syscall(SYS_memfd_create, name, 0); }

/* Returns 1 if the byte at `place` can be read. Returns 0 if the byte can't be read, or if the kernel does not say so, as
 * for memory that no other process may see. */
static inline int portolan_can_read(const void *place) {
    char byte;
    struct iovec local = { &byte, 1 }, remote = { (void *)(uintptr_t)place, 1 };
    return syscall(SYS_process_vm_readv, getpid(), &local, 1UL, &remote, 1UL, 0UL) == 1;
}

/* Returns 1 if the byte at `place` can be written. Writes the byte's current value to it. */
static inline int portolan_can_write(void *place) {
    char byte;
    struct iovec local = { &byte, 1 }, remote = { place, 1 };
    if (syscall(SYS_process_vm_readv, getpid(), &local, 1UL, &remote, 1UL, 0UL) != 1) return 0;
    return syscall(SYS_process_vm_writev, getpid(), &local, 1UL, &remote, 1UL, 0UL) == 1;
}

/* Like dladdr(3), but without a lock: _dl_find_object(3) of glibc 2.35. dlfcn.h declares it only with _GNU_SOURCE,
 * which Swift does not define. */
struct portolan_mapped_object {
    unsigned long long flags;
    void *start;
    void *end;
    const struct link_map *map;
    void *frames;
    unsigned long long reserved[7];
};
extern int portolan_find_object(void *address, struct portolan_mapped_object *object) __asm__("_dl_find_object");

/* The address of the code that a signal has interrupted. `context` is the argument of the handler. */
static inline void *portolan_code_of(const void *context) {
    const ucontext_t *interrupted = (const ucontext_t *)context;
#if defined(__x86_64__)
    return (void *)(uintptr_t)interrupted->uc_mcontext.gregs[16 /* REG_RIP */];
#elif defined(__aarch64__)
    return (void *)(uintptr_t)interrupted->uc_mcontext.pc;
#endif
}

/* The place of the call, if the interrupted code has called an address without code, such as NULL; otherwise NULL. Such an
 * address has no frame to unwind, but the return address is on top of the stack, or in the link register. `context` is the
 * argument of a signal handler, and `fault` the address in the signal's information, NULL if it is unknown. Safe in a
 * signal handler. */
static inline void *portolan_call_of_no_code(const void *context, const void *fault) {
    const ucontext_t *interrupted = (const ucontext_t *)context;
    if (!interrupted) return NULL;
    struct portolan_mapped_object object = { .map = NULL };
    uintptr_t word = 0;
    void *code = portolan_code_of(context);
    if (code && code != fault && (portolan_find_object(code, &object) == 0 || portolan_can_read(code))) return NULL;
#if defined(__x86_64__)
    struct iovec local = { &word, sizeof word }, remote = { (void *)(uintptr_t)interrupted->uc_mcontext.gregs[15 /* REG_RSP */], sizeof word };
    if (syscall(SYS_process_vm_readv, getpid(), &local, 1UL, &remote, 1UL, 0UL) != (long)sizeof word) return NULL;
#elif defined(__aarch64__)
    word = (uintptr_t)interrupted->uc_mcontext.regs[30];
#endif
    return word == 0 ? NULL : (void *)(word - 1);
}

/* Writes the process IDs of this process's children to `children`, and returns their number, at most `room`. Reads the
 * parent from the fourth field of /proc/PID/stat (proc(5)). This is C, because the keeper process would
 * be too slow in Swift under Valgrind. */
static inline int portolan_children(pid_t *children, int room) {
    DIR *folder = opendir("/proc");
    int count = 0;
    for (struct dirent *entry; folder && count < room && (entry = readdir(folder));) {
        char path[300], text[512];
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) continue;
        ssize_t length = read(file, text, sizeof text - 1);
        close(file);
        text[length > 0 ? length : 0] = 0;
        /* The second field, the name, may contain any character. */
        char *end = strrchr(text, ')'), state;
        int parent;
        if (end && sscanf(end + 1, " %c %d", &state, &parent) == 2 && parent == (int)getpid()) children[count++] = (pid_t)atoi(entry->d_name);
    }
    if (folder) closedir(folder);
    return count;
}

/* Reads every byte in a way that depends on its value, so that memcheck reports uninitialised ones, with their origin. */
static inline void portolan_depend_on(const void *bytes, size_t size) {
    const unsigned char *byte = (const unsigned char *)bytes;
    for (size_t i = 0; i < size; i++) {
        if (byte[i]) __asm__ volatile("");
    }
}

/* Whether something accepts TCP connections at this port of 127.0.0.1. */
static inline int portolan_accepts_connections(uint16_t port) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return 0;
    int result = connect(descriptor, (struct sockaddr *)&address, sizeof address);
    if (result < 0 && errno == EINPROGRESS) {
        /* A full queue of connections does not refuse one, but does not answer. */
        struct pollfd writable = { .fd = descriptor, .events = POLLOUT };
        socklen_t size = sizeof result;
        if (poll(&writable, 1, 100) != 1 || getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &result, &size) != 0) result = -1;
    }
    close(descriptor);
    return result == 0;
}

/* Whether `text` is a part of `bytes`. The text is not empty. */
static inline int portolan_contains_bytes(const void *bytes, size_t count, const void *text, size_t size) {
    const char *at = (const char *)bytes;
    for (const char *end = at + count; (size_t)(end - at) >= size; at++) {
        at = (const char *)memchr(at, *(const char *)text, (size_t)(end - at) - size + 1);
        if (!at) return 0;
        if (memcmp(at, text, size) == 0) return 1;
    }
    return 0;
}

/* A TCP port of 127.0.0.1 that nothing uses now; 0 if there is none. Another program can take it before the caller does. */
static inline uint16_t portolan_free_port(void) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return 0;
    int is_bound = bind(descriptor, (struct sockaddr *)&address, size) == 0 && getsockname(descriptor, (struct sockaddr *)&address, &size) == 0;
    close(descriptor);
    return is_bound ? ntohs(address.sin_port) : 0;
}

/* A file in memory with `size` bytes, which cannot change its size; -1 if it can't be created. */
static inline int portolan_error_output_file(size_t size) {
    enum { CLOSE_ON_EXEC = 1, ALLOW_SEALING = 2, ADD_SEALS = 1033, SEAL_SHRINK = 2, SEAL_GROW = 4 }; /* <sys/memfd.h> needs _GNU_SOURCE */
    int file = (int)syscall(SYS_memfd_create, "portolan-check", CLOSE_ON_EXEC | ALLOW_SEALING);
    if (file < 0) return -1;
    if (ftruncate(file, (off_t)size) == 0 && fcntl(file, ADD_SEALS, SEAL_SHRINK | SEAL_GROW) == 0) return file;
    close(file);
    return -1;
}

/* The text that a signal handler writes into memory that outlives its process. */
enum { PORTOLAN_LAST_WORDS = 16380 };
struct portolan_last_words {
    uint32_t count;
    unsigned char bytes[]; /* PORTOLAN_LAST_WORDS */
};

/* Adds bytes. Adds nothing if there is no room for all of them. */
static inline void portolan_add_words(struct portolan_last_words *words, const void *bytes, size_t count) {
    uint32_t start = words->count;
    if (start > PORTOLAN_LAST_WORDS || count > PORTOLAN_LAST_WORDS - start) return;
    for (size_t i = 0; i < count; i++) words->bytes[start + i] = ((const unsigned char *)bytes)[i];
    words->count = start + (uint32_t)count;
}

/* Writes the library of `address` and the offset that the library's symbols use, as in "/usr/lib/tide.so(+0x1169)". In
 * the program, writes only "(+0x1169)". */
static inline void portolan_write_place(struct portolan_last_words *words, void *address) {
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
    portolan_add_words(words, name, length);
    portolan_add_words(words, end + start, sizeof end - start);
}

/* Writes the stack of the calling thread, which runs a signal handler: one line for each frame, innermost first.
 * `context` is the handler's argument. After its first call, this function takes no lock and allocates nothing. */
static inline void portolan_write_stack(struct portolan_last_words *words, const void *context) {
    void *frames[48], *call = portolan_call_of_no_code(context, NULL);
    int count = sizeof frames / sizeof *frames;
    if (call) {
        /* The unwinder would read the code. Where the trampoline to the handler would be, the code stands once more. */
        frames[0] = frames[1] = portolan_code_of(context);
        frames[2] = call;
        count = 3;
    } else {
        count = backtrace(frames, count);
    }
    for (int i = 0; i < count; i++) portolan_write_place(words, frames[i]);
}

#endif
