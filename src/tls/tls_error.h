// What an error of OpenSSL means for a link.
#pragma once

#include "tls/tls_failure.h"

namespace muster {

// `error` as ERR_get_error() gives it. `handshaking`: the link was not open yet. What was wrong with a peer's
// certificate is not here.
TlsFailure failure_of_error(unsigned long error, bool handshaking, bool is_client);

// What SSL_get_verify_result() says of the peer's certificate, other than X509_V_OK.
TlsFailure failure_of_verdict(long verdict);

}  // namespace muster
