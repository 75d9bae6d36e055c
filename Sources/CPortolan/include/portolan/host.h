/* SPDX-License-Identifier: Apache-2.0 */
/// The functions that the host offers to a whole plugin.
#ifndef PORTOLAN_HOST_H
#define PORTOLAN_HOST_H

#include "base.h"
#include "text.h"

PORTOLAN_BEGIN

/// The importance of a log line.
PORTOLAN_ENUM(portolan_level) {
    PORTOLAN_LOG_ERROR = 1,
    PORTOLAN_LOG_WARNING = 2,
    PORTOLAN_LOG_INFO = 3,
    PORTOLAN_LOG_DEBUG = 4
};

/// The host, for one instance of a plugin. The host, and every extension that it returned, is valid until `deinit` has
/// returned. Call nothing of it afterwards. Check: REG-07, FAULT-07
typedef struct portolan_host portolan_host;
struct portolan_host {
    uint32_t size;
    /// The host's PORTOLAN_ABI_MINOR.
    uint32_t abi_minor;
    /// The version of the host (Semantic Versioning).
    portolan_string version;
    /// A JSON object: the manifest's configuration, overridden by the user's. Check: REG-06
    portolan_string configuration;
    /// The scalars of `configuration`, so that C needs no parser. Members of nested objects have names like `a.b`.
    /// Arrays and nulls are omitted.
    const portolan_property *PORTOLAN_NULLABLE settings;
    size_t setting_count;

    /// Requests an ability beyond this contract by its identifier with a version, a C string as in "portolan.nested/1".
    /// Returns its table, or NULL if this host does not offer it. The plugin then works without it, or refuses with
    /// PORTOLAN_ERROR_NOT_OFFERED.
    /// [any]. Check: REG-02
    const void *PORTOLAN_NULLABLE (*PORTOLAN_NONNULL extension)(portolan_host *, const char *identifier);

    /// Writes one line, UTF-8, without its newline, to the user's log. A plugin writes nothing to standard output or
    /// standard error. The host copies the line. How long the call takes depends on the log.
    /// [any]. Check: ERR-06, CHAL-09
    void (*log)(portolan_host *, portolan_level, portolan_string message);
};

PORTOLAN_END

#endif
