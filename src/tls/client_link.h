// OpenSSL's own link of a client, for TlsLink and for streams that are not ours.
#pragma once

#include <string>

#include "tls/openssl_handle.h"
#include "tls/tls_context.h"

namespace muster {

// For a peer whose certificate must name `peer`, an address or a DNS name. Throws std::bad_alloc. The context outlives
// it.
OpenSslHandle<SSL> new_client_link(const TlsClientContext& context, const std::string& peer);

// What is wrong with the certificate that the server showed, in OpenSSL's words; empty when nothing is.
std::string problem_of_server(const SSL& link);

}  // namespace muster
