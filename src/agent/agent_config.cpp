#include "agent/agent_config.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "agent/agent_fields.h"
#include "config/nearest_name.h"

namespace muster {
namespace {

constexpr std::size_t file_bytes_max = 1 << 20;
constexpr std::size_t problems_shown_max = 20;
constexpr std::size_t runs_max = 64;
constexpr std::size_t token_bytes_max = 256;

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& known) {
    const auto nearest = nearest_name(typed, known);
    return nearest ? fmt::format("; did you mean {}?", *nearest) : std::string();
}

std::string shown(const toml::node& node) {
    constexpr std::size_t shown_bytes_max = 64;
    if (const auto* text = node.as_string()) {
        const std::string& value = text->get();
        return value.size() <= shown_bytes_max ? json_quoted(value)
                                               : json_quoted(value.substr(0, shown_bytes_max)) + "…";
    }
    if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
    if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
    if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
    return node.is_table() ? "this table" : node.is_array() ? "this list" : "this date or time";
}

class Reader {
public:
    explicit Reader(std::string_view file) : file_(file) { config.places = ConfigPlaces(file_); }

    AgentConfig config;
    std::vector<std::string> warnings;

    void read(const toml::table& root) {
        for (const auto& [name, node] : root) {
            const toml::source_region& source = name.source();
            if (name.str() == "agent") {
                read_table("agent", node, source, agent_fields(), config);
            } else if (name.str() == "auth") {
                AgentAuth auth;
                read_table("auth", node, source, auth_fields(), auth);
                config.server_token_file = auth.server_token_file;
            } else if (name.str() == "run") {
                read_runs(node, source);
            } else {
                refuse(source, fmt::format("{}: unknown table{}", json_name(name.str()),
                                           did_you_mean(name.str(), {"agent", "auth", "run"})));
            }
        }
    }

    void read_environment(const Environment& environment) {
        static constexpr std::string_view prefix = "MUSTER_AGENT_";
        for (const EnvironmentVariable& variable : environment) {
            if (variable.name == "MUSTER_AUTH_SERVER_TOKEN") {
                if (variable.value.empty() || variable.value.size() > token_bytes_max ||
                    !is_usable_text(variable.value))
                    refuse_at(variable.name, fmt::format("give 1 to {} bytes of UTF-8", token_bytes_max));
                else
                    config.server_token = Secret(variable.value);
            } else if (variable.name == "MUSTER_AUTH_SERVER_TOKEN_FILE") {
                config.server_token_file = std::string(variable.value);
                config.places.set("auth.server_token_file", std::string(variable.name));
            } else if (variable.name.starts_with(prefix)) {
                read_variable(variable, variable.name.substr(prefix.size()));
            }
        }
    }

    // What one key alone cannot tell.
    void check_whole() {
        std::size_t ports_needed = 0;
        for (const RunConfig& run : config.runs) ports_needed += static_cast<std::size_t>(run.count_max);
        if (ports_needed > config.ports.size())
            refuse_key("agent.ports",
                       fmt::format("{}-{} {}, and the runs may have {} processes; give more", config.ports.first,
                                   config.ports.last,
                                   config.ports.size() == 1 ? std::string("is 1 port")
                                                            : fmt::format("are {} ports", config.ports.size()),
                                   ports_needed));
    }

    void read_token_file() {
        if (config.server_token.is_set() || config.server_token_file.empty()) return;
        auto read = read_secret_file(config.server_token_file);
        if (!read) return refuse_key("auth.server_token_file", read.error());
        for (const Secret& secret : read->secrets.all()) {
            if (secret.size() > token_bytes_max || !is_usable_text(secret.reveal()))
                return refuse_key("auth.server_token_file",
                                  fmt::format("what {} holds is no token of 1 to {} bytes of UTF-8",
                                              config.server_token_file, token_bytes_max));
        }
        config.server_token = read->secrets;
        for (std::string& warning : read->warnings) warnings.push_back(std::move(warning));
    }

    void refuse_at(std::string_view place, std::string_view what) {
        problems_.push_back({no_line, fmt::format("{}: {}", place, what)});
    }
    void refuse_key(std::string_view key, std::string_view what) {
        problems_.push_back({no_line, config.places.told(key, fmt::format("{}: {}", key, what))});
    }
    void refuse(const toml::source_region& source, std::string_view what) {
        problems_.push_back({source.begin.line, fmt::format("{}:{}: {}", file_, source.begin.line, what)});
    }
    std::vector<std::string> problems() {
        std::stable_sort(problems_.begin(), problems_.end(), [](auto& a, auto& b) { return a.line < b.line; });
        std::vector<std::string> texts;
        for (const Problem& each : problems_) {
            if (texts.size() == problems_shown_max) {
                texts.push_back(fmt::format("and {} more", problems_.size() - texts.size()));
                break;
            }
            texts.push_back(each.text);
        }
        return texts;
    }

private:
    static constexpr std::size_t no_line = static_cast<std::size_t>(-1);
    struct Problem {
        std::size_t line;
        std::string text;
    };

    static std::string json_name(std::string_view name) {
        const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) { return c > 0x20 && c < 0x7F; });
        return plain && !name.empty() ? std::string(name) : json_quoted(name);
    }

    template <class T>
    void read_table(std::string_view table, const toml::node& node, const toml::source_region& source,
                    const std::vector<ConfigField<T>>& fields, T& out) {
        const toml::table* keys = node.as_table();
        if (!keys) return refuse(source, fmt::format("{}: must be a table; begin it with [{}]", table, table));
        for (const auto& [name, value] : *keys) {
            read_key(table, name, value, fields, out);
            config.places.set(fmt::format("{}.{}", table, name.str()), place_of(name.source()));
        }
    }
    std::string place_of(const toml::source_region& source) const {
        return fmt::format("{}:{}", file_, source.begin.line);
    }

    template <class T>
    void read_key(std::string_view table, const toml::key& name, const toml::node& value,
                  const std::vector<ConfigField<T>>& fields, T& out) {
        const std::string full_name = fmt::format("{}.{}", table, json_name(name.str()));
        if (table == "auth" && name.str() == "server_token")
            return refuse(name.source(), fmt::format("{}: refused here; secrets come from MUSTER_AUTH_SERVER_TOKEN or "
                                                     "auth.server_token_file",
                                                     full_name));
        const auto field =
            std::find_if(fields.begin(), fields.end(), [&](auto& each) { return each.name == name.str(); });
        if (field == fields.end()) {
            std::vector<std::string> known;
            known.reserve(fields.size());
            for (const auto& each : fields) known.push_back(each.name);
            refuse(name.source(), fmt::format("{}: unknown key{}", full_name, did_you_mean(name.str(), known)));
        } else if (!field->set(value, out) && !refuse_entries(full_name, value, *field, out)) {
            refuse(name.source(),
                   fmt::format("{}: {} is not allowed; give {}", full_name, shown(value), field->allowed));
        }
    }

    // Of a table whose entries are the operator's own names: those that are not allowed. False when each one is.
    template <class T>
    bool refuse_entries(std::string_view full_name, const toml::node& value, const ConfigField<T>& field,
                        const T& out) {
        const toml::table* entries = value.as_table();
        if (!entries) return false;
        bool any = false;
        for (const auto& [name, entry] : *entries) {
            T scratch = out;
            toml::table alone;
            alone.insert(name, entry);
            if (field.set(alone, scratch)) continue;
            // Its value is not shown: it may be a secret.
            refuse(name.source(),
                   fmt::format("{}: {} is not allowed; give {}", full_name, json_name(name.str()), field.allowed));
            any = true;
        }
        return any;
    }

    void read_runs(const toml::node& node, const toml::source_region& source) {
        const toml::array* runs = node.as_array();
        if (!runs || runs->size() > runs_max)
            return refuse(source,
                          fmt::format("run: must be a list of 1 to {} tables; begin each with [[run]]", runs_max));
        for (const toml::node& each : *runs) {
            const toml::table* keys = each.as_table();
            if (!keys) {
                refuse(each.source(), "run: must be a table; begin it with [[run]]");
                continue;
            }
            RunConfig run;
            for (const auto& [name, value] : *keys) read_key("run", name, value, run_fields(), run);
            if (!keys->contains("count_max")) run.count_max = std::max(run.count, 1);
            check_run(run, *keys, each.source());
            config.places.set(fmt::format("run.{}", run.name), place_of(each.source()));
            for (const auto& [name, value] : *keys)
                config.places.set(fmt::format("run.{}.{}", run.name, name.str()), place_of(name.source()));
            config.runs.push_back(std::move(run));
        }
    }

    void check_run(const RunConfig& run, const toml::table& keys, const toml::source_region& source) {
        const auto at = [&](std::string_view key) {
            const auto found = keys.find(key);
            return found == keys.end() ? source : found->first.source();
        };
        if (!keys.contains("name")) refuse(source, "run.name: is missing; every run needs a name");
        if (!keys.contains("command")) refuse(source, "run.command: is missing; every run needs a command");
        for (const RunConfig& other : config.runs)
            if (other.name == run.name && !run.name.empty())
                refuse(at("name"), fmt::format("run.name: two runs have the name {}", json_quoted(run.name)));
        if (run.count > run.count_max)
            refuse(at("count_max"),
                   fmt::format("run.count_max: {} must be at least run.count = {}", run.count_max, run.count));
        if (run.slots != 1 && run.sdk != SdkKind::muster)
            refuse(at("slots"),
                   fmt::format("run.slots: {} is not allowed with sdk = \"{}\", whose processes run one match "
                               "at a time; give 1",
                               run.slots, to_string(run.sdk)));
        for (const char* key : {"player_tracking", "counters", "lists"})
            if (keys.contains(key) && run.sdk != SdkKind::agones)
                refuse(at(key), fmt::format("run.{}: is for sdk = \"agones\" only", key));
        if (keys.contains("ignore_health") && run.sdk != SdkKind::gsdk)
            refuse(at("ignore_health"), "run.ignore_health: is for sdk = \"gsdk\" only");
        const bool own_ready = run.sdk == SdkKind::agones || run.sdk == SdkKind::gsdk;
        if (run.ready_after && own_ready)
            refuse(at("ready_after"),
                   fmt::format("run.ready_after: is for sdk = \"none\" and \"muster\"; with \"{}\" the "
                               "process says itself when it is ready",
                               to_string(run.sdk)));
    }

    void read_variable(const EnvironmentVariable& variable, std::string_view upper) {
        std::string name(upper);
        std::transform(name.begin(), name.end(), name.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
        const auto& fields = agent_fields();
        const auto field = std::find_if(fields.begin(), fields.end(), [&](auto& each) { return each.name == name; });
        if (field == fields.end()) {
            std::vector<std::string> known;
            known.reserve(fields.size());
            for (const auto& each : fields) known.push_back(each.name);
            return refuse_at(variable.name, fmt::format("unknown key{}", did_you_mean(name, known)));
        }
        if (!is_usable_text(variable.value))
            return refuse_at(variable.name, fmt::format("is no text; give {}", field->allowed));
        // Lists are given as words with commas between; numbers as they are.
        const std::string value(variable.value);
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        const bool is_number = error == std::errc() && end == value.data() + value.size();
        config.places.set(fmt::format("agent.{}", name), std::string(variable.name));
        bool set = false;
        if (name == "join") {
            toml::array words;
            std::size_t from = 0;
            for (std::size_t comma = 0; comma != std::string::npos; from = comma + 1) {
                comma = value.find(',', from);
                words.push_back(value.substr(from, comma == std::string::npos ? comma : comma - from));
            }
            set = field->set(words, config);
        } else if (name == "region" && is_number) {
            set = field->set(toml::value<std::int64_t>(number), config);
        } else {
            set = field->set(toml::value<std::string>(value), config);
        }
        if (!set)
            refuse_at(variable.name, fmt::format("{} is not allowed; give {}", json_quoted(value), field->allowed));
    }

    std::string file_;
    std::vector<Problem> problems_;
};

}  // namespace

std::string ConfigPlaces::told(std::string_view key, std::string_view text) const {
    // The key itself, then the table that it would stand in.
    for (std::size_t end = key.size(); end != std::string_view::npos && end > 0; end = key.rfind('.', end - 1)) {
        const auto found = places_.find(key.substr(0, end));
        if (found != places_.end()) return fmt::format("{}: {}", found->second, text);
    }
    return file_.empty() ? std::string(text) : fmt::format("{}: {}", file_, text);
}

Result<LoadedAgentConfig, AgentConfigProblems> read_agent_config(std::string_view text, std::string_view file,
                                                                 const Environment& environment,
                                                                 std::string_view host_name) {
    Reader reader(file);
    try {
        reader.read(toml::parse(text, file));
    } catch (const toml::parse_error& error) {
        reader.refuse(error.source(), error.description());
        return Failure(reader.problems());
    }
    reader.read_environment(environment);
    reader.read_token_file();
    reader.check_whole();
    if (reader.config.name.empty()) {
        if (!is_plain_name(host_name))
            reader.refuse_at(file, fmt::format("agent.name: this machine's name {} does not do; give 1 to 63 letters, "
                                               "digits, dots, dashes or underscores",
                                               json_quoted(host_name)));
        reader.config.name = std::string(host_name);
    }
    if (auto problems = reader.problems(); !problems.empty()) return Failure(std::move(problems));
    return LoadedAgentConfig{std::move(reader.config), std::move(reader.warnings)};
}

Result<LoadedAgentConfig, AgentConfigProblems> load_agent_config(const std::filesystem::path& file,
                                                                 const Environment& environment,
                                                                 std::string_view host_name) {
    std::error_code error;
    std::string text;
    if (std::filesystem::is_directory(file, error))
        return Failure(AgentConfigProblems{fmt::format("{}: is a directory", file.string())});
    std::ifstream in(file, std::ios::binary);
    if (!in)
        return Failure(AgentConfigProblems{fmt::format("{}: cannot be read: {}", file.string(), std::strerror(errno))});
    text.resize(file_bytes_max + 1);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (text.size() > file_bytes_max)
        return Failure(AgentConfigProblems{fmt::format("{}: is larger than {} bytes", file.string(), file_bytes_max)});
    return read_agent_config(text, file.string(), environment, host_name);
}

std::vector<std::string> agent_config_keys() {
    std::vector<std::string> keys;
    for (const auto& field : agent_fields()) keys.push_back("agent." + field.name);
    for (const auto& field : run_fields()) keys.push_back("run." + field.name);
    for (const auto& field : auth_fields()) keys.push_back("auth." + field.name);
    return keys;
}

}  // namespace muster
