/* SPDX-License-Identifier: Apache-2.0 */
/// A request, and how another request differs from it.
#ifndef PORTOLAN_REQUEST_H
#define PORTOLAN_REQUEST_H

#include "base.h"
#include "text.h"

PORTOLAN_BEGIN

/// How the caller wants to use stored responses. The term of the Fetch standard is in brackets. The host has the store
/// and checks freshness. A handler needs the policy only to tell it to a server, as HTTP does with Cache-Control.
PORTOLAN_ENUM(portolan_cache_policy) {
    PORTOLAN_CACHE_USE_PROTOCOL = 0,           ///< As the protocol says (default).
    PORTOLAN_CACHE_NO_STORE = 1,               ///< Neither use a stored response nor store this one (no-store).
    PORTOLAN_CACHE_RELOAD = 2,                 ///< Do not use a stored response, but store this one (reload).
    PORTOLAN_CACHE_REVALIDATE = 3,             ///< Use a stored response only after its source has confirmed it (no-cache).
    PORTOLAN_CACHE_RETURN_CACHED_ELSE_LOAD = 4, ///< Use a stored response of any age, else load (force-cache).
    PORTOLAN_CACHE_ONLY_CACHED = 5             ///< Use a stored response of any age, else fail (only-if-cached). No load is made for it.
};

/// The purpose of the traffic, so that a plugin that opens sockets can mark them (RFC 4594). A hint.
PORTOLAN_ENUM(portolan_service) {
    PORTOLAN_SERVICE_DEFAULT = 0,
    PORTOLAN_SERVICE_RESPONSIVE = 1, ///< A person waits.
    PORTOLAN_SERVICE_BACKGROUND = 2, ///< Nobody waits.
    PORTOLAN_SERVICE_VIDEO = 3,
    PORTOLAN_SERVICE_VOICE = 4
};

/// A request that the host has parsed, so no plugin parses a URL. Only the host makes whole requests, so a request
/// never contradicts itself. The request of `make` is valid until `destroy` has returned. The requests of `can_init`
/// and of the other pure functions are borrowed for the call. Check: CAN-08, LIFE-08
typedef struct portolan_request {
    uint32_t size;
    /// 1 if the method is safe (RFC 9110 section 9.2.1). A failed load can then be repeated without asking.
    uint32_t method_is_safe;
    /// Absolute, as requested. For messages, and for peers that need the whole URL. User information in it is secret
    /// (ERR-05).
    portolan_string url;
    /// The parts of the URL, still percent-encoded and without their delimiters. Scheme and host are in lower case. A
    /// part that is not in the URL is absent; `path` is never absent. Decode a part once, with `portolan_decode` of
    /// helpers.h.
    portolan_string scheme, user, password, host, path, query, fragment;
    /// -1 if the URL has none.
    int32_t port;
    portolan_cache_policy cache_policy;
    /// Never absent; "GET" if the caller set none. Case-sensitive.
    portolan_string method;
    const portolan_field *PORTOLAN_NULLABLE fields;
    const portolan_property *PORTOLAN_NULLABLE properties;
    size_t field_count, property_count;
    /// The number of bytes that `read_body` will return: -1 if unknown, 0 for no body. Check: UPLOAD-04, UPLOAD-05
    int64_t body_length;
    /// The maximum time without progress, in milliseconds; 0 for no limit. The host measures the time and stops the load. A
    /// plugin can pass the number on.
    int64_t timeout_ms;
    /// The page for which this is loaded, for cookies and their policies. Absent: the request's own URL.
    portolan_string main_document;
    /// 0 is normal; higher numbers go first. A hint.
    int32_t priority;
    portolan_service service;
} portolan_request;

/// How a request differs from the load's own request. Everything that is not named stays the same, also properties that
/// the plugin does not know. The host parses `url`, and removes credentials if the origin changes. A zeroed change
/// changes nothing. Check: CANON-02, REDIR-03, REDIR-04, PROP-01
typedef struct portolan_change {
    uint32_t size;
    /// 1: the new request has no body. `Content-Length`, `Content-Type` and similar fields are then removed.
    uint32_t drops_body;
    /// Absolute. Absent: the same URL; in a redirect, the Location of its response. Check: REDIR-01
    portolan_string url;
    /// Absent: the same method.
    portolan_string method;
    /// Each field replaces all fields of its name; an absent value removes them. Two fields of the same name are both
    /// kept. Check: SEC-01, SEC-08
    const portolan_field *PORTOLAN_NULLABLE fields;
    /// Each property replaces the property of its name; kind 0 removes it.
    const portolan_property *PORTOLAN_NULLABLE properties;
    size_t field_count, property_count;
    /// 1: only the fields in `fields` stay. For a layered handler, whose `Range` and `If-…` are not about the nested
    /// resource.
    uint32_t drops_fields;
    uint32_t reserved;
} portolan_change;

/// Receives the canonical form of a request. Only the host makes one.
typedef struct portolan_canonical {
    uint32_t size, reserved;
    /// Reports how the canonical request differs from the given request. Call it at most once, on the same thread,
    /// before the function that received this struct returns. The host copies the change. Check: CANON-06
    void (*give)(struct portolan_canonical *, const portolan_change *);
} portolan_canonical;

PORTOLAN_END

#endif
