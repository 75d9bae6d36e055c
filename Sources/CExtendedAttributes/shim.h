/* SPDX-License-Identifier: Apache-2.0 */
/// fgetxattr(2) and similar functions, which Swift's Glibc module does not have.
#ifndef PORTOLAN_EXTENDED_ATTRIBUTES_H
#define PORTOLAN_EXTENDED_ATTRIBUTES_H

#include <sys/xattr.h>

#endif
