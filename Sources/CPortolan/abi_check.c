/* SPDX-License-Identifier: Apache-2.0 */
/* Pins version 1 of the contract: a build fails here if a struct, a member or a published number has moved.
 *
 * A layout is a count of fixed bytes and a count of words (pointers and size_t), so the same lines are correct for
 * words of 4 and of 8 bytes. No struct has padding from the compiler. Members that a later minor version appends go
 * after the last row of their struct, and the size changes. Nothing else in this file ever changes. */
#include <portolan/portolan.h>

#define AT(type, member, fixed, words) \
    _Static_assert(offsetof(type, member) == (fixed) + (words) * sizeof(void *), "ABI: " #type "." #member " has moved")
#define SIZE(type, fixed, words) \
    _Static_assert(sizeof(type) == (fixed) + (words) * sizeof(void *), "ABI: the size of " #type " has changed")
#define VALUE(name, value) _Static_assert((name) == (value), "ABI: the number of " #name " has changed")
#define ENUM(type) _Static_assert(sizeof(type) == 4, "ABI: " #type " is not 32 bits wide")

VALUE(PORTOLAN_ABI_MAJOR, 1);
_Static_assert(sizeof(size_t) == sizeof(void *), "ABI: a length is not as wide as a pointer");

/* text.h */
AT(portolan_string, bytes, 0, 0);
AT(portolan_string, length, 0, 1);
SIZE(portolan_string, 0, 2);
AT(portolan_field, name, 0, 0);
AT(portolan_field, value, 0, 2);
SIZE(portolan_field, 0, 4);
ENUM(portolan_kind);
VALUE(PORTOLAN_KIND_TEXT, 1);
VALUE(PORTOLAN_KIND_BYTES, 2);
VALUE(PORTOLAN_KIND_INTEGER, 3);
VALUE(PORTOLAN_KIND_REAL, 4);
VALUE(PORTOLAN_KIND_TRUTH, 5);
AT(portolan_property, name, 0, 0);
AT(portolan_property, kind, 0, 2);
AT(portolan_property, reserved, 4, 2);
AT(portolan_property, integer, 8, 2);
AT(portolan_property, real, 16, 2);
AT(portolan_property, bytes, 24, 2);
SIZE(portolan_property, 24, 4);

/* error.h */
ENUM(portolan_code);
VALUE(PORTOLAN_ERROR_UNKNOWN, -1);
VALUE(PORTOLAN_ERROR_BAD_URL, -2);
VALUE(PORTOLAN_ERROR_UNSUPPORTED_SCHEME, -3);
VALUE(PORTOLAN_ERROR_BAD_REQUEST, -4);
VALUE(PORTOLAN_ERROR_NOT_FOUND, -5);
VALUE(PORTOLAN_ERROR_ACCESS_DENIED, -6);
VALUE(PORTOLAN_ERROR_IS_DIRECTORY, -7);
VALUE(PORTOLAN_ERROR_NOT_REGULAR_FILE, -8);
VALUE(PORTOLAN_ERROR_RANGE_NOT_SATISFIABLE, -9);
VALUE(PORTOLAN_ERROR_CANCELLED, -10);
VALUE(PORTOLAN_ERROR_TIMED_OUT, -11);
VALUE(PORTOLAN_ERROR_TOO_MANY_REDIRECTS, -12);
VALUE(PORTOLAN_ERROR_BAD_REDIRECT, -13);
VALUE(PORTOLAN_ERROR_AUTHENTICATION_REQUIRED, -14);
VALUE(PORTOLAN_ERROR_AUTHENTICATION_CANCELLED, -15);
VALUE(PORTOLAN_ERROR_BODY_FAILED, -16);
VALUE(PORTOLAN_ERROR_NAME_NOT_FOUND, -17);
VALUE(PORTOLAN_ERROR_CANNOT_CONNECT, -18);
VALUE(PORTOLAN_ERROR_CONNECTION_LOST, -19);
VALUE(PORTOLAN_ERROR_SECURE_CONNECTION_FAILED, -20);
VALUE(PORTOLAN_ERROR_BAD_RESPONSE, -21);
VALUE(PORTOLAN_ERROR_TRUNCATED, -22);
VALUE(PORTOLAN_ERROR_DECODING_FAILED, -23);
VALUE(PORTOLAN_ERROR_LIMIT_EXCEEDED, -24);
VALUE(PORTOLAN_ERROR_NESTED_TOO_DEEP, -25);
VALUE(PORTOLAN_ERROR_IO_FAILED, -26);
VALUE(PORTOLAN_ERROR_NO_MEMORY, -27);
VALUE(PORTOLAN_ERROR_NO_RESOURCES, -28);
VALUE(PORTOLAN_ERROR_NOT_OFFERED, -29);
VALUE(PORTOLAN_ERROR_PROTOCOL_VIOLATION, -30);
VALUE(PORTOLAN_ERROR_PLUGIN_NOT_LOADABLE, -31);
VALUE(PORTOLAN_ERROR_PLUGIN_REFUSED, -32);
VALUE(PORTOLAN_ERROR_CERTIFICATE_NOT_TRUSTED, -33);
VALUE(PORTOLAN_ERROR_TRUST_ROOTS_UNUSABLE, -34);
VALUE(PORTOLAN_ERROR_CLIENT_CERTIFICATE_UNUSABLE, -35);
VALUE(PORTOLAN_ERROR_EMPTY_RESPONSE, -36);
VALUE(PORTOLAN_ERROR_PROXY_NOT_FOUND, -37);
VALUE(PORTOLAN_ERROR_TUNNEL_FAILED, -38);
VALUE(PORTOLAN_ERROR_SOCKS_FAILED, -39);
AT(portolan_error, size, 0, 0);
AT(portolan_error, code, 4, 0);
AT(portolan_error, domain, 8, 0);
AT(portolan_error, message, 8, 2);
AT(portolan_error, cause, 8, 4);
SIZE(portolan_error, 8, 5);
AT(portolan_refusal, size, 0, 0);
AT(portolan_refusal, reserved, 4, 0);
AT(portolan_refusal, give, 8, 0);
SIZE(portolan_refusal, 8, 1);

/* request.h */
ENUM(portolan_cache_policy);
VALUE(PORTOLAN_CACHE_USE_PROTOCOL, 0);
VALUE(PORTOLAN_CACHE_NO_STORE, 1);
VALUE(PORTOLAN_CACHE_RELOAD, 2);
VALUE(PORTOLAN_CACHE_REVALIDATE, 3);
VALUE(PORTOLAN_CACHE_RETURN_CACHED_ELSE_LOAD, 4);
VALUE(PORTOLAN_CACHE_ONLY_CACHED, 5);
ENUM(portolan_service);
VALUE(PORTOLAN_SERVICE_DEFAULT, 0);
VALUE(PORTOLAN_SERVICE_RESPONSIVE, 1);
VALUE(PORTOLAN_SERVICE_BACKGROUND, 2);
VALUE(PORTOLAN_SERVICE_VIDEO, 3);
VALUE(PORTOLAN_SERVICE_VOICE, 4);
AT(portolan_request, size, 0, 0);
AT(portolan_request, method_is_safe, 4, 0);
AT(portolan_request, url, 8, 0);
AT(portolan_request, scheme, 8, 2);
AT(portolan_request, user, 8, 4);
AT(portolan_request, password, 8, 6);
AT(portolan_request, host, 8, 8);
AT(portolan_request, path, 8, 10);
AT(portolan_request, query, 8, 12);
AT(portolan_request, fragment, 8, 14);
AT(portolan_request, port, 8, 16);
AT(portolan_request, cache_policy, 12, 16);
AT(portolan_request, method, 16, 16);
AT(portolan_request, fields, 16, 18);
AT(portolan_request, properties, 16, 19);
AT(portolan_request, field_count, 16, 20);
AT(portolan_request, property_count, 16, 21);
AT(portolan_request, body_length, 16, 22);
AT(portolan_request, timeout_ms, 24, 22);
AT(portolan_request, main_document, 32, 22);
AT(portolan_request, priority, 32, 24);
AT(portolan_request, service, 36, 24);
SIZE(portolan_request, 40, 24);
AT(portolan_change, size, 0, 0);
AT(portolan_change, drops_body, 4, 0);
AT(portolan_change, url, 8, 0);
AT(portolan_change, method, 8, 2);
AT(portolan_change, fields, 8, 4);
AT(portolan_change, properties, 8, 5);
AT(portolan_change, field_count, 8, 6);
AT(portolan_change, property_count, 8, 7);
AT(portolan_change, drops_fields, 8, 8);
AT(portolan_change, reserved, 12, 8);
SIZE(portolan_change, 16, 8);
AT(portolan_canonical, size, 0, 0);
AT(portolan_canonical, reserved, 4, 0);
AT(portolan_canonical, give, 8, 0);
SIZE(portolan_canonical, 8, 1);

/* response.h */
ENUM(portolan_storage);
VALUE(PORTOLAN_STORE_NOT, 0);
VALUE(PORTOLAN_STORE_IN_MEMORY, 1);
VALUE(PORTOLAN_STORE, 2);
AT(portolan_response, size, 0, 0);
AT(portolan_response, status, 4, 0);
AT(portolan_response, url, 8, 0);
AT(portolan_response, mime_type, 8, 2);
AT(portolan_response, text_encoding, 8, 4);
AT(portolan_response, suggested_name, 8, 6);
AT(portolan_response, expected_length, 8, 8);
AT(portolan_response, fields, 16, 8);
AT(portolan_response, field_count, 16, 9);
AT(portolan_response, storage, 16, 10);
AT(portolan_response, has_length, 20, 10);
SIZE(portolan_response, 24, 10);

/* challenge.h */
ENUM(portolan_method);
VALUE(PORTOLAN_ASK_PASSWORD, 1);
VALUE(PORTOLAN_ASK_CLIENT_CERTIFICATE, 2);
VALUE(PORTOLAN_ASK_SERVER_TRUST, 3);
AT(portolan_challenge, size, 0, 0);
AT(portolan_challenge, method, 4, 0);
AT(portolan_challenge, protocol, 8, 0);
AT(portolan_challenge, host, 8, 2);
AT(portolan_challenge, realm, 8, 4);
AT(portolan_challenge, scheme, 8, 6);
AT(portolan_challenge, port, 8, 8);
AT(portolan_challenge, is_proxy, 12, 8);
AT(portolan_challenge, failure_count, 16, 8);
AT(portolan_challenge, reserved, 20, 8);
AT(portolan_challenge, certificates, 24, 8);
AT(portolan_challenge, certificate_count, 24, 9);
AT(portolan_challenge, previous, 24, 10);
SIZE(portolan_challenge, 24, 11);
ENUM(portolan_disposition);
VALUE(PORTOLAN_USE, 1);
VALUE(PORTOLAN_WITHOUT, 2);
VALUE(PORTOLAN_DEFAULT, 3);
VALUE(PORTOLAN_REJECT_SPACE, 4);
VALUE(PORTOLAN_CANCEL, 5);
AT(portolan_answer, size, 0, 0);
AT(portolan_answer, disposition, 4, 0);
AT(portolan_answer, user, 8, 0);
AT(portolan_answer, password, 8, 2);
AT(portolan_answer, certificates, 8, 4);
AT(portolan_answer, certificate_count, 8, 5);
AT(portolan_answer, private_key, 8, 6);
SIZE(portolan_answer, 8, 8);

/* client.h */
ENUM(portolan_flow);
VALUE(PORTOLAN_WAIT, -2);
VALUE(PORTOLAN_STOPPED, -1);
VALUE(PORTOLAN_PAUSE, 0);
VALUE(PORTOLAN_CONTINUE, 1);
ENUM(portolan_step);
VALUE(PORTOLAN_NAME_FOUND, 1);
VALUE(PORTOLAN_CONNECTED, 2);
VALUE(PORTOLAN_SECURED, 3);
VALUE(PORTOLAN_REUSED, 4);
VALUE(PORTOLAN_REQUEST_SENT, 5);
VALUE(PORTOLAN_FIRST_BYTE, 6);
AT(portolan_client, size, 0, 0);
AT(portolan_client, reserved, 4, 0);
AT(portolan_client, did_receive_interim, 8, 0);
AT(portolan_client, did_receive_response, 8, 1);
AT(portolan_client, did_load, 8, 2);
AT(portolan_client, did_receive_trailers, 8, 3);
AT(portolan_client, did_finish, 8, 4);
AT(portolan_client, did_fail, 8, 5);
AT(portolan_client, was_redirected, 8, 6);
AT(portolan_client, cached_response_is_valid, 8, 7);
AT(portolan_client, read_cached, 8, 8);
AT(portolan_client, did_receive_challenge, 8, 9);
AT(portolan_client, did_cancel_challenge, 8, 10);
AT(portolan_client, read_body, 8, 11);
AT(portolan_client, did_send, 8, 12);
AT(portolan_client, did_reach, 8, 13);
AT(portolan_client, rewind_body, 8, 14);
AT(portolan_client, is_stopped, 8, 15);
AT(portolan_client, wake, 8, 16);
SIZE(portolan_client, 8, 17);

/* load.h */
AT(portolan_load_table, size, 0, 0);
AT(portolan_load_table, reserved, 4, 0);
AT(portolan_load_table, run, 8, 0);
AT(portolan_load_table, start, 8, 1);
AT(portolan_load_table, resume, 8, 2);
AT(portolan_load_table, woken, 8, 3);
AT(portolan_load_table, answered, 8, 4);
AT(portolan_load_table, stop, 8, 5);
AT(portolan_load_table, destroy, 8, 6);
SIZE(portolan_load_table, 8, 7);

/* handler.h */
ENUM(portolan_handler_flags);
VALUE(PORTOLAN_ANY_SCHEME, 1);
VALUE(PORTOLAN_MULTIPART, 2);
VALUE(PORTOLAN_COOKIES, 4);
VALUE(PORTOLAN_CACHEABLE, 8);
AT(portolan_handler, size, 0, 0);
AT(portolan_handler, flags, 4, 0);
AT(portolan_handler, identifier, 8, 0);
AT(portolan_handler, schemes, 8, 2);
AT(portolan_handler, scheme_count, 8, 3);
AT(portolan_handler, can_init, 8, 4);
AT(portolan_handler, canonical_request, 8, 5);
AT(portolan_handler, is_cache_equivalent, 8, 6);
AT(portolan_handler, make, 8, 7);
AT(portolan_handler, loads, 8, 8);
SIZE(portolan_handler, 8, 9);

/* host.h */
ENUM(portolan_level);
VALUE(PORTOLAN_LOG_ERROR, 1);
VALUE(PORTOLAN_LOG_WARNING, 2);
VALUE(PORTOLAN_LOG_INFO, 3);
VALUE(PORTOLAN_LOG_DEBUG, 4);
AT(portolan_host, size, 0, 0);
AT(portolan_host, abi_minor, 4, 0);
AT(portolan_host, version, 8, 0);
AT(portolan_host, configuration, 8, 2);
AT(portolan_host, settings, 8, 4);
AT(portolan_host, setting_count, 8, 5);
AT(portolan_host, extension, 8, 6);
AT(portolan_host, log, 8, 7);
SIZE(portolan_host, 8, 8);

/* plugin.h */
AT(portolan_plugin, size, 0, 0);
AT(portolan_plugin, abi_major, 4, 0);
AT(portolan_plugin, identifier, 8, 0);
AT(portolan_plugin, name, 8, 2);
AT(portolan_plugin, vendor, 8, 4);
AT(portolan_plugin, version, 8, 6);
AT(portolan_plugin, handlers, 8, 8);
AT(portolan_plugin, handler_count, 8, 9);
AT(portolan_plugin, init, 8, 10);
AT(portolan_plugin, deinit, 8, 11);
AT(portolan_plugin, extension, 8, 12);
SIZE(portolan_plugin, 8, 13);

/* nested.h */
AT(portolan_nested_table, size, 0, 0);
AT(portolan_nested_table, reserved, 4, 0);
AT(portolan_nested_table, open, 8, 0);
AT(portolan_nested_table, response, 8, 1);
AT(portolan_nested_table, next, 8, 2);
AT(portolan_nested_table, error, 8, 3);
AT(portolan_nested_table, close, 8, 4);
SIZE(portolan_nested_table, 8, 5);

/* watch.h */
ENUM(portolan_readiness);
VALUE(PORTOLAN_READABLE, 1);
VALUE(PORTOLAN_WRITABLE, 2);
VALUE(PORTOLAN_HUNG_UP, 4);
AT(portolan_watch_table, size, 0, 0);
AT(portolan_watch_table, reserved, 4, 0);
AT(portolan_watch_table, watch, 8, 0);
AT(portolan_watch_table, ready, 8, 1);
AT(portolan_watch_table, unwatch, 8, 2);
AT(portolan_watch_table, set_timer, 8, 3);
AT(portolan_watch_table, fired, 8, 4);
SIZE(portolan_watch_table, 8, 5);

/* helper_table.h */
AT(portolan_helper_table, size, 0, 0);
AT(portolan_helper_table, reserved, 4, 0);
AT(portolan_helper_table, decode, 8, 0);
AT(portolan_helper_table, join, 8, 1);
AT(portolan_helper_table, quote, 8, 2);
AT(portolan_helper_table, equal, 8, 3);
AT(portolan_helper_table, equal_ignoring_case, 8, 4);
AT(portolan_helper_table, find_field, 8, 5);
AT(portolan_helper_table, find_property, 8, 6);
AT(portolan_helper_table, query_item, 8, 7);
AT(portolan_helper_table, range_value, 8, 8);
AT(portolan_helper_table, parse_range, 8, 9);
AT(portolan_helper_table, read_whole_body, 8, 10);
AT(portolan_helper_table, forward, 8, 11);
SIZE(portolan_helper_table, 8, 12);
