/* SPDX-License-Identifier: Apache-2.0 */
/// Errors: the published codes, the error itself, and how a function that cannot return an error reports it.
#ifndef PORTOLAN_ERROR_H
#define PORTOLAN_ERROR_H

#include "base.h"
#include "text.h"

PORTOLAN_BEGIN

/// The published codes. Callers branch on them, so a plugin uses the nearest published code instead of its own. Only
/// the host creates PROTOCOL_VIOLATION, PLUGIN_NOT_LOADABLE and PLUGIN_REFUSED; a layered handler can pass them on.
/// Check: ERR-01, ERR-03, ERR-04
PORTOLAN_ENUM(portolan_code) {
    PORTOLAN_ERROR_UNKNOWN = -1,                  ///< The cause is not known.
    PORTOLAN_ERROR_BAD_URL = -2,                  ///< The URL is malformed for its scheme.
    PORTOLAN_ERROR_UNSUPPORTED_SCHEME = -3,       ///< No handler accepts this request.
    PORTOLAN_ERROR_BAD_REQUEST = -4,              ///< A method, field or property that the handler cannot serve.
    PORTOLAN_ERROR_NOT_FOUND = -5,                ///< Nothing exists at that URL.
    PORTOLAN_ERROR_ACCESS_DENIED = -6,            ///< It exists, but the caller has no permission to read it.
    PORTOLAN_ERROR_IS_DIRECTORY = -7,             ///< The URL names a directory.
    PORTOLAN_ERROR_NOT_REGULAR_FILE = -8,         ///< A FIFO, socket or device.
    PORTOLAN_ERROR_RANGE_NOT_SATISFIABLE = -9,    ///< The range lies outside the resource.
    PORTOLAN_ERROR_CANCELLED = -10,               ///< The caller cancelled.
    PORTOLAN_ERROR_TIMED_OUT = -11,               ///< The idle or the total time-out passed.
    PORTOLAN_ERROR_TOO_MANY_REDIRECTS = -12,      ///< The redirect limit was reached.
    PORTOLAN_ERROR_BAD_REDIRECT = -13,            ///< The target is malformed or not allowed.
    PORTOLAN_ERROR_AUTHENTICATION_REQUIRED = -14, ///< A credential is missing or was rejected.
    PORTOLAN_ERROR_AUTHENTICATION_CANCELLED = -15, ///< A challenge was answered with PORTOLAN_CANCEL.
    PORTOLAN_ERROR_BODY_FAILED = -16,             ///< The upload body could not be read or rewound.
    PORTOLAN_ERROR_NAME_NOT_FOUND = -17,          ///< The host name does not resolve.
    PORTOLAN_ERROR_CANNOT_CONNECT = -18,          ///< No connection could be made.
    PORTOLAN_ERROR_CONNECTION_LOST = -19,         ///< The connection ended early.
    PORTOLAN_ERROR_SECURE_CONNECTION_FAILED = -20, ///< TLS failed.
    PORTOLAN_ERROR_BAD_RESPONSE = -21,            ///< The peer's response violates its protocol.
    PORTOLAN_ERROR_TRUNCATED = -22,               ///< Fewer bytes were received than announced.
    PORTOLAN_ERROR_DECODING_FAILED = -23,         ///< The content coding is malformed.
    PORTOLAN_ERROR_LIMIT_EXCEEDED = -24,          ///< A configured limit of size or ratio was reached.
    PORTOLAN_ERROR_NESTED_TOO_DEEP = -25,         ///< Nested loads are deeper than the limit.
    PORTOLAN_ERROR_IO_FAILED = -26,               ///< Reading or writing failed; the message contains the errno.
    PORTOLAN_ERROR_NO_MEMORY = -27,               ///< Memory could not be allocated.
    PORTOLAN_ERROR_NO_RESOURCES = -28,            ///< No descriptor, thread or slot is free.
    PORTOLAN_ERROR_NOT_OFFERED = -29,             ///< This host does not offer what was requested.
    PORTOLAN_ERROR_PROTOCOL_VIOLATION = -30,      ///< A handler violated a rule of this contract; the message starts with the rule's ID.
    PORTOLAN_ERROR_PLUGIN_NOT_LOADABLE = -31,     ///< The library or its manifest cannot be used.
    PORTOLAN_ERROR_PLUGIN_REFUSED = -32,          ///< The plugin's `init` refused to start.
    PORTOLAN_ERROR_CERTIFICATE_NOT_TRUSTED = -33, ///< The server's certificate is not trusted, because of its authority, names or dates.
    PORTOLAN_ERROR_TRUST_ROOTS_UNUSABLE = -34,    ///< The certificates of the trusted authorities can't be read.
    PORTOLAN_ERROR_CLIENT_CERTIFICATE_UNUSABLE = -35,///< The client's certificate or key can't be read, or they do not match.
    PORTOLAN_ERROR_EMPTY_RESPONSE = -36,          ///< The server closed the connection without a response.
    PORTOLAN_ERROR_PROXY_NOT_FOUND = -37,         ///< The proxy's host name does not resolve, or its URL is malformed.
    PORTOLAN_ERROR_TUNNEL_FAILED = -38,           ///< An HTTP proxy made no tunnel to the server (CONNECT). It can require a password.
    PORTOLAN_ERROR_SOCKS_FAILED = -39             ///< A SOCKS proxy made no connection to the server. It can require a password.
};

/// Why something failed. The receiver copies all of it before the call returns, so a message can be on the stack.
/// Always set `code` and `message`: code 0 is not published (ERR-03), and a message is never empty (ERR-02). Zeroed
/// otherwise: a code of Portolan, without a cause.
/// Check: ORDER-11, ERR-02, ERR-03, ERR-05
typedef struct portolan_error {
    uint32_t size;
    /// A `portolan_code`; with a `domain`, any number that the plugin defines.
    int32_t code;
    /// Absent: portolan's codes. Otherwise reverse DNS, usually the plugin's identifier.
    portolan_string domain;
    /// One line of UTF-8, 1 to 4096 bytes: what happened, with quoted values, and how to fix it. It contains no user
    /// information of the URL, and no secret.
    portolan_string message;
    /// The error that led to this one, such as the error of a nested load. Borrowed for as long as this error. The host
    /// keeps at most eight causes. Of more, it keeps the first seven and the last, whose message then begins with "(N
    /// causes left out)". The host follows at most 1024 causes, so a circle does no harm. Check: NEST-02
    const struct portolan_error *PORTOLAN_NULLABLE cause;
} portolan_error;

/// Takes an error from a function that cannot return one. The plugin keeps the error's memory, and the host copies it.
/// Only the host makes one.
typedef struct portolan_refusal {
    uint32_t size, reserved;
    /// Reports why `init` or `make` refuses. Call it on the same thread, before the function that received this struct
    /// returns. The last error counts. The host copies the error.
    void (*give)(struct portolan_refusal *, const portolan_error *);
} portolan_refusal;

PORTOLAN_END

#endif
