/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the two halves of the plugin: gzip.c starts the plugin and makes loads, load.c is one load. */
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

/* One load. Pointers from the host are valid until destroy has returned, except `inner`, which is valid until its
 * close. */
typedef struct gzip_load {
    const gzip_plugin *plugin;
    const portolan_request *request;
    portolan_client *client;
    portolan_string inner_url; /* a part of request->url */
    portolan_nested *inner;    /* NULL before the start and after the end */
    gzip_members members;
    unsigned char *output; /* NULL until the response has come */
    size_t output_length;  /* the bytes in it that are not delivered yet */
    int is_paused;
    int has_responded;
} gzip_load;

/* The functions of this plugin's loads. */
extern const portolan_load_table gzip_loads;

#endif
