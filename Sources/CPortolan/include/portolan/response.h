/* SPDX-License-Identifier: Apache-2.0 */
/// A response without its body: what it is, how long its body is, and whether it can be stored.
#ifndef PORTOLAN_RESPONSE_H
#define PORTOLAN_RESPONSE_H

#include "base.h"
#include "text.h"

PORTOLAN_BEGIN

/// Whether this response can be stored. Zero means no. Check: CACHE-01, CACHE-05
PORTOLAN_ENUM(portolan_storage) {
    PORTOLAN_STORE_NOT = 0,
    PORTOLAN_STORE_IN_MEMORY = 1, ///< Until the process ends, never on disk.
    PORTOLAN_STORE = 2
};

/// A response without its body. The receiver copies what it keeps before the call returns. Zeroed except for `size`: no
/// status, the URL of the request, a body of unknown type and length, and not to be stored.
typedef struct portolan_response {
    uint32_t size;
    /// 0 if the protocol has none; 100 to 199 only in an interim response.
    int32_t status;
    /// The URL from which it was loaded, absolute. Absent: the request's URL.
    portolan_string url;
    /// Without parameters, as in `text/plain` (RFC 9110 section 8.3.1). Absent: unknown. Check: BODY-09
    portolan_string mime_type;
    /// The charset, as in `utf-8`. Absent: unknown, or not text. Check: BODY-09
    portolan_string text_encoding;
    /// A file name for saving, without a path. The host makes it safe. Absent: the host makes a name from the URL.
    portolan_string suggested_name;
    /// The number of body bytes that will be delivered, or -1 if it is unknown. If `has_length` is 0, 0 also means unknown,
    /// so a zeroed response promises nothing. Check: BODY-02, BODY-06, BODY-07
    int64_t expected_length;
    /// Check: SEC-08
    const portolan_field *PORTOLAN_NULLABLE fields;
    size_t field_count;
    portolan_storage storage;
    /// 1: `expected_length` 0 means an empty body. Since version 1.3; before, this was a reserved member, and 0 always meant an
    /// empty body.
    uint32_t has_length;
} portolan_response;

PORTOLAN_END

#endif
