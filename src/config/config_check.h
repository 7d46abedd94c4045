// Whether a daemon would start with this config, told to whoever may read the file: before a restart, not after it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "config/config_load.h"

namespace muster {

struct ConfigCheck {
    struct SecretFound {
        enum class State : std::uint8_t { set, not_set, not_readable, wrong };
        std::string key;  // "server_token"; in full outside of [auth]: "store.password"
        State state = State::not_set;
        std::string text;  // where it was found, or every place where it was looked for; never the secret
    };

    struct CertificateFound {
        std::string key;   // "tls.certificate_file"
        std::string text;  // its dates and its file
    };

    ConfigProblems problems;  // none: the daemon takes it
    std::vector<std::string> warnings;
    std::vector<SecretFound> secrets;
    std::vector<CertificateFound> certificates;
};

// As load_config and problems_of_serving judge it, with two differences for the sake of who asks:
//  - A secret's file that this user may not read is taken to be right, and told.
//  - systemd hands the service a copy of each file in the folder `secrets` beside the config (LoadCredential= of
//    muster.service), which is there only while the service runs. The file itself is looked at instead.
// Certificates are judged by their dates at `now`.
ConfigCheck check_config(const ConfigSource& source, UnixMs now);

}  // namespace muster
