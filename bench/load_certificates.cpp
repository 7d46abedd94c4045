#include "load_certificates.h"

#include <ctime>
#include <stdexcept>

#include "certs/authority.h"

namespace muster::bench {
namespace {

constexpr int days = 2;

std::shared_ptr<const TlsClientContext> context_of(const std::string& pki, const IssuedFiles& files) {
    auto made = TlsClientContext::read({pki + "/ca.crt", files.certificate, files.key});
    if (!made) throw std::runtime_error(made.error());
    return *made;
}

}  // namespace

LoadCertificates::LoadCertificates(const std::filesystem::path& folder) : pki_((folder / "pki").string()) {
    Authority authority(pki_, std::time(nullptr));
    authority.init({});
    game_server_ = context_of(pki_, authority.issue("game-servers", PeerRole::server, {}, days));
    matchmaker_ = context_of(pki_, authority.issue("matchmakers", PeerRole::matchmaker, {}, days));
}

void LoadCertificates::add_to(std::map<std::string, std::string>& environment) const {
    environment["MUSTER_TLS_PORTS"] = R"(["servers", "matchmakers"])";
    environment["MUSTER_TLS_CERTIFICATE_FILE"] = certificate();
    environment["MUSTER_TLS_KEY_FILE"] = key();
    environment["MUSTER_TLS_CLIENT_CA_FILE"] = authority();
}

}  // namespace muster::bench
