/* SPDX-License-Identifier: Apache-2.0 */
/// Authentication: what a load asks for, and what it is answered.
#ifndef PORTOLAN_CHALLENGE_H
#define PORTOLAN_CHALLENGE_H

#include "base.h"
#include "error.h"
#include "text.h"

PORTOLAN_BEGIN

/// What a challenge asks for.
PORTOLAN_ENUM(portolan_method) {
    PORTOLAN_ASK_PASSWORD = 1,           ///< A user and a password.
    PORTOLAN_ASK_CLIENT_CERTIFICATE = 2, ///< A certificate and its private key.
    PORTOLAN_ASK_SERVER_TRUST = 3        ///< Whether the peer's chain is to be trusted.
};

/// A question of the peer's, with its protection space: the place where one answer holds.
/// The host looks for stored credentials and the URL's user information first and asks the caller last. All of it is lent for the call.
/// Check: CHAL-01, CHAL-04, CHAL-10
typedef struct portolan_challenge {
    uint32_t size;
    portolan_method method;
    /// `protocol` and `host` are never absent; `realm` may be. `protocol` is the URL's scheme, as in `https`, or that of the proxy.
    portolan_string protocol, host, realm;
    /// Where the method has several schemes of its own: `basic`, `digest`. Absent where it has not.
    portolan_string scheme;
    /// -1 where there is none.
    int32_t port;
    /// 1: the proxy asks, not the origin.
    int32_t is_proxy;
    /// How many answers of this load, in this space, have failed. Rises by one with each (CHAL-04).
    int32_t failure_count;
    uint32_t reserved;
    /// Server trust: the peer's chain, DER, leaf first. Client certificate: the names of the accepted issuers, DER.
    const portolan_string *PORTOLAN_NULLABLE certificates;
    size_t certificate_count;
    /// Why the last answer failed. NULL at the first question.
    const portolan_error *PORTOLAN_NULLABLE previous;
} portolan_challenge;

/// What to do with an answer.
PORTOLAN_ENUM(portolan_disposition) {
    /// Use the credential. For server trust: trust this chain.
    PORTOLAN_USE = 1,
    /// Go on without one; deliver what the peer gives then, or fail with PORTOLAN_ERROR_AUTHENTICATION_REQUIRED. Check: CHAL-06
    PORTOLAN_WITHOUT = 2,
    /// As if nobody had been asked. For server trust: judge the chain by the system's roots. Otherwise the host has nothing more: as
    /// PORTOLAN_WITHOUT.
    PORTOLAN_DEFAULT = 3,
    /// Not this space: ask for the next one that the peer offers, or fail as above. Check: CHAL-07
    PORTOLAN_REJECT_SPACE = 4,
    /// End with PORTOLAN_ERROR_AUTHENTICATION_CANCELLED. Check: CHAL-05
    PORTOLAN_CANCEL = 5
};

/// The answer. The host wipes it once it is no longer lent; what a plugin copies of it, the plugin wipes. Never in a message, a log line, a
/// URL or a field given back (CHAL-09). Check: CHAL-02, CHAL-03
typedef struct portolan_answer {
    uint32_t size;
    portolan_disposition disposition;
    /// Decoded, in UTF-8. Absent unless PORTOLAN_USE answers PORTOLAN_ASK_PASSWORD.
    portolan_string user, password;
    /// Client certificate: the chain, DER, leaf first.
    const portolan_string *PORTOLAN_NULLABLE certificates;
    size_t certificate_count;
    /// Client certificate: PKCS #8, DER. Keys that cannot leave their device need an extension that signs.
    portolan_string private_key;
} portolan_answer;

PORTOLAN_END

#endif
