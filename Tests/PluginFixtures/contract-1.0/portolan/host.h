/* SPDX-License-Identifier: Apache-2.0 */
/// What the host does for a plugin as a whole.
#ifndef PORTOLAN_HOST_H
#define PORTOLAN_HOST_H

#include "base.h"
#include "text.h"

PORTOLAN_BEGIN

/// How much a log line matters.
PORTOLAN_ENUM(portolan_level) {
    PORTOLAN_LOG_ERROR = 1,
    PORTOLAN_LOG_WARNING = 2,
    PORTOLAN_LOG_INFO = 3,
    PORTOLAN_LOG_DEBUG = 4
};

/// The host, as one instance of a plugin sees it. It, and every extension that it gave, lives until `deinit` has returned; after that
/// nothing of it may be called. Check: REG-07, FAULT-07
typedef struct portolan_host portolan_host;
struct portolan_host {
    uint32_t size;
    /// The host's PORTOLAN_ABI_MINOR.
    uint32_t abi_minor;
    /// The host's own version, SemVer.
    portolan_string version;
    /// JSON, an object: the manifest's configuration with the user's over it. Check: REG-06
    portolan_string configuration;
    /// The scalars of `configuration`, so that C needs no parser. Members of objects inside are named `a.b`; arrays and nulls are left out.
    const portolan_property *PORTOLAN_NULLABLE settings;
    size_t setting_count;

    /// Asks for an ability beyond this contract by its identifier and version, a C string as in "portolan.nested/1". Returns its table, or
    /// NULL where this host does not offer it: then the plugin does without, or refuses with PORTOLAN_ERROR_NOT_OFFERED.
    /// [any]. Check: REG-02
    const void *PORTOLAN_NULLABLE (*PORTOLAN_NONNULL extension)(portolan_host *, const char *identifier);

    /// Writes one line, UTF-8, without its newline, to wherever the user reads it: a plugin writes nothing to standard output or standard
    /// error. The host copies it; how long that takes is up to its log.
    /// [any]. Check: ERR-06, CHAL-09
    void (*log)(portolan_host *, portolan_level, portolan_string message);
};

PORTOLAN_END

#endif
