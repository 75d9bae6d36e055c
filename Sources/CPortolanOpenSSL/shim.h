// SPDX-License-Identifier: Apache-2.0
// Why a shim: Swift does not import many macros of OpenSSL, because they contain casts or call variadic functions.
#ifndef PORTOLAN_OPENSSL_SHIM_H
#define PORTOLAN_OPENSSL_SHIM_H

#if !__has_include(<openssl/ssl.h>)
#error "OpenSSL's headers are missing: apt-get install libssl-dev"
#endif

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#if OPENSSL_VERSION_NUMBER < 0x30000000L
#error "OpenSSL 3.0 or later is needed: apt-get install libssl-dev on Debian 12"
#endif

/// No renegotiation (RFC 9113 §9.2.1 forbids it), no compression (RFC 7525 §3.3).
static inline void portolan_SSL_CTX_set_options(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
}
/// No session tickets, in any version.
static inline void portolan_SSL_CTX_set_no_tickets(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
}
static inline int portolan_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}
static inline int portolan_SSL_CTX_set_max_proto_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_max_proto_version(context, version);
}
static inline void portolan_SSL_CTX_set_mode(SSL_CTX *context, long mode) { (void)SSL_CTX_set_mode(context, mode); }
static inline void portolan_SSL_CTX_set_read_ahead(SSL_CTX *context, int on) { (void)SSL_CTX_set_read_ahead(context, on); }
static inline void portolan_SSL_CTX_set_session_cache_mode(SSL_CTX *context, long mode) {
    (void)SSL_CTX_set_session_cache_mode(context, mode);
}
static inline void portolan_SSL_CTX_set_max_cert_list(SSL_CTX *context, long size) { (void)SSL_CTX_set_max_cert_list(context, size); }
static inline int portolan_SSL_set_retry_verify(SSL *ssl) { return SSL_set_retry_verify(ssl); }
static inline int portolan_SSL_set_server_name(SSL *ssl, const char *name) { return (int)SSL_set_tlsext_host_name(ssl, (char *)name); }
static inline int portolan_SSL_CTX_add_extra_chain_cert(SSL_CTX *context, X509 *certificate) {
    return (int)SSL_CTX_add1_chain_cert(context, certificate);
}
static inline int portolan_SSL_add1_chain_cert(SSL *ssl, X509 *certificate) { return (int)SSL_add1_chain_cert(ssl, certificate); }
static inline const unsigned char *portolan_ASN1_STRING_data(const ASN1_STRING *string) { return ASN1_STRING_get0_data(string); }
static inline int portolan_GENERAL_NAME_type(const GENERAL_NAME *name) { return name->type; }
static inline const ASN1_STRING *portolan_GENERAL_NAME_string(const GENERAL_NAME *name) {
    return name->type == GEN_DNS || name->type == GEN_IPADD ? name->d.ia5 : NULL;
}
static inline int portolan_X509_count(const STACK_OF(X509) *chain) { return sk_X509_num(chain); }
static inline X509 *portolan_X509_at(const STACK_OF(X509) *chain, int index) { return sk_X509_value(chain, index); }
static inline int portolan_X509_NAME_count(const STACK_OF(X509_NAME) *names) { return sk_X509_NAME_num(names); }
static inline X509_NAME *portolan_X509_NAME_at(const STACK_OF(X509_NAME) *names, int index) { return sk_X509_NAME_value(names, index); }
static inline int portolan_GENERAL_NAME_count(const GENERAL_NAMES *names) { return sk_GENERAL_NAME_num(names); }
static inline GENERAL_NAME *portolan_GENERAL_NAME_at(const GENERAL_NAMES *names, int index) { return sk_GENERAL_NAME_value(names, index); }
static inline int portolan_X509_STORE_count(X509_STORE *store) { return sk_X509_OBJECT_num(X509_STORE_get0_objects(store)); }
static inline void portolan_X509_free_all(STACK_OF(X509) *chain) { sk_X509_pop_free(chain, X509_free); }
static inline void portolan_GENERAL_NAME_free_all(GENERAL_NAMES *names) { sk_GENERAL_NAME_pop_free(names, GENERAL_NAME_free); }
static inline void portolan_BIO_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void portolan_BIO_set_retry_write(BIO *bio) { BIO_set_retry_write(bio); }
static inline void portolan_BIO_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }
static inline int portolan_ERR_library(unsigned long error) { return ERR_GET_LIB(error); }
static inline int portolan_ERR_reason(unsigned long error) { return ERR_GET_REASON(error); }
/// Whether the peer closed the connection without close_notify (SSL_R_UNEXPECTED_EOF_WHILE_READING).
static inline int portolan_is_unexpected_eof(unsigned long error) {
    return ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
}
/// Whether no loaded provider has the algorithm: EVP_CIPHER_fetch(3).
static inline int portolan_is_unsupported(unsigned long error) {
    return ERR_GET_LIB(error) == ERR_LIB_EVP &&
           (ERR_GET_REASON(error) == ERR_R_UNSUPPORTED || ERR_GET_REASON(error) == EVP_R_UNSUPPORTED_ALGORITHM);
}

// For the servers of the tests.
static inline uint64_t portolan_SSL_OP_NO_TICKET(void) { return SSL_OP_NO_TICKET; }
static inline int portolan_SSL_CTX_set_servername_callback(SSL_CTX *context, int (*callback)(SSL *ssl, int *alert, void *argument)) {
    return (int)SSL_CTX_set_tlsext_servername_callback(context, callback);
}
static inline int portolan_SSL_set_max_send_fragment(SSL *ssl, long bytes) { return (int)SSL_set_max_send_fragment(ssl, bytes); }

#endif
