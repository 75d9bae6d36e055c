/* SPDX-License-Identifier: Apache-2.0 */
/// What is asked for, and how another request differs from it.
#ifndef PORTOLAN_REQUEST_H
#define PORTOLAN_REQUEST_H

#include "base.h"
#include "text.h"

PORTOLAN_BEGIN

/// What the caller wants of stored responses; Fetch's word for it in brackets. The host keeps the store and judges freshness: a handler
/// needs this only to tell a server on the way, as HTTP does with Cache-Control.
PORTOLAN_ENUM(portolan_cache_policy) {
    PORTOLAN_CACHE_USE_PROTOCOL = 0,           ///< What the protocol says (default).
    PORTOLAN_CACHE_NO_STORE = 1,               ///< Neither use a stored response nor store this one (no-store).
    PORTOLAN_CACHE_RELOAD = 2,                 ///< Do not use a stored response, but store this one (reload).
    PORTOLAN_CACHE_REVALIDATE = 3,             ///< Use a stored response only after asking its source (no-cache).
    PORTOLAN_CACHE_RETURN_CACHED_ELSE_LOAD = 4, ///< Use a stored response however old, else load (force-cache).
    PORTOLAN_CACHE_ONLY_CACHED = 5             ///< Use a stored response however old, else fail (only-if-cached). No load is made for it.
};

/// What the traffic is for, so that a plugin that opens sockets can mark them (RFC 4594). A hint.
PORTOLAN_ENUM(portolan_service) {
    PORTOLAN_SERVICE_DEFAULT = 0,
    PORTOLAN_SERVICE_RESPONSIVE = 1, ///< A person waits.
    PORTOLAN_SERVICE_BACKGROUND = 2, ///< Nobody waits.
    PORTOLAN_SERVICE_VIDEO = 3,
    PORTOLAN_SERVICE_VOICE = 4
};

/// A request, parsed by the host: no plugin parses a URL. Only the host makes whole ones, so one never contradicts itself. What `make` is
/// given lives until `destroy` has returned; what `can_init` and the other questions are given, only for the call. Check: CAN-08, LIFE-08
typedef struct portolan_request {
    uint32_t size;
    /// 1 where the method is safe (RFC 9110 section 9.2.1): a load that fails may then be tried again without asking.
    uint32_t method_is_safe;
    /// Absolute, as asked. For messages and for peers that want it whole; user information in it is a secret (ERR-05).
    portolan_string url;
    /// The URL's parts, still percent-encoded and without their delimiters; scheme and host in lower case. An absent part was not written;
    /// `path` is never absent. Decode them with `portolan_decode` of helpers.h, and only once.
    portolan_string scheme, user, password, host, path, query, fragment;
    /// -1 where the URL has none.
    int32_t port;
    portolan_cache_policy cache_policy;
    /// Never absent; "GET" where the caller said nothing. Case matters.
    portolan_string method;
    const portolan_field *PORTOLAN_NULLABLE fields;
    const portolan_property *PORTOLAN_NULLABLE properties;
    size_t field_count, property_count;
    /// How many bytes `read_body` will give: -1 unknown, 0 no body. Check: UPLOAD-04, UPLOAD-05
    int64_t body_length;
    /// How long the load may stand still, in milliseconds; 0 without limit. The host keeps the time and stops the load; a plugin may hand
    /// the number on.
    int64_t timeout_ms;
    /// The page for whose sake this is loaded, for cookies and their policies. Absent: the request's own URL.
    portolan_string main_document;
    /// 0 is normal, a higher number goes first. A hint.
    int32_t priority;
    portolan_service service;
} portolan_request;

/// How a request differs from the load's own. All that is not named stays, properties that the plugin never heard of too. The host parses
/// `url`, and takes credentials away where the origin changes. Zeroed, it changes nothing. Check: CANON-02, REDIR-03, REDIR-04, PROP-01
typedef struct portolan_change {
    uint32_t size;
    /// 1: the new request has no body. `Content-Length`, `Content-Type` and their like go with it.
    uint32_t drops_body;
    /// Absolute. Absent: the same; of a redirect, where its response says. Check: REDIR-01
    portolan_string url;
    /// Absent: the same.
    portolan_string method;
    /// Each replaces all of its name; an absent value removes them. Two of the same name are both kept. Check: SEC-01, SEC-08
    const portolan_field *PORTOLAN_NULLABLE fields;
    /// Each replaces the one of its name; kind 0 removes it.
    const portolan_property *PORTOLAN_NULLABLE properties;
    size_t field_count, property_count;
    /// 1: no field stays but those in `fields`. For a layered handler, whose `Range` and `If-…` do not mean the resource inside.
    uint32_t drops_fields;
    uint32_t reserved;
} portolan_change;

/// Takes the canonical form of a request.
typedef struct portolan_canonical {
    uint32_t size, reserved;
    /// Says how the canonical request differs from the one asked about. At most once, before the function that was lent this returns, on
    /// its thread; the host copies. Check: CANON-06
    void (*give)(struct portolan_canonical *, const portolan_change *);
} portolan_canonical;

PORTOLAN_END

#endif
