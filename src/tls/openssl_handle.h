// Owners for OpenSSL's objects, and its errors in words.
#pragma once

#include <memory>
#include <string>

#include <openssl/types.h>

// OpenSSL's own list of its types leaves this one out.
using SSL_SESSION = struct ssl_session_st;  // NOLINT(readability-identifier-naming): OpenSSL's name

namespace muster {

struct OpenSslRelease {
    void operator()(BIO* bio) const noexcept;
    void operator()(EVP_CIPHER_CTX* cipher) const noexcept;
    void operator()(EVP_PKEY* key) const noexcept;
    void operator()(SSL* link) const noexcept;
    void operator()(SSL_CTX* context) const noexcept;
    void operator()(SSL_SESSION* session) const noexcept;
    void operator()(X509* certificate) const noexcept;
    void operator()(X509_STORE* store) const noexcept;
};
template <class T>
using OpenSslHandle = std::unique_ptr<T, OpenSslRelease>;

// Empties this thread's queue of errors and gives the reason of the newest one; "unknown error" when there is none.
std::string take_openssl_error();

}  // namespace muster
