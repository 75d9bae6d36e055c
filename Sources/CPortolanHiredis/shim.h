// SPDX-License-Identifier: Apache-2.0
// Why a shim: it names a missing package.
#ifndef PORTOLAN_HIREDIS_SHIM_H
#define PORTOLAN_HIREDIS_SHIM_H

#if !__has_include(<hiredis/hiredis.h>)
#error "hiredis's headers are missing: apt-get install libhiredis-dev"
#endif

#include <hiredis/hiredis.h>

#endif
