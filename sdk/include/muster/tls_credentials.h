// The files for links over TLS 1.3, and how they are renewed. `muster certs` makes them.
#pragma once

#include <memory>
#include <string>

#include "muster/outcome.h"

namespace muster::sdk {

class TlsSource;

// Files of PEM.
struct TlsOptions {
    std::string ca_file{};           // the authority of Muster's certificate; empty: those of the machine
    std::string certificate_file{};  // what is shown to Muster, if it wants one; empty: none
    std::string key_file{};          // of certificate_file

    // What MUSTER_CA_FILE, MUSTER_CERTIFICATE_FILE and MUSTER_KEY_FILE name, each empty when it is not set.
    static TlsOptions of_environment();
};

// What the files held when they were read last. Copies share it. Any thread.
class TlsCredentials {
public:
    // Reads the files. Throws std::invalid_argument when one cannot be used, or the SDK was built without TLS
    // (MUSTER_SDK_TLS).
    explicit TlsCredentials(TlsOptions options);

    // Reads the files again: connections made from now on use them, and those that are up stay. invalid_argument when
    // one cannot be used; then what was read before stays in force.
    [[nodiscard]] Outcome reload();

private:
    friend class TcpRunner;

    std::shared_ptr<TlsSource> source_;
};

}  // namespace muster::sdk
