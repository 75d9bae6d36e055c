/* SPDX-License-Identifier: Apache-2.0 */
/// The plugin contract, version 1: everything except the optional helpers (portolan/helpers.h).
///
/// The parts, in the order in which a reader needs them: a library exports one function, `portolan_plugin_entry`
/// (plugin.h). It returns a descriptor that lists handlers (handler.h). A handler makes a load for a request
/// (request.h). A load (load.h) reports to its client (client.h): responses (response.h), body bytes, errors (error.h)
/// and challenges (challenge.h). host.h has the functions of the host for the whole plugin. nested.h, watch.h and
/// helper_table.h are extensions: nested loads, descriptors and timers that the host watches, and the optional helpers as
/// pointers. base.h has the rules for all parts, and explains the thread words in brackets.
#ifndef PORTOLAN_PORTOLAN_H
#define PORTOLAN_PORTOLAN_H

#include "base.h"
#include "text.h"
#include "error.h"
#include "request.h"
#include "response.h"
#include "challenge.h"
#include "client.h"
#include "load.h"
#include "handler.h"
#include "host.h"
#include "plugin.h"
#include "nested.h"
#include "watch.h"
#include "helper_table.h"

#endif
