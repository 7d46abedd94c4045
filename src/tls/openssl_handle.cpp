#include "tls/openssl_handle.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace muster {

void OpenSslRelease::operator()(BIO* bio) const noexcept {
    BIO_free_all(bio);
}
void OpenSslRelease::operator()(EVP_CIPHER_CTX* cipher) const noexcept {
    EVP_CIPHER_CTX_free(cipher);
}
void OpenSslRelease::operator()(EVP_PKEY* key) const noexcept {
    EVP_PKEY_free(key);
}
void OpenSslRelease::operator()(SSL* link) const noexcept {
    SSL_free(link);
}
void OpenSslRelease::operator()(SSL_CTX* context) const noexcept {
    SSL_CTX_free(context);
}
void OpenSslRelease::operator()(SSL_SESSION* session) const noexcept {
    SSL_SESSION_free(session);
}
void OpenSslRelease::operator()(X509* certificate) const noexcept {
    X509_free(certificate);
}
void OpenSslRelease::operator()(X509_STORE* store) const noexcept {
    X509_STORE_free(store);
}

std::string take_openssl_error() {
    const unsigned long newest = ERR_peek_last_error();
    ERR_clear_error();
    const char* reason = newest == 0 ? nullptr : ERR_reason_error_string(newest);
    return reason ? reason : "unknown error";
}

}  // namespace muster
