/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces functions of the system for one library only, in the slots through which the library calls them (elf(5),
 * dlinfo(3)). */
#ifndef PORTOLAN_CPLUGINOBSERVATION_IMPORTS_H
#define PORTOLAN_CPLUGINOBSERVATION_IMPORTS_H

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* dlfcn.h declares dlinfo and RTLD_DI_LINKMAP only with _GNU_SOURCE, which Swift does not define. */
extern int dlinfo(void *restrict handle, int request, void *restrict place);
enum { PORTOLAN_LINK_MAP = 2 /* RTLD_DI_LINKMAP */ };

#if defined(__x86_64__)
#define PORTOLAN_JUMP_SLOT R_X86_64_JUMP_SLOT
#define PORTOLAN_DATA_SLOT R_X86_64_GLOB_DAT
#define PORTOLAN_WORD_SLOT R_X86_64_64
#elif defined(__aarch64__)
#define PORTOLAN_JUMP_SLOT R_AARCH64_JUMP_SLOT
#define PORTOLAN_DATA_SLOT R_AARCH64_GLOB_DAT
#define PORTOLAN_WORD_SLOT R_AARCH64_ABS64
#else
#error "define the relocation types of function slots for this processor"
#endif

/* Writes `function` into each slot for `name` in `table`, and returns the number of these slots. */
static inline int portolan_fill_slots(const struct link_map *map, const ElfW(Rela) *table, size_t size, const ElfW(Sym) *symbols,
                                      const char *strings, const char *name, void *function) {
    int count = 0;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (const ElfW(Rela) *entry = table; entry < table + size / sizeof *table; entry++) {
        unsigned kind = (unsigned)ELF64_R_TYPE(entry->r_info);
        if (kind != PORTOLAN_JUMP_SLOT && kind != PORTOLAN_DATA_SLOT && kind != PORTOLAN_WORD_SLOT) continue;
        if (strcmp(strings + symbols[ELF64_R_SYM(entry->r_info)].st_name, name) != 0) continue;
        void **slot = (void **)(map->l_addr + entry->r_offset);
        /* A slot that already has another function is not changed. */
        if (*slot != dlsym(NULL, name)) continue;
        /* The slots are read-only by now (RELRO). */
        if (mprotect((void *)((uintptr_t)slot & ~(page - 1)), page, PROT_READ | PROT_WRITE) != 0) continue;
        *slot = function;
        count++;
    }
    return count;
}

/* Makes the library of `handle` (dlopen(3)) call `function` instead of `name`, permanently. Calls of other libraries do
 * not change. Returns the number of changed slots, 0 if the library does not call `name`. */
static inline int portolan_replace_import(void *handle, const char *name, void *function) {
    struct link_map *map = NULL;
    if (dlinfo(handle, PORTOLAN_LINK_MAP, &map) != 0 || !map || !map->l_ld) return 0;
    const ElfW(Sym) *symbols = NULL;
    const char *strings = NULL;
    const ElfW(Rela) *tables[2] = { NULL, NULL };
    size_t sizes[2] = { 0, 0 };
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        /* glibc has replaced the offsets by addresses; other C libraries leave the offsets of the file. */
        uintptr_t address = entry->d_un.d_ptr < map->l_addr ? map->l_addr + entry->d_un.d_ptr : entry->d_un.d_ptr;
        switch (entry->d_tag) {
        case DT_SYMTAB: symbols = (const ElfW(Sym) *)address; break;
        case DT_STRTAB: strings = (const char *)address; break;
        case DT_JMPREL: tables[0] = (const ElfW(Rela) *)address; break;
        case DT_PLTRELSZ: sizes[0] = entry->d_un.d_val; break;
        case DT_RELA: tables[1] = (const ElfW(Rela) *)address; break;
        case DT_RELASZ: sizes[1] = entry->d_un.d_val; break;
        default: break;
        }
    }
    if (!symbols || !strings) return 0;
    int count = 0;
    for (int i = 0; i < 2; i++) {
        if (tables[i]) count += portolan_fill_slots(map, tables[i], sizes[i], symbols, strings, name, function);
    }
    return count;
}

/* Calls the destructors of the library of `handle`, as dlclose(3) and exit(3) do. The library can't be used after that. */
static inline void portolan_call_destructors(void *handle) {
    struct link_map *map = NULL;
    if (dlinfo(handle, PORTOLAN_LINK_MAP, &map) != 0 || !map || !map->l_ld) return;
    void (**functions)(void) = NULL;
    size_t size = 0;
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        uintptr_t address = entry->d_un.d_ptr < map->l_addr ? map->l_addr + entry->d_un.d_ptr : entry->d_un.d_ptr;
        if (entry->d_tag == DT_FINI_ARRAY) functions = (void (**)(void))address;
        if (entry->d_tag == DT_FINI_ARRAYSZ) size = entry->d_un.d_val;
    }
    if (!functions) return;
    for (size_t i = size / sizeof *functions; i > 0; i--) functions[i - 1]();
}

/* Returns the number of allocated bytes of the heap, in all of its arenas and mappings (mallinfo(3)). */
static inline size_t portolan_heap_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

#endif
