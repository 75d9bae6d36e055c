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

/// A plugin. Static: it, and all that it points at, lives as long as the library, which is never unmapped.
typedef struct portolan_plugin {
    uint32_t size;
    /// PORTOLAN_ABI_MAJOR, as the plugin was built with.
    uint32_t abi_major;
    /// Reverse DNS, at most 255 bytes; the same as in the manifest. Check: DESC-06, MANIF-02
    portolan_string identifier;
    /// For people; not empty. Check: DESC-07
    portolan_string name, vendor;
    /// SemVer. Check: DESC-07
    portolan_string version;
    /// At least one. Registered in this order, so that the last is asked first.
    const portolan_handler *PORTOLAN_NULLABLE const *PORTOLAN_NULLABLE handlers;
    size_t handler_count;

    /// Starts one instance, before any of its handlers is asked. Reads the configuration, and refuses what it cannot use by
    /// `refusal->give`, naming the key; then nothing of it may be left. Returns its state, which may be NULL: only refusing is failing.
    /// Several instances may live at once and share nothing that a caller can see. NULL: no state, and every instance starts.
    /// [any], but once for each instance. Check: REG-01 to REG-06
    void *PORTOLAN_NULLABLE (*PORTOLAN_NULLABLE init)(portolan_host *, portolan_refusal *);

    /// Ends that instance, after every load was destroyed and every [any] call has returned. No thread of the plugin runs for it
    /// afterwards. Not called after a refusal.
    /// [any], but once for each instance. Check: REG-05, REG-07, UNLOAD-01, UNLOAD-03
    void (*PORTOLAN_NULLABLE deinit)(void *PORTOLAN_NULLABLE plugin);

    /// Gives an ability of the plugin's own that a host may ask for. Returns NULL for every identifier that it does not know. NULL: it has
    /// none.
    /// [any], between init and deinit. Check: DESC-11
    const void *PORTOLAN_NULLABLE (*PORTOLAN_NULLABLE extension)(void *PORTOLAN_NULLABLE plugin, const char *identifier);
} portolan_plugin;

/// The one symbol that a plugin exports. Returns its descriptor, the same one each time, or NULL where it does not serve this major
/// version. Does nothing else: no thread, descriptor, lock or file.
/// [any], also before init. Check: DESC-01 to DESC-04, DESC-09, DESC-10
PORTOLAN_EXPORT const portolan_plugin *PORTOLAN_NULLABLE portolan_plugin_entry(uint32_t abi_major);

PORTOLAN_END

#endif
