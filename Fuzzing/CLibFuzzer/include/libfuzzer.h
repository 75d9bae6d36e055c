/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PORTOLAN_LIBFUZZER_H
#define PORTOLAN_LIBFUZZER_H

#include <stddef.h>
#include <stdint.h>

/* Runs libFuzzer from a program's own main function. Reads the arguments, and calls `check` with each input, which is
 * borrowed for the call. Source: llvm.org/docs/LibFuzzer.html, "Using libFuzzer as a library". */
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*check)(const uint8_t *bytes, size_t count));

#endif
