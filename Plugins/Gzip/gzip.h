/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the plugin share: gzip.c starts it and makes loads, load.c is one load. */
#ifndef GZIP_H
#define GZIP_H

#include "members.h"
#include <portolan/helpers.h>
#include <portolan/portolan.h>

/* One instance of the plugin; nothing in it changes after init (REG-04). */
typedef struct gzip_plugin {
    const portolan_nested_table *nested;
    int64_t maximum_ratio; /* 0: no limit */
    int64_t maximum_bytes; /* 0: no limit */
} gzip_plugin;

/* One load. Every pointer from the host lives until destroy has returned, but `inner`, which lives until it is closed. */
typedef struct gzip_load {
    const gzip_plugin *plugin;
    const portolan_request *request;
    portolan_client *client;
    portolan_string inner_url; /* a part of request->url */
    portolan_nested *inner;    /* NULL before the start and after the end */
    gzip_members members;
    unsigned char *output; /* NULL until the response has come */
    size_t output_length;  /* what waits in it to be delivered */
    int is_paused;
    int has_responded;
} gzip_load;

/* What a load of this plugin can be told. */
extern const portolan_load_table gzip_loads;

#endif
