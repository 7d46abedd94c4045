#include "cli/own_certificates.h"

#include "base/system_clock.h"
#include "certs/authority.h"
#include "cli/command.h"
#include "process/exit_code.h"

namespace muster {

OwnCertificates own_certificates(const std::filesystem::path& folder) try {
    Authority authority(folder.string(), SystemClock().wall().value / 1'000);
    const std::string certificate = authority.file("muster", ".crt");
    if (!std::filesystem::exists(certificate)) authority.init({});
    return {{{"MUSTER_TLS_PORTS", R"(["servers", "matchmakers", "players", "http"])"},
             {"MUSTER_TLS_CERTIFICATE_FILE", certificate},
             {"MUSTER_TLS_KEY_FILE", authority.file("muster", ".key")}},
            authority.file("ca", ".crt")};
} catch (const AuthorityError& error) {
    throw CommandFailure(to_int(ExitCode::io), error.what());
}

}  // namespace muster
