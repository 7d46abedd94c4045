#include "muster/tls_credentials.h"

#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "sdk/src/tls_client.h"

namespace muster::sdk {

TlsOptions TlsOptions::of_environment() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value ? value : "");
    };
    return {variable("MUSTER_CA_FILE"), variable("MUSTER_CERTIFICATE_FILE"), variable("MUSTER_KEY_FILE")};
}

TlsCredentials::TlsCredentials(TlsOptions options) : source_(std::make_shared<TlsSource>(std::move(options))) {}

Outcome TlsCredentials::reload() {
    try {
        source_->reload();
    } catch (const std::invalid_argument& problem) {
        return {ErrorCode::invalid_argument, problem.what()};
    }
    return {};
}

}  // namespace muster::sdk
