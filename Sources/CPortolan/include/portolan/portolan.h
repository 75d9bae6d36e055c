/* SPDX-License-Identifier: Apache-2.0 */
/// The plugin contract, version 1: everything but the optional helpers (portolan/helpers.h).
///
/// A reader meets the parts in this order. A library exports one function, `portolan_plugin_entry` (plugin.h). It gives a descriptor
/// that lists handlers (handler.h). A handler makes a load for a request (request.h), and a load (load.h) reports to its client (client.h):
/// responses (response.h), body bytes, errors (error.h) and challenges (challenge.h). host.h is what the host does for the whole plugin;
/// nested.h and watch.h are extensions: loads inside loads, and descriptors and timers that the host watches. What holds everywhere, and the thread words in brackets, stand in base.h.
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

#endif
