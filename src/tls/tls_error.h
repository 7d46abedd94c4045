// What an error of OpenSSL means for a link.
#pragma once

#include "tls/tls_failure.h"

namespace muster {

// `error` as ERR_get_error() gives it. `handshaking`: the link was not open yet. What was wrong with a peer's
// certificate is not here, see TlsLink.
TlsFailure failure_of_error(unsigned long error, bool handshaking, bool is_client);

}  // namespace muster
