#include "config/config_environment.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "base/utf8.h"
#include "config/config_toml.h"
#include "config/config_value.h"
#include "config/nearest_name.h"

namespace muster {
namespace {

constexpr std::string_view prefix = "MUSTER_";
constexpr std::string_view variables_of_the_tool[] = {"MUSTER_URL", "MUSTER_ADMIN_TOKEN", "MUSTER_CA_FILE",
                                                      "MUSTER_CERTIFICATE_FILE", "MUSTER_KEY_FILE"};

// A name that begins like no table's is a typing error only when it is this close to a real one.
constexpr std::size_t typing_error_max = 2;

// Those of config_keys(), in their order.
std::vector<std::string> names_of_variables() {
    std::vector<std::string> names;
    for (const ConfigKey& key : config_keys()) names.push_back(key.environment_variable());
    return names;
}
std::span<const std::string> known_variables() {
    static const std::vector<std::string> names = names_of_variables();
    return names;
}

const ConfigKey* find_by_variable(std::string_view name) {
    const auto known = known_variables();
    const auto found = std::find(known.begin(), known.end(), name);
    return found == known.end() ? nullptr : &config_keys()[static_cast<std::size_t>(found - known.begin())];
}

bool begins_like_a_table(std::string_view name) {
    for (std::size_t i = 0; i < config_keys().size(); ++i) {
        // MUSTER_FLEET_ of MUSTER_FLEET_HEARTBEAT_TIMEOUT.
        const std::string_view variable = known_variables()[i];
        if (name.starts_with(variable.substr(0, prefix.size() + config_keys()[i].table.size() + 1))) return true;
    }
    return false;
}

void refuse_unknown(std::string_view name, ConfigDraft& draft) {
    const auto known = known_variables();
    const bool of_a_table = begins_like_a_table(name);
    const std::optional<std::string> nearest =
        of_a_table ? nearest_name(name, known) : nearest_name(name, known, typing_error_max);
    if (!of_a_table && !nearest) return;  // not meant for us
    draft.refuse(name, ConfigOrigin::no_line,
                 nearest ? fmt::format("unknown key; did you mean {}?", *nearest) : "unknown key");
}

// Why these bytes cannot be that secret. Never says anything of the bytes themselves.
std::optional<std::string> problem_of_secret(const SecretKey& type, std::string_view bytes) {
    if (bytes.empty()) return "is empty; unset it, or give it a value";
    if (bytes.find_first_not_of(" \t\r\n") == std::string_view::npos) return "holds nothing but spaces";
    if (has_byte_order_mark(bytes)) return "begins with a byte order mark (BOM)";
    if (bytes.size() > type.bytes_max) return fmt::format("is longer than {} bytes", type.bytes_max);
    const bool has_control =
        std::any_of(bytes.begin(), bytes.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
    if (type.must_be_text && (!is_utf8(bytes) || has_control)) return "must be UTF-8 text without control characters";
    return std::nullopt;
}

void read_variable(const ConfigKey& key, const EnvironmentVariable& variable, ConfigDraft& draft) {
    draft.origins.set(key, {ConfigOrigin::Source::environment, std::string(variable.name), ConfigOrigin::no_line});
    if (const auto* secret = std::get_if<SecretKey>(&key.type)) {
        if (const auto problem = problem_of_secret(*secret, variable.value)) return draft.refuse(key, *problem);
        secret->place(draft.config) = Secret(variable.value);
    } else if (std::holds_alternative<RegionsKey>(key.type) || std::holds_alternative<CellsKey>(key.type) ||
               std::holds_alternative<HostsKey>(key.type) || std::holds_alternative<ListKey>(key.type)) {
        read_toml_value(key, variable.value, variable.name, draft);
    } else if (const auto problem = set_value(key, scalar_from_text(key, variable.value), draft.config)) {
        draft.refuse(key, *problem);
    }
}

}  // namespace

std::optional<std::string> problem_of_secrets(const SecretKey& type, const Secrets& secrets) {
    for (const Secret& secret : secrets.all()) {
        if (auto problem = problem_of_secret(type, secret.reveal())) return problem;
    }
    return std::nullopt;
}

std::optional<std::string_view> variable_named(const Environment& environment, std::string_view name) {
    const auto found = std::find_if(environment.begin(), environment.end(),
                                    [name](const EnvironmentVariable& each) { return each.name == name; });
    if (found == environment.end() || found->value.empty()) return std::nullopt;
    return found->value;
}

Environment process_environment() {
    Environment environment;
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos) continue;
        environment.push_back({text.substr(0, equals), text.substr(equals + 1)});
    }
    return environment;
}

void read_environment(const Environment& environment, ConfigDraft& draft) {
    for (const EnvironmentVariable& variable : environment) {
        if (!variable.name.starts_with(prefix)) continue;
        if (std::find(std::begin(variables_of_the_tool), std::end(variables_of_the_tool), variable.name) !=
            std::end(variables_of_the_tool))
            continue;
        if (const ConfigKey* key = find_by_variable(variable.name)) {
            read_variable(*key, variable, draft);
        } else {
            refuse_unknown(variable.name, draft);
        }
    }
}

void refuse_secret(const ConfigKey& key, std::string_view what, ConfigDraft& draft) {
    const ConfigKey& file_key = *find_key(key.table, fmt::format("{}_file", key.name));
    const auto& type = std::get<SecretKey>(key.type);
    if (!type.file(draft.config).empty()) return draft.refuse(file_key, what);
    draft.refuse(key, "systemd's credentials", ConfigOrigin::no_line, fmt::format("{}: {}", key.full_name(), what));
}

void read_secret_files(const Environment& environment, ConfigDraft& draft) {
    const auto credentials = variable_named(environment, "CREDENTIALS_DIRECTORY");
    for (const ConfigKey& key : config_keys()) {
        const auto* type = std::get_if<SecretKey>(&key.type);
        if (!type || type->place(draft.config).is_set() || draft.refused(key)) continue;
        std::string path = type->file(draft.config);
        if (path.empty() && credentials) {
            path = fmt::format("{}/muster_{}", *credentials, key.name);
            if (::access(path.c_str(), F_OK) != 0) continue;  // this one was not handed over
        }
        if (path.empty()) continue;

        auto read = read_secret_file(path);
        if (!read) {
            refuse_secret(key, read.error(), draft);
        } else if (const auto problem = problem_of_secrets(*type, read->secrets)) {
            refuse_secret(key, fmt::format("what {} holds {}", path, *problem), draft);
        } else {
            type->place(draft.config) = read->secrets;
            draft.origins.set(key, {ConfigOrigin::Source::file, path, ConfigOrigin::no_line});
            for (std::string& warning : read->warnings) draft.warnings.push_back(std::move(warning));
        }
    }
}

}  // namespace muster
