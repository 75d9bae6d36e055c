/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin whose library or descriptor has one fault. Compiled once for each -DVARIANT_NAME (see the Makefile), and
 * once without a fault. Loading the library shows the fault, so a library has only one. */
#include <portolan/portolan.h>
#include <stdlib.h>
#include <string.h>

/* Each macro is the value of one member of the descriptor. A variant defines its own value here; the defaults follow. */
#if defined(VARIANT_short_plugin)
#define PLUGIN_SIZE 16
#elif defined(VARIANT_zero_size)
#define PLUGIN_SIZE 0
#elif defined(VARIANT_other_abi_field)
#define PLUGIN_MAJOR 2
#elif defined(VARIANT_wrong_major)
#define ENTRY_MAJOR 2u
#elif defined(VARIANT_short_handler)
#define HANDLER_SIZE 24
#elif defined(VARIANT_short_loads)
#define LOADS_SIZE 8
#elif defined(VARIANT_bad_identifier)
#define IDENTIFIER PORTOLAN_TEXT("not reverse dns")
#elif defined(VARIANT_identifier_not_utf8)
#define IDENTIFIER PORTOLAN_TEXT("org.portolan.caf\xe9")
#elif defined(VARIANT_absent_identifier)
#define IDENTIFIER { NULL, 0 }
#elif defined(VARIANT_long_identifier)
#define IDENTIFIER { long_identifier, 256 }
/* 256 bytes: one too many. */
static const char long_identifier[] =
    "org.portolan.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
    "bbbbbbbbbbbbbb.cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.dddddddddddddddddddddddddddddddddddddddddddd"
    "dddddddddddddddd";
#elif defined(VARIANT_bad_scheme)
#define SCHEMES { PORTOLAN_TEXT("9fixture") }
#elif defined(VARIANT_upper_scheme)
#define SCHEMES { PORTOLAN_TEXT("Variant") }
#elif defined(VARIANT_twice_scheme)
#define SCHEMES { PORTOLAN_TEXT("variant"), PORTOLAN_TEXT("variant") }
#elif defined(VARIANT_empty_scheme)
#define SCHEMES { PORTOLAN_TEXT("") }
#elif defined(VARIANT_no_schemes)
#define SCHEME_COUNT 0
#elif defined(VARIANT_null_schemes)
#define SCHEME_LIST NULL
#elif defined(VARIANT_null_make)
#define MAKE NULL
#elif defined(VARIANT_null_loads)
#define LOADS NULL
#elif defined(VARIANT_null_destroy)
#define DESTROY NULL
#elif defined(VARIANT_no_style)
#define RUN NULL
#elif defined(VARIANT_both_styles)
#define START run
#elif defined(VARIANT_half_style)
#define RUN NULL
#define START run /* without resume and woken */
#elif defined(VARIANT_no_handlers)
#define HANDLER_COUNT 0
#elif defined(VARIANT_null_handlers)
#define HANDLERS NULL
#elif defined(VARIANT_null_handler)
#define HANDLER NULL
#elif defined(VARIANT_refuses_init)
#define INIT init
#elif defined(VARIANT_refuses_silently)
#define MAKE make_nothing
#elif defined(VARIANT_refuses_make)
#define MAKE make_refused
#elif defined(VARIANT_any_scheme)
#define FLAGS (PORTOLAN_ANY_SCHEME | PORTOLAN_COOKIES | PORTOLAN_CACHEABLE)
#elif defined(VARIANT_missing_symbol)
extern int portolan_fixture_symbol_that_no_library_has(void);
#define SIDE_EFFECT portolan_fixture_symbol_that_no_library_has()
#endif

#ifndef PLUGIN_SIZE
#define PLUGIN_SIZE sizeof(portolan_plugin)
#endif
#ifndef PLUGIN_MAJOR
#define PLUGIN_MAJOR PORTOLAN_ABI_MAJOR
#endif
#ifndef ENTRY_MAJOR
#define ENTRY_MAJOR PORTOLAN_ABI_MAJOR
#endif
#ifndef HANDLER_SIZE
#define HANDLER_SIZE sizeof(portolan_handler)
#endif
#ifndef LOADS_SIZE
#define LOADS_SIZE sizeof(portolan_load_table)
#endif
#ifndef IDENTIFIER
#define IDENTIFIER PORTOLAN_TEXT("org.portolan.variant")
#endif
#ifndef SCHEMES
#define SCHEMES { PORTOLAN_TEXT("variant") }
#endif
#ifndef SCHEME_COUNT
#define SCHEME_COUNT sizeof schemes / sizeof *schemes
#endif
#ifndef SCHEME_LIST
#define SCHEME_LIST schemes
#endif
#ifndef MAKE
#define MAKE make
#endif
#ifndef LOADS
#define LOADS &loads
#endif
#ifndef DESTROY
#define DESTROY destroy
#endif
#ifndef RUN
#define RUN run
#endif
#ifndef START
#define START NULL
#endif
#ifndef HANDLER_COUNT
#define HANDLER_COUNT 1
#endif
#ifndef HANDLERS
#define HANDLERS handlers
#endif
#ifndef HANDLER
#define HANDLER &handler
#endif
#ifndef INIT
#define INIT NULL
#endif
#ifndef FLAGS
#define FLAGS 0
#endif
#ifndef SIDE_EFFECT
#define SIDE_EFFECT 0
#endif

/* Each variant leaves some of the following unused. */
#define MAYBE_UNUSED __attribute__((unused)) static

MAYBE_UNUSED void *make(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                        portolan_refusal *refusal) {
    (void)plugin, (void)request, (void)cached, (void)refusal, (void)SIDE_EFFECT;
    return client; /* the load needs no other state */
}
MAYBE_UNUSED void *make_nothing(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                                portolan_refusal *refusal) {
    (void)plugin, (void)request, (void)cached, (void)client, (void)refusal;
    return NULL;
}
MAYBE_UNUSED void *make_refused(void *plugin, const portolan_request *request, const portolan_response *cached, portolan_client *client,
                                portolan_refusal *refusal) {
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_ACCESS_DENIED, .message = PORTOLAN_TEXT("not on a Sunday") };
    (void)plugin, (void)request, (void)cached, (void)client;
    refusal->give(refusal, &error);
    return NULL;
}
MAYBE_UNUSED void run(void *load) {
    portolan_client *client = load;
    portolan_response response = { .size = sizeof response };
    if (client->did_receive_response(client, &response) == PORTOLAN_CONTINUE) client->did_finish(client);
}
MAYBE_UNUSED void destroy(void *load) { (void)load; }
MAYBE_UNUSED void *init(portolan_host *host, portolan_refusal *refusal) {
    portolan_error error = { .size = sizeof error, .code = PORTOLAN_ERROR_NOT_OFFERED,
                             .message = PORTOLAN_TEXT("no tide today: wait for one") };
    (void)host;
    refusal->give(refusal, &error);
    return NULL;
}

MAYBE_UNUSED const portolan_string schemes[] = SCHEMES;
MAYBE_UNUSED const portolan_load_table loads = { .size = LOADS_SIZE, .run = RUN, .start = START, .destroy = DESTROY };
MAYBE_UNUSED const portolan_handler handler = { .size = HANDLER_SIZE, .identifier = PORTOLAN_TEXT("org.portolan.variant"),
                                                .schemes = SCHEME_LIST, .scheme_count = SCHEME_COUNT, .flags = FLAGS, .make = MAKE,
                                                .loads = LOADS };
MAYBE_UNUSED const portolan_handler *const handlers[] = { HANDLER };
MAYBE_UNUSED const portolan_plugin descriptor = {
    .size = PLUGIN_SIZE, .abi_major = PLUGIN_MAJOR,
    .identifier = IDENTIFIER, .name = PORTOLAN_TEXT("Variant"), .vendor = PORTOLAN_TEXT("The Portolan authors"),
    .version = PORTOLAN_TEXT("1.0.0"), .handlers = HANDLERS, .handler_count = HANDLER_COUNT, .init = INIT };

#ifdef VARIANT_no_entry
PORTOLAN_EXPORT const portolan_plugin *portolan_fixture_misspelt_entry(uint32_t abi_major) {
    (void)abi_major;
    return &descriptor;
}
#else
const portolan_plugin *portolan_plugin_entry(uint32_t abi_major) { return abi_major == ENTRY_MAJOR ? &descriptor : NULL; }
#endif
