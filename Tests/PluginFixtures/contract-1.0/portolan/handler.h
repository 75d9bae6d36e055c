/* SPDX-License-Identifier: Apache-2.0 */
/// What answers for a scheme: says which requests are its own and makes their loads.
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
    PORTOLAN_ANY_SCHEME = 1, ///< An interposer: asked about every request, `schemes` is not looked at.
    PORTOLAN_MULTIPART = 2   ///< Several responses may come in one load, each with its data. Check: ORDER-08
};

/// A handler. Static: it, and all that it points at, lives as long as the library.
/// The functions' `plugin` is what `init` returned. All of them are pure questions but `make`.
typedef struct portolan_handler {
    uint32_t size;
    /// Of `portolan_handler_flags`; unknown bits are zero.
    uint32_t flags;
    /// Reverse DNS, at most 255 bytes. Check: DESC-06
    portolan_string identifier;
    /// In lower case, each once (RFC 3986 section 3.1). Check: DESC-08
    const portolan_string *PORTOLAN_NULLABLE schemes;
    size_t scheme_count;

    /// Is this request one for this handler? 1 or 0. Fast (CAN-05) and without effect: no event, no file, no peer. NULL: every request of
    /// its schemes, which spares a question for each. A request that carries this handler's mark, because the handler itself re-issued it,
    /// is not asked about.
    /// [any]. Check: CAN-01 to CAN-09
    int32_t (*PORTOLAN_NULLABLE can_init)(void *PORTOLAN_NULLABLE plugin, const portolan_request *);

    /// Gives how the canonical form, the key under which responses are stored, differs from the request. Canonical of canonical is the
    /// same. NULL, or no call of `give`: the request is canonical as it is.
    /// [any]. Check: CANON-01 to CANON-03, CANON-06
    void (*PORTOLAN_NULLABLE canonical_request)(void *PORTOLAN_NULLABLE plugin, const portolan_request *, portolan_canonical *);

    /// May a response stored for one of two canonical requests serve the other? 1 or 0; the same both ways round. NULL: where their URLs
    /// are equal.
    /// [any]. Check: CANON-04, CANON-05
    int32_t (*PORTOLAN_NULLABLE is_cache_equivalent)(void *PORTOLAN_NULLABLE plugin, const portolan_request *, const portolan_request *);

    /// Makes a load, without starting it: no client call, nothing slow. `cached` is a stored response that the load may confirm, or NULL.
    /// Request, stored response and client are lent until `destroy` has returned. Returns the load; or NULL after `refusal->give`, and then
    /// nothing of it is kept.
    /// [any]. Check: LIFE-01, LIFE-07, ORDER-06, ERR-04
    void *PORTOLAN_NULLABLE (*PORTOLAN_NULLABLE make)(void *PORTOLAN_NULLABLE plugin, const portolan_request *,
                                                      const portolan_response *PORTOLAN_NULLABLE cached, portolan_client *,
                                                      portolan_refusal *);

    /// What its loads can be told.
    const portolan_load_table *PORTOLAN_NULLABLE loads;
} portolan_handler;

PORTOLAN_END

#endif
