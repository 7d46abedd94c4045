#include "agent/agent_tls.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "tls/certificate_dates.h"

namespace muster {
namespace {

using Problem = Failure<std::string>;

constexpr std::string_view scheme = "muster-tls://";
constexpr std::string_view ca_key = "MUSTER_CA_FILE";
constexpr std::string_view certificate_key = "MUSTER_CERTIFICATE_FILE";
constexpr std::string_view key_key = "MUSTER_KEY_FILE";

Problem wrong(std::string_view variable, std::string_view why) {
    return Problem(fmt::format("{}: {}", variable, why));
}

}  // namespace

Result<AgentTls, std::string> AgentTls::read(const std::vector<std::string>& join, sdk::TlsOptions files) {
    AgentTls tls;
    const auto wants_tls = [](const std::string& address) { return address.starts_with(scheme); };
    if (std::none_of(join.begin(), join.end(), wants_tls)) return tls;
    auto content = look_at(files);
    if (!content) return Problem(std::move(content.error()));
    tls.content_ = std::move(*content);
    tls.files_ = std::move(files);
    try {
        tls.credentials_.emplace(tls.files_);
    } catch (const std::invalid_argument& problem) {
        return wrong(key_key, problem.what());
    }
    return tls;
}

Result<std::vector<std::string>, std::string> AgentTls::reload(UnixMs now) {
    std::vector<std::string> changes;
    if (!credentials_) return changes;
    auto content = look_at(files_);
    if (!content) return Problem(std::move(content.error()));
    // One that is used already replaces nothing, whatever its dates: what else is new counts.
    const bool is_new = content->certificate && content->certificate->serial != content_.certificate->serial;
    if (is_new) {
        std::string problem = problem_of_dates(certificate_key, *content->certificate, now.value / 1'000);
        if (!problem.empty()) return Problem(std::move(problem));
    }
    if (const sdk::Outcome done = credentials_->reload(); !done) return wrong(key_key, done.text);
    if (is_new)
        changes.push_back(fmt::format("{}: certificate {} -> {}; new connections show it", certificate_key,
                                      content_.certificate->serial, content->certificate->serial));
    if (content->authorities != content_.authorities)
        changes.push_back(fmt::format("{}: other authorities; new connections trust them", ca_key));
    content_ = std::move(*content);
    return changes;
}

Result<AgentTls::Content, std::string> AgentTls::look_at(const sdk::TlsOptions& files) {
    Content content;
    if (!files.ca_file.empty()) {
        if (const auto authorities = read_certificates(files.ca_file); !authorities)
            return wrong(ca_key, authorities.error());
        if (auto text = read_small_file(files.ca_file)) content.authorities = std::move(*text);
    }
    if (files.certificate_file.empty() != files.key_file.empty())
        return wrong(files.key_file.empty() ? key_key : certificate_key,
                     "not set; a certificate and its key belong together");
    if (files.certificate_file.empty()) return content;
    const auto chain = read_certificates(files.certificate_file);
    if (!chain) return wrong(certificate_key, chain.error());
    if (const auto key = read_key(files.key_file); !key) return wrong(key_key, key.error());
    content.certificate = facts_of(*chain->leaf);
    return content;
}

void AgentTls::add(sdk::TcpRunner& runner, sdk::Client& client, std::string_view address) const {
    if (!address.starts_with(scheme)) return runner.add(client, address);
    runner.add(client, address.substr(scheme.size()), *credentials_);
}

std::string AgentTls::warning(UnixMs now) const {
    return content_.certificate ? warning_of_dates(certificate_key, *content_.certificate, now.value / 1'000) : "";
}

std::string AgentTls::key_warning() const {
    if (!credentials_ || files_.key_file.empty()) return {};
    const std::string warning = warning_of_key_mode(files_.key_file);
    return warning.empty() ? warning : fmt::format("{}: {}", key_key, warning);
}

std::optional<std::int64_t> AgentTls::expires() const {
    if (!content_.certificate) return std::nullopt;
    return content_.certificate->not_after;
}

}  // namespace muster
