/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a crash of this process in a signal handler: the plugin, the signal and the call. Takes no lock and allocates
 * nothing (signal-safety(7)). */
#ifndef PORTOLAN_CPLUGINOBSERVATION_CRASH_H
#define PORTOLAN_CPLUGINOBSERVATION_CRASH_H

#include "shim.h"

/* A function of a plugin that the host calls. */
struct portolan_called_function {
    const void *address;
    const char *name;
};

struct portolan_opened_plugin {
    const void *base; /* where the library is mapped (link_map.l_addr) */
    const char *identifier;
    const struct portolan_called_function *functions;
    size_t function_count;
};

enum { PORTOLAN_OPENED_PLUGINS = 256 };

/* The opened plugins, and the library that a thread is opening. Entries are only added. */
struct portolan_opened_plugins {
    uint32_t count;          /* written with release order after the entry */
    int32_t opening_thread;  /* 0 if none; written with release order after the path */
    const char *opening_path;
    int32_t describing_thread; /* the thread whose crash is being described; 0 if none */
    struct portolan_opened_plugin *plugins;
    struct portolan_last_words *words; /* room for the description */
};

/* Returns NULL without memory. Lives as long as the process. */
static inline struct portolan_opened_plugins *portolan_new_opened_plugins(void) {
    struct portolan_opened_plugins *all = (struct portolan_opened_plugins *)calloc(1, sizeof *all);
    if (!all) return NULL;
    all->plugins = (struct portolan_opened_plugin *)calloc(PORTOLAN_OPENED_PLUGINS, sizeof *all->plugins);
    all->words = (struct portolan_last_words *)calloc(1, sizeof(struct portolan_last_words) + PORTOLAN_LAST_WORDS);
    if (all->plugins && all->words) return all;
    free(all->plugins);
    free(all->words);
    free(all);
    return NULL;
}

/* Adds a plugin. The caller serializes the calls. */
static inline void portolan_add_opened_plugin(struct portolan_opened_plugins *all, struct portolan_opened_plugin plugin) {
    if (all->count >= PORTOLAN_OPENED_PLUGINS) return;
    all->plugins[all->count] = plugin;
    __atomic_store_n(&all->count, all->count + 1, __ATOMIC_RELEASE);
}

/* Notes that the calling thread opens the library at `path`; NULL: that it no longer does. */
static inline void portolan_set_opening(struct portolan_opened_plugins *all, const char *path) {
    if (path) all->opening_path = path;
    __atomic_store_n(&all->opening_thread, path ? (int32_t)portolan_thread_number() : 0, __ATOMIC_RELEASE);
}

/* The address where the library of `address` is mapped; NULL if it is unknown. */
static inline const void *portolan_base_of(const void *address) {
    struct portolan_mapped_object object = { .map = NULL };
    if (portolan_find_object((void *)(uintptr_t)address, &object) != 0 || !object.map) return NULL;
    return (const void *)object.map->l_addr;
}

/* Whether `address` is in the program itself, and not in a library. */
static inline int portolan_is_in_program(const void *address) {
    struct portolan_mapped_object object = { .map = NULL };
    return portolan_find_object((void *)(uintptr_t)address, &object) == 0 && object.map && object.map->l_name[0] == 0;
}

static inline void portolan_add_text(struct portolan_last_words *words, const char *text) {
    size_t length = 0;
    while (text[length]) length++;
    portolan_add_words(words, text, length);
}

/* Whether the interrupted code has accessed memory next to its stack that can't be read: the guard after the stack's end. */
static inline int portolan_is_stack_overflow(const void *context, const void *fault) {
    const ucontext_t *interrupted = (const ucontext_t *)context;
    if (!interrupted || !fault) return 0;
#if defined(__x86_64__)
    uintptr_t top = (uintptr_t)interrupted->uc_mcontext.gregs[15 /* REG_RSP */];
#elif defined(__aarch64__)
    uintptr_t top = (uintptr_t)interrupted->uc_mcontext.sp;
#endif
    const uintptr_t range = 1 << 16;
    return (uintptr_t)fault + range - top < 2 * range && !portolan_can_read(fault);
}

/* Copies `length` bytes at `address`. Returns 0 if they can't be read. */
static inline int portolan_copy_memory(void *target, uintptr_t address, size_t length) {
    struct iovec local = { target, length }, remote = { (void *)address, length };
    return syscall(SYS_process_vm_readv, getpid(), &local, 1UL, &remote, 1UL, 0UL) == (long)length;
}

/* Whether the interrupted instruction calls a non-canonical address, which a function pointer has that was overwritten.
 * Processors of Intel report the call itself and no address. Others report the address, as for any call of no code. */
static inline int portolan_calls_non_canonical_address(const void *context, const void *fault) {
#if defined(__x86_64__)
    const ucontext_t *interrupted = (const ucontext_t *)context;
    if (!interrupted || fault) return 0;
    /* The places of the registers in `gregs`, in the order of their numbers: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, … */
    static const unsigned char places[] = { 13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7 };
    uintptr_t code = (uintptr_t)interrupted->uc_mcontext.gregs[16 /* REG_RIP */];
    unsigned char bytes[7] = { 0 };
    if (!portolan_copy_memory(bytes, code, sizeof bytes)) return 0;
    int extends = (bytes[0] & 0xF0) == 0x40; /* the REX prefix */
    int number = extends && (bytes[0] & 1) ? 8 : 0;
    const unsigned char *rest = bytes + extends;
    /* FF /2 is a call through a register or memory, FF /4 a jump. */
    int operation = rest[1] >> 3 & 7, mode = rest[1] >> 6, low = rest[1] & 7;
    if (rest[0] != 0xFF || (operation != 2 && operation != 4)) return 0;
    if (mode != 3 && (low == 4 || (mode == 0 && low == 5))) return 0; /* other addressing modes */
    int32_t offset = mode == 1 ? (signed char)rest[2] : 0;
    if (mode == 2) memcpy(&offset, rest + 2, sizeof offset);
    uint64_t target = (uint64_t)interrupted->uc_mcontext.gregs[places[number + low]];
    if (mode != 3 && !portolan_copy_memory(&target, target + (uint64_t)(int64_t)offset, sizeof target)) return 0;
    return (uint64_t)((int64_t)(target << 16) >> 16) != target;
#else
    (void)context, (void)fault;
    return 0;
#endif
}

/* Describes the crash with the signal `name` in the words of `all`: one line, as in "portolan: the plugin
 * org.example.tide crashed with SIGSEGV in run; …", and with `shows_stack` one more line for each frame of the stack.
 * `context` is the handler's argument, and `fault` the address in the signal's information, NULL if it has none. Returns
 * 0, and describes nothing, if the crash is not the plugin's. */
static inline int portolan_describe_crash(struct portolan_opened_plugins *all, const char *name, const void *context, const void *fault,
                                          int shows_stack) {
    enum { FRAMES = 64 };
    void *stack[FRAMES], *call = portolan_call_of_no_code(context, fault);
    /* The unwinder would read the code. */
    int count = call ? 1 : backtrace(stack, FRAMES), first = 0;
    if (call) {
        stack[0] = call;
    } else {
        /* The handler's frames belong to this program; then comes the trampoline through which the kernel called it. */
        while (first < count && portolan_is_in_program(stack[first])) first++;
        if (first < count) first++;
    }
    const struct portolan_opened_plugin *plugin = NULL;
    const void *outermost = NULL;
    int is_called_by_host = 0;
    uint32_t plugin_count = __atomic_load_n(&all->count, __ATOMIC_ACQUIRE);
    for (int i = first; i < count && !is_called_by_host; i++) {
        const void *base = portolan_base_of(stack[i]);
        is_called_by_host = portolan_is_in_program(stack[i]);
        for (uint32_t n = 0; n < plugin_count && !plugin && base; n++) {
            if (all->plugins[n].base == base) plugin = &all->plugins[n];
        }
        if (plugin && plugin->base == base) outermost = stack[i];
    }
    int is_opening = __atomic_load_n(&all->opening_thread, __ATOMIC_ACQUIRE) == (int32_t)portolan_thread_number();
    if (!plugin && !is_opening) return 0;
    struct portolan_last_words *words = all->words;
    words->count = 0;
    if (plugin) {
        portolan_add_text(words, "portolan: the plugin ");
        portolan_add_text(words, plugin->identifier);
        portolan_add_text(words, " crashed with ");
        portolan_add_text(words, name);
        const struct portolan_called_function *function = NULL;
        for (size_t i = 0; i < plugin->function_count; i++) {
            const struct portolan_called_function *other = &plugin->functions[i];
            if (other->address <= outermost && (!function || other->address > function->address)) function = other;
        }
        if (call) {
            portolan_add_text(words, portolan_code_of(context) ? " in a call of an invalid function pointer" : " in a call of a NULL function pointer");
        } else if (portolan_calls_non_canonical_address(context, fault)) {
            portolan_add_text(words, " in a call of an invalid function pointer");
        } else if (portolan_is_stack_overflow(context, fault)) {
            portolan_add_text(words, ", because its stack overflowed");
        } else if (!is_called_by_host && count < FRAMES) {
            portolan_add_text(words, " on a thread of its own");
        } else if (function && is_called_by_host) {
            portolan_add_text(words, " in ");
            portolan_add_text(words, function->name);
        }
    } else {
        portolan_add_text(words, "portolan: the plugin library '");
        portolan_add_text(words, all->opening_path);
        portolan_add_text(words, "' crashed with ");
        portolan_add_text(words, name);
        portolan_add_text(words, " while it was opened");
    }
    portolan_add_text(words, shows_stack ? ":\n" : "; -v shows the stack, and 'portolan check' the calls that led to it\n");
    if (!shows_stack) return 1;
    for (int i = first; i < count; i++) {
        portolan_add_text(words, "  ");
        portolan_write_place(words, stack[i]);
    }
    return 1;
}

/* Starts the description of a crash of the calling thread. Returns 0 if that thread has crashed in a description,
 * because its stack can't be unwound. Then the words describe that. */
static inline int portolan_begin_description(struct portolan_opened_plugins *all, const char *name) {
    int32_t thread = (int32_t)portolan_thread_number();
    if (__atomic_exchange_n(&all->describing_thread, thread, __ATOMIC_ACQ_REL) != thread) return 1;
    all->words->count = 0;
    portolan_add_text(all->words, "portolan: crashed with ");
    portolan_add_text(all->words, name);
    portolan_add_text(all->words, ", probably in a plugin that has damaged the stack; 'portolan check' shows the calls that led to it\n");
    return 0;
}

/* Blocks, or unblocks, the signals that a description can cause. */
static inline void portolan_block_crashes(int blocks) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGSEGV);
    sigaddset(&signals, SIGBUS);
    pthread_sigmask(blocks ? SIG_BLOCK : SIG_UNBLOCK, &signals, NULL);
}

/* Writes the words to a descriptor. */
static inline void portolan_print_words(const struct portolan_last_words *words, int descriptor) {
    for (uint32_t done = 0; done < words->count;) {
        ssize_t count = write(descriptor, words->bytes + done, words->count - done);
        if (count <= 0) return;
        done += (uint32_t)count;
    }
}

#endif
