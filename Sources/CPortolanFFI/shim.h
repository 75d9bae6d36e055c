// SPDX-License-Identifier: Apache-2.0
// Why a shim: libffi's types are variables, which Swift takes for shared mutable state, though nobody writes to them.
#ifndef PORTOLAN_FFI_SHIM_H
#define PORTOLAN_FFI_SHIM_H

#include <ffi.h>
#include <stddef.h>
#include <stdint.h>

static inline ffi_type *_Nonnull portolan_ffi_void(void) { return &ffi_type_void; }
static inline ffi_type *_Nonnull portolan_ffi_pointer(void) { return &ffi_type_pointer; }
static inline ffi_type *_Nonnull portolan_ffi_float(void) { return &ffi_type_float; }
static inline ffi_type *_Nonnull portolan_ffi_double(void) { return &ffi_type_double; }

/// The integer of `width` bytes; anything but 1, 2 and 4 counts as 8.
static inline ffi_type *_Nonnull portolan_ffi_integer(int width, int is_signed) {
    switch (width) {
    case 1: return is_signed ? &ffi_type_sint8 : &ffi_type_uint8;
    case 2: return is_signed ? &ffi_type_sint16 : &ffi_type_uint16;
    case 4: return is_signed ? &ffi_type_sint32 : &ffi_type_uint32;
    default: return is_signed ? &ffi_type_sint64 : &ffi_type_uint64;
    }
}

/// Calls a function of a variable argument list with up to six words, the fixed ones first, of which there is at least one. Swift has no such type of a function; a call
/// with another type would leave unsaid how many arguments lie in vector registers, which x86-64 asks of the caller (System V ABI, section 3.5.7).
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

#endif
