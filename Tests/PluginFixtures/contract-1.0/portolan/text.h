/* SPDX-License-Identifier: Apache-2.0 */
/// Text, fields and properties: the three values that everything else is made of. None of them ever grows.
#ifndef PORTOLAN_TEXT_H
#define PORTOLAN_TEXT_H

#include "base.h"

/// A string literal as a `portolan_string`: PORTOLAN_TEXT in an initialiser, PORTOLAN_STRING in an expression.
#define PORTOLAN_TEXT(literal) { "" literal, sizeof(literal) - 1 }
#ifdef __cplusplus
#define PORTOLAN_STRING(literal) (portolan_string PORTOLAN_TEXT(literal))
#else
#define PORTOLAN_STRING(literal) ((portolan_string)PORTOLAN_TEXT(literal))
#endif

PORTOLAN_BEGIN

/// A run of bytes with its length, in UTF-8 where it is text.
/// `bytes` NULL means *absent*, which differs from empty: `x:?` has an empty query, `x:` none. A string that the host lends also ends in
/// a NUL, not counted in `length`; one that a plugin gives need not.
typedef struct portolan_string {
    const char *PORTOLAN_NULLABLE bytes;
    size_t length;
} portolan_string;

/// A header field, or what another protocol has in its place. A name that repeats stands as often as it came, in its order.
/// Names compare without regard to case. The host lends only well-formed ones, and takes no others: no CR, LF or NUL, a token for a name
/// (RFC 9110 section 5). Check: SEC-01, SEC-08
typedef struct portolan_field {
    portolan_string name, value;
} portolan_field;

/// What a property holds, and so which of its members counts.
PORTOLAN_ENUM(portolan_kind) {
    PORTOLAN_KIND_TEXT = 1,    ///< `bytes`, valid UTF-8
    PORTOLAN_KIND_BYTES = 2,   ///< `bytes`, anything
    PORTOLAN_KIND_INTEGER = 3, ///< `integer`
    PORTOLAN_KIND_REAL = 4,    ///< `real`
    PORTOLAN_KIND_TRUTH = 5    ///< `integer`, 0 or 1
};

/// A named value: a protocol's own parameter on a request, or a scalar of the plugin's configuration. A property of a kind that the plugin
/// does not expect is an error whose message names it (PROP-02, REG-06); one that it does not know is left alone (PROP-01). A number of
/// JSON is an integer where it has no fraction and fits 64 bits, else a real.
typedef struct portolan_property {
    /// Of a request: reverse DNS, case-sensitive. Of the configuration: the key; nested keys are joined, as in `a.b`.
    portolan_string name;
    portolan_kind kind;
    uint32_t reserved;
    int64_t integer;
    double real;
    portolan_string bytes;
} portolan_property;

PORTOLAN_END

#endif
