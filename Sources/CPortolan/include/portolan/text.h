/* SPDX-License-Identifier: Apache-2.0 */
/// Strings, fields and properties: the three values that all other structs contain. None of them ever grows.
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

/// Bytes with their length, in UTF-8 if they are text.
/// `bytes` NULL means *absent*, which differs from empty: `x:?` has an empty query, `x:` has none. A string from the
/// host also ends in a NUL that `length` does not count. A string from a plugin need not. Zeroed: absent.
typedef struct portolan_string {
    const char *PORTOLAN_NULLABLE bytes;
    size_t length;
} portolan_string;

/// A header field, or its equivalent in another protocol. A repeated name appears as often as it was received, in the
/// same order.
/// Names compare without regard to case. The host passes only well-formed fields, and accepts no others: no CR, LF or
/// NUL, and a token as the name (RFC 9110 section 5). The name is never absent; an absent value removes the field in a
/// `portolan_change`, and is empty elsewhere. Check: SEC-01, SEC-08
typedef struct portolan_field {
    portolan_string name, value;
} portolan_field;

/// The kind of a property's value, which also says which member holds the value.
PORTOLAN_ENUM(portolan_kind) {
    PORTOLAN_KIND_TEXT = 1,    ///< `bytes`, valid UTF-8
    PORTOLAN_KIND_BYTES = 2,   ///< `bytes`, anything
    PORTOLAN_KIND_INTEGER = 3, ///< `integer`
    PORTOLAN_KIND_REAL = 4,    ///< `real`
    PORTOLAN_KIND_TRUTH = 5    ///< `integer`, 0 or 1
};

/// A named value: a protocol's own parameter of a request, or a scalar of the plugin's configuration. A property of a
/// kind that the plugin does not expect is an error whose message names the property (PROP-02, REG-06). A plugin does
/// not change properties that it does not know (PROP-01). A JSON number is an integer if it has no fraction and fits 64
/// bits; otherwise it is a real. The name is never absent. Kind 0 removes the property in a `portolan_change`.
typedef struct portolan_property {
    /// In a request: reverse DNS, case-sensitive. In the configuration: the key. Nested keys are joined, as in `a.b`.
    portolan_string name;
    portolan_kind kind;
    uint32_t reserved;
    int64_t integer;
    double real;
    portolan_string bytes;
} portolan_property;

PORTOLAN_END

#endif
