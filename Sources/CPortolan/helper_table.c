/* SPDX-License-Identifier: Apache-2.0 */
#include "helper_table_host.h"
#include <portolan/helpers.h>

static const portolan_helper_table table = {
    .size = sizeof table,
    .decode = portolan_decode,
    .join = portolan_join,
    .quote = portolan_quote,
    .equal = portolan_equal,
    .equal_ignoring_case = portolan_equal_ignoring_case,
    .find_field = portolan_find_field,
    .find_property = portolan_find_property,
    .query_item = portolan_query_item,
    .range_value = portolan_range_value,
    .parse_range = portolan_parse_range,
    .read_whole_body = portolan_read_whole_body,
    .forward = portolan_forward,
};

const portolan_helper_table *portolan_host_helper_table(void) { return &table; }
