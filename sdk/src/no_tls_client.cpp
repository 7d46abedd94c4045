// In the place of tls_client.cpp where the SDK is built without TLS.
#include <stdexcept>

#include "sdk/src/tls_client.h"

namespace muster::sdk {

struct TlsSettings {};

std::shared_ptr<const TlsSettings> read_tls_settings(const TlsOptions&) {
    throw std::invalid_argument("this SDK was built without TLS (MUSTER_SDK_TLS=OFF)");
}

struct TlsClient::Inside {};

TlsClient::TlsClient(const std::shared_ptr<const TlsSettings>&, const std::string&, const TlsClient*) {}
TlsClient::~TlsClient() = default;

TlsClient::State TlsClient::state() const {
    return State::failed;
}
void TlsClient::begin(std::vector<std::byte>&) {}
std::span<const std::byte> TlsClient::receive(std::span<const std::byte>, std::vector<std::byte>&) {
    return {};
}
bool TlsClient::send(std::span<const std::byte>, std::vector<std::byte>&) {
    return false;
}
void TlsClient::close(std::vector<std::byte>&) {}
Outcome TlsClient::failure() const {
    return {ErrorCode::tls_failed, "built without TLS"};
}

}  // namespace muster::sdk
