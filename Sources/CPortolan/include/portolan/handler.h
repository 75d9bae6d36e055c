/* SPDX-License-Identifier: Apache-2.0 */
/// A handler of URL schemes: it accepts requests and makes their loads.
#ifndef PORTOLAN_HANDLER_H
#define PORTOLAN_HANDLER_H

#include "base.h"
#include "client.h"
#include "error.h"
#include "load.h"
#include "request.h"
#include "response.h"
#include "text.h"

PORTOLAN_BEGIN

/// Bits of `portolan_handler.flags`.
PORTOLAN_ENUM(portolan_handler_flags) {
    PORTOLAN_ANY_SCHEME = 1, ///< An interposer: the host offers it every request. `schemes` is ignored.
    PORTOLAN_MULTIPART = 2,  ///< One load can deliver several responses, each with its data. Check: ORDER-08
    /// The loads send and store cookies, like loads of `http:`. The host adds a `Cookie` field to the request, and stores
    /// the `Set-Cookie` fields of responses and redirects. `Secure` cookies need `https`, `wss` or a local host. The
    /// manifest must have the permission `cookies`: without it, the host ignores this bit and logs a warning. The host
    /// also ignores this bit with PORTOLAN_ANY_SCHEME. Since version 1.2. Check: MANIF-08
    PORTOLAN_COOKIES = 4,
    /// The responses of the loads can be stored, as far as their `storage` allows. The host looks for a stored response
    /// before it makes a load. A stored response that is not fresh goes to `make`, and the load confirms or replaces it.
    /// Without this bit, the host stores no response of the handler. It ignores this bit with PORTOLAN_ANY_SCHEME. Since
    /// version 1.2.
    PORTOLAN_CACHEABLE = 8
};

/// A handler. Static: the handler, and everything that it points to, is valid as long as the library.
/// The functions' `plugin` is the value that `init` returned. All functions except `make` are pure.
/// Always set `identifier`, `make` and `loads`, and `schemes` unless it takes any scheme. Zeroed otherwise: no flags, and
/// the behaviour that each function describes for NULL.
typedef struct portolan_handler {
    uint32_t size;
    /// Bits of `portolan_handler_flags`; unknown bits are zero.
    uint32_t flags;
    /// Reverse DNS, at most 255 bytes. Check: DESC-06
    portolan_string identifier;
    /// In lower case, each once (RFC 3986 section 3.1). Check: DESC-08
    const portolan_string *PORTOLAN_NULLABLE schemes;
    size_t scheme_count;

    /// Returns 1 if the request is for this handler, otherwise 0. Takes less than 5 microseconds (CAN-05), and has no
    /// effects: no event, no file, no peer. NULL: every request of its schemes, which saves a call for each. The host
    /// does not call it for a request with this handler's mark, which means that the handler itself made the request.
    /// [any]. Check: CAN-01 to CAN-09
    int32_t (*PORTOLAN_NULLABLE can_init)(void *PORTOLAN_NULLABLE plugin, const portolan_request *);

    /// Gives the difference between the canonical form and the request. The canonical form is the key of stored
    /// responses. The canonical form of a canonical form is the same. NULL, or no call of `give`: the request is
    /// canonical as it is.
    /// [any]. Check: CANON-01 to CANON-03, CANON-06
    void (*PORTOLAN_NULLABLE canonical_request)(void *PORTOLAN_NULLABLE plugin, const portolan_request *, portolan_canonical *);

    /// Returns 1 if a response stored for one of two canonical requests can be used for the other, otherwise 0. The order of
    /// the requests does not matter. NULL: 1 if their URLs are equal.
    /// [any]. Check: CANON-04, CANON-05
    int32_t (*PORTOLAN_NULLABLE is_cache_equivalent)(void *PORTOLAN_NULLABLE plugin, const portolan_request *, const portolan_request *);

    /// Makes a load, without starting it: calls no client, and returns within 50 ms. `cached` is a stored response that the
    /// load can confirm, or NULL. Request, stored response and client are borrowed until `destroy` has returned. Returns the
    /// load. To refuse, calls `refusal->give`, returns NULL, and frees everything of the load.
    /// [any]. Check: LIFE-01, LIFE-03, LIFE-07, ORDER-06, THREAD-09, ERR-04
    void *PORTOLAN_NULLABLE (*PORTOLAN_NULLABLE make)(void *PORTOLAN_NULLABLE plugin, const portolan_request *,
                                                      const portolan_response *PORTOLAN_NULLABLE cached, portolan_client *,
                                                      portolan_refusal *);

    /// The functions of its loads.
    const portolan_load_table *PORTOLAN_NULLABLE loads;
} portolan_handler;

PORTOLAN_END

#endif
