// SPDX-License-Identifier: Apache-2.0
// Why a shim: libffi's types are variables, which Swift takes for shared mutable state, though nobody writes to them.
#ifndef PORTOLAN_FFI_SHIM_H
#define PORTOLAN_FFI_SHIM_H

#include <ffi.h>

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

#endif
