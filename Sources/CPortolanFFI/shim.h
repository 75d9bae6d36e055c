// SPDX-License-Identifier: Apache-2.0
// Why a shim: libffi's types are variables. Swift treats them as shared mutable state, although nobody writes to them.
#ifndef PORTOLAN_FFI_SHIM_H
#define PORTOLAN_FFI_SHIM_H

#include <elf.h>
#include <features.h>
#include <ffi.h>
#include <stddef.h>
#include <stdint.h>

static inline ffi_type *_Nonnull portolan_ffi_void(void) { return &ffi_type_void; }
static inline ffi_type *_Nonnull portolan_ffi_pointer(void) { return &ffi_type_pointer; }
static inline ffi_type *_Nonnull portolan_ffi_float(void) { return &ffi_type_float; }
static inline ffi_type *_Nonnull portolan_ffi_double(void) { return &ffi_type_double; }

/// Returns the integer type of `width` bytes: 1, 2 or 4; any other value means 8.
static inline ffi_type *_Nonnull portolan_ffi_integer(int width, int is_signed) {
    switch (width) {
    case 1: return is_signed ? &ffi_type_sint8 : &ffi_type_uint8;
    case 2: return is_signed ? &ffi_type_sint16 : &ffi_type_uint16;
    case 4: return is_signed ? &ffi_type_sint32 : &ffi_type_uint32;
    default: return is_signed ? &ffi_type_sint64 : &ffi_type_uint64;
    }
}

/// Calls a variadic function with up to six words: first the fixed arguments, at least one, then the others. Swift has no
/// type for such a function. On x86-64 the caller must pass the number of arguments in vector registers, and a call with
/// another type would not (System V ABI, section 3.5.7).
static inline uint64_t portolan_ffi_call_variadic(void (*_Nonnull function)(void), const uint64_t *_Nonnull words, size_t count) {
    typedef uint64_t (*variadic)(uint64_t, ...);
    variadic call = (variadic)function;
    switch (count) {
    case 0: return ((uint64_t (*)(void))function)();
    case 1: return call(words[0]);
    case 2: return call(words[0], words[1]);
    case 3: return call(words[0], words[1], words[2]);
    case 4: return call(words[0], words[1], words[2], words[3]);
    case 5: return call(words[0], words[1], words[2], words[3], words[4]);
    default: return call(words[0], words[1], words[2], words[3], words[4], words[5]);
    }
}

#ifdef __GLIBC__
struct portolan_ffi_place {
    const char *_Nullable file;
    void *_Nullable file_address;
    const char *_Nullable symbol;
    void *_Nullable symbol_address;
};

/// dladdr1(3) under another name, because Swift's Glibc module has no GNU extensions.
extern int portolan_ffi_find(const void *_Nonnull address, struct portolan_ffi_place *_Nonnull place, void *_Nullable *_Nonnull symbol, int what)
    __asm__("dladdr1");
#endif

/// Returns whether an address of dlsym(3) is the address of a function. An address without a public symbol counts as a
/// function that the library chose when it was loaded (`memcpy` has one for each processor). If the C library can't tell,
/// every address counts as a function.
static inline int portolan_ffi_is_function(const void *_Nonnull address) {
#ifdef __GLIBC__
    enum { symbol_entry = 1 };
    struct portolan_ffi_place place;
    void *_Nullable symbol = NULL;
    // A thread-local variable is in no library.
    if (portolan_ffi_find(address, &place, &symbol, symbol_entry) == 0) return 0;
    if (symbol == NULL) return 1;
    // Both ELF classes use the same bits of st_info, but the byte has another offset.
    unsigned char info = sizeof(void *) == 8 ? ((const Elf64_Sym *)symbol)->st_info : ((const Elf32_Sym *)symbol)->st_info;
    // Also accepts symbols without a type, because many symbols of assembly code have none.
    unsigned char type = ELF64_ST_TYPE(info);
    return type != STT_OBJECT && type != STT_TLS && type != STT_COMMON;
#else
    (void)address;
    return 1;
#endif
}

#endif
