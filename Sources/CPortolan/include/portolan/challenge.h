/* SPDX-License-Identifier: Apache-2.0 */
/// Authentication: the challenge of a load, and its answer.
#ifndef PORTOLAN_CHALLENGE_H
#define PORTOLAN_CHALLENGE_H

#include "base.h"
#include "error.h"
#include "text.h"

PORTOLAN_BEGIN

/// What a challenge requests.
PORTOLAN_ENUM(portolan_method) {
    PORTOLAN_ASK_PASSWORD = 1,           ///< A user and a password.
    PORTOLAN_ASK_CLIENT_CERTIFICATE = 2, ///< A certificate and its private key.
    PORTOLAN_ASK_SERVER_TRUST = 3        ///< Whether to trust the peer's chain.
};

/// A challenge of the peer, with its protection space: the place where one credential is valid.
/// The host first uses stored credentials and the URL's user information, and asks the caller last. All of the
/// challenge is borrowed for the call.
/// Always set `method`, `protocol`, `host` and `port`: no method is 0, and port 0 is a port. Zeroed otherwise: from the
/// origin, the first challenge, without realm, scheme and certificates.
/// Check: CHAL-01, CHAL-04, CHAL-10
typedef struct portolan_challenge {
    uint32_t size;
    portolan_method method;
    /// `protocol` and `host` are never absent. `realm` can be absent. `protocol` is the scheme of the URL, as in `https`, or
    /// of the proxy.
    portolan_string protocol, host, realm;
    /// The authentication scheme, such as `basic` or `digest`. Absent if the method has no schemes.
    portolan_string scheme;
    /// -1 if there is none.
    int32_t port;
    /// 1: the challenge comes from the proxy, not from the origin.
    int32_t is_proxy;
    /// The number of answers of this load, in this space, that have failed. Each failure adds one (CHAL-04).
    int32_t failure_count;
    uint32_t reserved;
    /// Server trust: the peer's chain, DER, leaf first. Client certificate: the names of the accepted issuers, DER.
    const portolan_string *PORTOLAN_NULLABLE certificates;
    size_t certificate_count;
    /// Why the last answer failed. NULL in the first challenge.
    const portolan_error *PORTOLAN_NULLABLE previous;
} portolan_challenge;

/// What the load does with an answer.
PORTOLAN_ENUM(portolan_disposition) {
    /// Use the credential. For server trust: trust this chain.
    PORTOLAN_USE = 1,
    /// Continue without a credential. Deliver what the peer then sends, or fail with
    /// PORTOLAN_ERROR_AUTHENTICATION_REQUIRED. Check: CHAL-06
    PORTOLAN_WITHOUT = 2,
    /// The caller does not decide. For server trust: check the chain with the system's roots. Otherwise the host has no
    /// credential: same as PORTOLAN_WITHOUT.
    PORTOLAN_DEFAULT = 3,
    /// Reject this space: try the next space that the peer offers, or fail as for PORTOLAN_WITHOUT. Check: CHAL-07
    PORTOLAN_REJECT_SPACE = 4,
    /// End with PORTOLAN_ERROR_AUTHENTICATION_CANCELLED. Check: CHAL-05
    PORTOLAN_CANCEL = 5
};

/// The answer to a challenge. Only the host makes one. The host wipes it when it is no longer borrowed. A plugin wipes
/// its copies. The plugin never writes the secrets to a message, a log line, a URL or a field (CHAL-09).
/// Check: CHAL-02, CHAL-03
typedef struct portolan_answer {
    uint32_t size;
    portolan_disposition disposition;
    /// Decoded, in UTF-8. Absent unless this is PORTOLAN_USE for PORTOLAN_ASK_PASSWORD.
    portolan_string user, password;
    /// Client certificate: the chain, DER, leaf first.
    const portolan_string *PORTOLAN_NULLABLE certificates;
    size_t certificate_count;
    /// Client certificate: PKCS #8, DER. Keys that cannot leave their device need an extension that signs.
    portolan_string private_key;
} portolan_answer;

PORTOLAN_END

#endif
