/* SPDX-License-Identifier: Apache-2.0 */
/// secure_getenv(3): a variable of the environment, or NULL for every one where the process has more rights than its user. Declared here,
/// because Swift's Glibc module is made without the GNU extensions.
#ifndef PORTOLAN_SECURE_GETENV_H
#define PORTOLAN_SECURE_GETENV_H

extern char *secure_getenv(const char *name);

#endif
