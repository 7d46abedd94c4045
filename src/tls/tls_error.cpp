#include "tls/tls_error.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

namespace muster {
namespace {

// What the peer said of our certificate, as a client hears it from Muster. Others mean that it does not trust us.
TlsFailure failure_of_alert(int alert, bool is_client) {
    if (alert == SSL_AD_PROTOCOL_VERSION) return TlsFailure::version;
    if (!is_client) return TlsFailure::refused_by_peer;
    switch (alert) {
        case SSL_AD_CERTIFICATE_EXPIRED:
            return TlsFailure::expired;
        case SSL_AD_CERTIFICATE_REVOKED:
            return TlsFailure::revoked;
        case SSL_AD_UNKNOWN_CA:
            return TlsFailure::unknown_ca;
        case SSL_AD_HANDSHAKE_FAILURE:
        case SSL_AD_ACCESS_DENIED:
            return TlsFailure::wrong_role;
        case TLS13_AD_CERTIFICATE_REQUIRED:
            return TlsFailure::no_certificate;
        default:
            return TlsFailure::refused_by_peer;
    }
}

}  // namespace

TlsFailure failure_of_error(unsigned long error, bool handshaking, bool is_client) {
    const int reason = ERR_GET_REASON(error);
    if (ERR_GET_LIB(error) != ERR_LIB_SSL) return TlsFailure::broken;
    if (reason >= SSL_AD_REASON_OFFSET) return failure_of_alert(reason - SSL_AD_REASON_OFFSET, is_client);
    switch (reason) {
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
            return TlsFailure::no_certificate;
        case SSL_R_UNSUPPORTED_PROTOCOL:
        case SSL_R_VERSION_TOO_LOW:
            return TlsFailure::version;
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_HTTP_REQUEST:
            return handshaking ? TlsFailure::not_tls : TlsFailure::broken;
        default:
            return TlsFailure::broken;
    }
}

// Of a certificate that was judged.
TlsFailure failure_of_verdict(long verdict) {
    switch (verdict) {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return TlsFailure::expired;
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return TlsFailure::not_yet_valid;
        case X509_V_ERR_CERT_REVOKED:
            return TlsFailure::revoked;
        case X509_V_ERR_APPLICATION_VERIFICATION:
            return TlsFailure::wrong_role;
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            return TlsFailure::wrong_name;
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            return TlsFailure::self_signed;
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        case X509_V_ERR_CERT_SIGNATURE_FAILURE:
            return TlsFailure::unknown_ca;
        default:
            return TlsFailure::bad_certificate;
    }
}

}  // namespace muster
