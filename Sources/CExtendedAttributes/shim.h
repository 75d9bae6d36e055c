/* SPDX-License-Identifier: Apache-2.0 */
/// fgetxattr(2) and its like, which Swift's Glibc module leaves out.
#ifndef PORTOLAN_EXTENDED_ATTRIBUTES_H
#define PORTOLAN_EXTENDED_ATTRIBUTES_H

#include <sys/xattr.h>

#endif
