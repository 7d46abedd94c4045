#include "config/config_check.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "config/config_serving.h"
#include "config/secrets.h"
#include "tls/certificate_dates.h"
#include "tls/tls_context.h"

namespace muster {
namespace {

using State = ConfigCheck::SecretFound::State;

constexpr std::string_view credentials_folder = "/run/credentials/";

// Stands for a secret that only the service can read, so that the checks which need one find one.
const Secret& stand_in() {
    static const Secret secret("a secret that this user may not read");
    return secret;
}

// Looks for one secret as the service will.
class SecretSearch {
public:
    SecretSearch(const ConfigSource& source, const ConfigKey& key, const SecretKey& type, ConfigDraft& draft)
        : source_(source), key_(key), type_(type), draft_(draft) {}

    ConfigCheck::SecretFound find() {
        if (draft_.refused(key_)) return {shown_key(), State::wrong, variable()};
        if (type_.place(draft_.config).is_set()) return {shown_key(), State::set, variable()};
        const std::string& named = type_.file(draft_.config);
        if (!named.empty() && !named.starts_with(credentials_folder)) return read(named, true);
        const auto handed_over = handed_over_from();
        if (handed_over) {
            auto found = read(*handed_over, !named.empty());
            if (found.state != State::not_set) return found;
        }
        return {shown_key(), State::not_set,
                fmt::format("looked for {}, {}_file and {}", variable(), key_.full_name(),
                            handed_over.value_or("systemd's credentials"))};
    }

private:
    std::string variable() const { return key_.environment_variable(); }
    std::string shown_key() const { return key_.table == "auth" ? std::string(key_.name) : key_.full_name(); }

    // The file that becomes the service's credential: see muster.service.
    std::optional<std::string> handed_over_from() const {
        if (const auto folder = variable_named(source_.environment, "CREDENTIALS_DIRECTORY"))
            return fmt::format("{}/muster_{}", *folder, key_.name);
        if (!source_.file) return std::nullopt;
        return (source_.file->parent_path() / "secrets" / key_.name).string();
    }

    // `needed`: the config names it, so that the service does not start without it.
    ConfigCheck::SecretFound read(const std::string& path, bool needed) {
        if (::access(path.c_str(), R_OK) != 0) {
            const int why = errno;
            if (why == EACCES) {
                type_.place(draft_.config) = stand_in();
                return {shown_key(), State::not_readable, fmt::format("{}: {}", path, std::strerror(why))};
            }
            if (!needed) return {shown_key(), State::not_set, {}};
        }
        const auto file = read_secret_file(path);
        if (!file) return refuse(path, file.error());
        if (const auto problem = problem_of_secrets(type_, file->secrets))
            return refuse(path, fmt::format("what {} holds {}", path, *problem));
        type_.place(draft_.config) = file->secrets;
        for (const std::string& warning : file->warnings) draft_.warnings.push_back(warning);
        return {shown_key(), State::set, path};
    }

    ConfigCheck::SecretFound refuse(const std::string& path, const std::string& what) {
        refuse_secret(key_, what, draft_);
        return {shown_key(), State::wrong, path};
    }

    const ConfigSource& source_;
    const ConfigKey& key_;
    const SecretKey& type_;
    ConfigDraft& draft_;
};

void tell_certificate(const TlsFiles& files, const TlsMaterial& material, std::int64_t now, ConfigCheck& check) {
    const auto tell = [&](const std::string& key, const CertificateFacts& facts, const std::string& file) {
        check.certificates.push_back({key, fmt::format("{}: {}", text_of_dates(facts, now), file)});
    };
    tell(material.certificate_key(), material.certificate(), files.certificate);
    // Of all ports.
    if (material.wants_peers()) tell("tls.client_ca_file", material.authority(), files.client_ca);
    std::string warning = material.warning_of_dates(now);
    // The daemon starts with it all the same: who can still connect should.
    if (!material.problem_in_place_of(nullptr, now).empty())
        warning += "; a start goes on with it, a reload keeps the one before";
    for (const std::string& each : {warning, material.key_warning()}) {
        if (!each.empty()) check.warnings.push_back(each);
    }
}

void check_certificate(const TlsFiles& files, std::string_view port, std::int64_t now, ConfigCheck& check) {
    for (const std::string& path : {files.certificate, files.key, files.client_ca, files.revoked}) {
        if (path.empty() || ::access(path.c_str(), R_OK) == 0 || errno != EACCES) continue;
        check.warnings.push_back(fmt::format("the files of [tls] were not checked: this user may not read {}", path));
        return;
    }
    const auto read = TlsMaterial::read(files, port);
    if (!read) return check.problems.push_back(read.error());
    tell_certificate(files, **read, now, check);
}

// The certificates and the keys, as the daemon will read them.
void check_tls(const Config::Tls& tls, std::int64_t now, ConfigCheck& check) {
    if (tls.ports.empty()) return;
    check_certificate({tls.certificate_file, tls.key_file, tls.client_ca_file, tls.revoked_file}, "", now, check);
    for (const auto& [port, own] : tls.own()) {
        if (own.certificate_file.empty() || !tls.at(port)) continue;
        check_certificate({own.certificate_file, own.key_file, "", ""}, port, now, check);
    }
}

}  // namespace

ConfigCheck check_config(const ConfigSource& source, UnixMs now) {
    ConfigCheck check;
    ConfigDraft draft = draft_config(source, [&](const Environment&, ConfigDraft& making) {
        for (const ConfigKey& key : config_keys()) {
            if (const auto* type = std::get_if<SecretKey>(&key.type))
                check.secrets.push_back(SecretSearch(source, key, *type, making).find());
        }
    });
    check.problems = draft.problems();
    check.warnings = std::move(draft.warnings);
    if (!check.problems.empty()) return check;
    check.problems = problems_of_serving(draft.config);
    if (check.problems.empty()) check_tls(draft.config.tls, now.value / 1'000, check);
    for (std::string& warning : warnings_of_serving(draft.config)) check.warnings.push_back(std::move(warning));
    return check;
}

}  // namespace muster
