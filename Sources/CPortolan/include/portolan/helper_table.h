/* SPDX-License-Identifier: Apache-2.0 */
/// An extension: the functions of helpers.h as pointers, for languages that can't call inline functions of C. Since
/// version 1.3. A plugin in C or C++ includes helpers.h, which needs no host.
#ifndef PORTOLAN_HELPER_TABLE_H
#define PORTOLAN_HELPER_TABLE_H

#include "base.h"
#include "client.h"
#include "nested.h"
#include "text.h"

/// The identifier for `portolan_host.extension`, which returns a `portolan_helper_table`.
#define PORTOLAN_HELPERS "portolan.helpers/1"

PORTOLAN_BEGIN

/// The functions. helpers.h describes each under its name with the prefix `portolan_`. They keep no pointer after they
/// return, and call only the client and the nested load that they receive.
typedef struct portolan_helper_table {
    uint32_t size, reserved;

    /// `portolan_decode`. [any]. Check: SEC-01, CAN-07
    int64_t (*decode)(portolan_string encoded, char *PORTOLAN_NULLABLE buffer, size_t capacity);
    /// `portolan_join`. [any]. Check: SEC-02
    int64_t (*join)(portolan_string root, portolan_string path, char *PORTOLAN_NULLABLE buffer, size_t capacity);
    /// `portolan_quote`. [any]. Check: ERR-02
    int64_t (*quote)(portolan_string text, char *PORTOLAN_NULLABLE buffer, size_t capacity);
    /// `portolan_equal`. [any]
    int32_t (*equal)(portolan_string a, portolan_string b);
    /// `portolan_equal_ignoring_case`. [any]
    int32_t (*equal_ignoring_case)(portolan_string a, portolan_string b);
    /// `portolan_find_field`. The result is valid as long as the fields are. [any]
    const portolan_field *PORTOLAN_NULLABLE (*PORTOLAN_NONNULL find_field)(const portolan_field *PORTOLAN_NULLABLE fields, size_t count,
                                                                         portolan_string name);
    /// `portolan_find_property`. The result is valid as long as the properties are. [any]. Check: PROP-02
    const portolan_property *PORTOLAN_NULLABLE (*PORTOLAN_NONNULL find_property)(const portolan_property *PORTOLAN_NULLABLE properties,
                                                                               size_t count, portolan_string name);
    /// `portolan_query_item`. The result is valid as long as the query is. [any]
    portolan_string (*query_item)(portolan_string query, portolan_string name);
    /// `portolan_range_value`. [any]
    int64_t (*range_value)(int64_t offset, int64_t count, char *PORTOLAN_NULLABLE buffer, size_t capacity);
    /// `portolan_parse_range`. [any]
    int32_t (*parse_range)(portolan_string value, int64_t length, int64_t *offset, int64_t *count);
    /// `portolan_read_whole_body`. [load-thread]. Check: UPLOAD-01, UPLOAD-03
    int64_t (*read_whole_body)(portolan_client *, void *buffer, size_t capacity);
    /// `portolan_forward`. [load-thread]. Check: NEST-02, NEST-05
    portolan_flow (*forward)(portolan_client *, const portolan_nested_table *, portolan_nested *);
} portolan_helper_table;

PORTOLAN_END

#endif
