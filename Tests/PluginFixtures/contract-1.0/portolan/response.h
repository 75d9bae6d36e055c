/* SPDX-License-Identifier: Apache-2.0 */
/// What comes before a body: what it is, how long, and whether it may be stored.
#ifndef PORTOLAN_RESPONSE_H
#define PORTOLAN_RESPONSE_H

#include "base.h"
#include "text.h"

PORTOLAN_BEGIN

/// Whether this response may be kept. Zeroed, it is not. Check: CACHE-01, CACHE-05
PORTOLAN_ENUM(portolan_storage) {
    PORTOLAN_STORE_NOT = 0,
    PORTOLAN_STORE_IN_MEMORY = 1, ///< As long as the process lives, never on disk.
    PORTOLAN_STORE = 2
};

/// A response without its body. Whoever takes one copies what it keeps before the call returns.
typedef struct portolan_response {
    uint32_t size;
    /// 0 where the protocol has none; 100 to 199 only for an interim one.
    int32_t status;
    /// Where it really came from, absolute. Absent: the request's.
    portolan_string url;
    /// Without parameters, as in `text/plain` (RFC 9110 section 8.3.1). Absent: unknown. Check: BODY-09
    portolan_string mime_type;
    /// The charset, as in `utf-8`. Absent: not said, or not text. Check: BODY-09
    portolan_string text_encoding;
    /// A file name for saving, no path. The host makes it safe. Absent: the host makes one from the URL.
    portolan_string suggested_name;
    /// How many body bytes will be delivered: -1 unknown, 0 an empty body, so leaving it out promises one. Check: BODY-02, BODY-06, BODY-07
    int64_t expected_length;
    /// Check: SEC-08
    const portolan_field *PORTOLAN_NULLABLE fields;
    size_t field_count;
    portolan_storage storage;
    uint32_t reserved;
} portolan_response;

PORTOLAN_END

#endif
