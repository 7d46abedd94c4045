#include "tls/client_link.h"

#include <new>

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "base/ip_address.h"

namespace muster {

OpenSslHandle<SSL> new_client_link(const TlsClientContext& context, const std::string& peer) {
    OpenSslHandle<SSL> link(SSL_new(&context.native()));
    if (!link) throw std::bad_alloc();
    SSL_set_connect_state(link.get());
    if (IpAddress::parse(peer)) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(link.get()), peer.c_str());
    } else {
        // A peer's name as Muster issues it is no host's: only the alternative names say where its owner is reached.
        SSL_set_hostflags(link.get(), X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
        SSL_set1_host(link.get(), peer.c_str());
        SSL_set_tlsext_host_name(link.get(), peer.c_str());
    }
    return link;
}

std::string problem_of_server(const SSL& link) {
    const long verdict = SSL_get_verify_result(&link);
    return verdict == X509_V_OK ? std::string() : X509_verify_cert_error_string(verdict);
}

}  // namespace muster
