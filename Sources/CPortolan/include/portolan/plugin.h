/* SPDX-License-Identifier: Apache-2.0 */
/// The library's descriptor and its one exported symbol.
#ifndef PORTOLAN_PLUGIN_H
#define PORTOLAN_PLUGIN_H

#include "base.h"
#include "error.h"
#include "handler.h"
#include "host.h"
#include "text.h"

PORTOLAN_BEGIN

/// A plugin. Static: the plugin, and everything that it points to, is valid as long as the library, which is never
/// unmapped. Only `init`, `deinit` and `extension` can stay zero.
typedef struct portolan_plugin {
    uint32_t size;
    /// The PORTOLAN_ABI_MAJOR with which the plugin was built.
    uint32_t abi_major;
    /// Reverse DNS, at most 255 bytes; the same as in the manifest. Check: DESC-06, MANIF-02
    portolan_string identifier;
    /// For people; not empty. Check: DESC-07
    portolan_string name, vendor;
    /// SemVer. Check: DESC-07
    portolan_string version;
    /// At least one. The host registers them in this order, so the last one takes precedence.
    const portolan_handler *PORTOLAN_NULLABLE const *PORTOLAN_NULLABLE handlers;
    size_t handler_count;

    /// Starts one instance, before the host asks one of its handlers. Reads the configuration. To refuse a value that
    /// it cannot use, calls `refusal->give`, names the key, and frees everything. Returns the state of the instance. The
    /// state can be NULL, because only a refusal is a failure. Several instances can exist at the same time, and share
    /// nothing that a caller can see. NULL: there is no state, and every instance starts.
    /// [any], but once for each instance. Check: REG-01 to REG-06
    void *PORTOLAN_NULLABLE (*PORTOLAN_NULLABLE init)(portolan_host *, portolan_refusal *);

    /// Ends that instance, after every load was destroyed and every [any] call has returned. No thread of the plugin
    /// runs for it afterwards. Not called after a refusal.
    /// [any], but once for each instance. Check: REG-05, REG-07, UNLOAD-01, UNLOAD-03
    void (*PORTOLAN_NULLABLE deinit)(void *PORTOLAN_NULLABLE plugin);

    /// Returns an ability of the plugin that a host can request, or NULL for every identifier that the plugin does not
    /// know. NULL: there is none.
    /// [any], between init and deinit. Check: DESC-11
    const void *PORTOLAN_NULLABLE (*PORTOLAN_NULLABLE extension)(void *PORTOLAN_NULLABLE plugin, const char *identifier);
} portolan_plugin;

/// The only symbol that a plugin exports. Returns the plugin's descriptor, the same one each time, or NULL if the
/// plugin does not support this major version. Does nothing else: no thread, descriptor, lock or file.
/// [any], also before init. Check: DESC-01 to DESC-04, DESC-09, DESC-10
PORTOLAN_EXPORT const portolan_plugin *PORTOLAN_NULLABLE portolan_plugin_entry(uint32_t abi_major);

PORTOLAN_END

#endif
