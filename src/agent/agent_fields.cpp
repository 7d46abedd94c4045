#include "agent/agent_fields.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/signal_names.h"
#include "base/ip_address.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t words_max = 256;  // of a command
constexpr std::size_t word_bytes_max = 4096;
constexpr std::size_t variable_bytes_max = 32 * 1024;
constexpr std::size_t label_bytes_max = 256;
constexpr std::int32_t count_most = 1000;
constexpr Duration day = 24h;

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_variable_name(std::string_view name) {
    return !name.empty() && !(name[0] >= '0' && name[0] <= '9') && !name.starts_with("MUSTER_") && name != "PORT" &&
           std::all_of(name.begin(), name.end(), [](char c) { return is_letter_or_digit(c) || c == '_'; });
}

// "host:port" as the SDK takes it: a name or a literal, in brackets for IPv6; with TLS "muster-tls://host:port".
bool is_host_and_port(std::string_view text) {
    constexpr std::string_view scheme = "muster-tls://";
    if (text.starts_with(scheme)) text.remove_prefix(scheme.size());
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) return false;
    const std::string_view host = text.substr(0, colon);
    const std::string_view digits = text.substr(colon + 1);
    std::uint32_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc() || end != digits.data() + digits.size() || port == 0 || port > 65535) return false;
    if (host.front() == '[') {
        const auto literal = host.back() == ']' ? IpAddress::parse(host.substr(1, host.size() - 2)) : std::nullopt;
        return literal.has_value();
    }
    return host.size() <= 253 &&
           std::all_of(host.begin(), host.end(), [](char c) { return is_letter_or_digit(c) || c == '.' || c == '-'; });
}

std::optional<std::vector<std::string>> texts_of(const toml::node& node, std::size_t least, std::size_t most) {
    const toml::array* items = node.as_array();
    if (!items || items->size() < least || items->size() > most) return std::nullopt;
    std::vector<std::string> texts;
    for (const toml::node& item : *items) {
        const auto* text = item.as_string();
        if (!text || !is_usable_text(text->get()) || text->get().size() > word_bytes_max) return std::nullopt;
        texts.push_back(text->get());
    }
    return texts;
}

std::optional<std::int64_t> whole_in(const toml::table& table, std::string_view key) {
    const auto* number = table.get_as<std::int64_t>(key);
    return number ? std::optional(number->get()) : std::nullopt;
}

bool set_counters(const toml::node& node, RunConfig& out) {
    const toml::table* table = node.as_table();
    if (!table || table->size() > words_max) return false;
    std::vector<CounterConfig> counters;
    for (const auto& [name, value] : *table) {
        const toml::table* each = value.as_table();
        if (!each || !is_plain_name(name.str()) || each->size() > 2) return false;
        const auto count = whole_in(*each, "count");
        const auto capacity = whole_in(*each, "capacity");
        if (!capacity || (each->size() == 2) != count.has_value()) return false;
        if (*capacity < 0 || count.value_or(0) < 0 || count.value_or(0) > *capacity) return false;
        counters.push_back({std::string(name.str()), count.value_or(0), *capacity});
    }
    out.counters = std::move(counters);
    return true;
}

bool set_lists(const toml::node& node, RunConfig& out) {
    constexpr std::int64_t capacity_most = 1000;  // as Agones
    const toml::table* table = node.as_table();
    if (!table || table->size() > words_max) return false;
    std::vector<ListConfig> lists;
    for (const auto& [name, value] : *table) {
        const toml::table* each = value.as_table();
        if (!each || !is_plain_name(name.str()) || each->size() > 2) return false;
        const auto capacity = whole_in(*each, "capacity");
        const toml::node* values = each->get("values");
        if (!capacity || *capacity < 0 || *capacity > capacity_most || (each->size() == 2) != (values != nullptr))
            return false;
        auto texts = values ? texts_of(*values, 0, static_cast<std::size_t>(*capacity))
                            : std::optional(std::vector<std::string>());
        if (!texts) return false;
        lists.push_back({std::string(name.str()), *capacity, std::move(*texts)});
    }
    out.lists = std::move(lists);
    return true;
}

}  // namespace

const std::vector<ConfigField<AgentConfig>>& agent_fields() {
    using T = AgentConfig;
    static const std::vector<ConfigField<T>> fields = {
        text_field<T>("name", &T::name, "1 to 63 letters, digits, dots, dashes or underscores", is_plain_name),
        {"join", "a list of 1 to 16 addresses, such as [\"127.0.0.1:11032\"]",
         [](const toml::node& node, T& out) {
             auto texts = texts_of(node, 1, 16);
             if (!texts || !std::all_of(texts->begin(), texts->end(), is_host_and_port)) return false;
             out.join = std::move(*texts);
             return true;
         }},
        text_field<T>("address", &T::address, "an IP address that players reach this host by, or \"\"",
                      [](std::string_view text) {
                          const auto ip = IpAddress::parse(text);
                          return text.empty() || (ip && !ip->is_unspecified() && !ip->is_multicast());
                      }),
        {"region", "a whole number from 0 to 127",
         [](const toml::node& node, T& out) {
             const auto* value = node.as_integer();
             if (!value || value->get() < 0 || value->get() > 127) return false;
             out.region = RegionId(static_cast<std::int8_t>(value->get()));
             return true;
         }},
        {"ports", "a range of ports from 1024 to 65535, such as \"7000-7999\"",
         [](const toml::node& node, T& out) {
             const auto* text = node.as_string();
             const auto range = text ? parse_port_range(text->get()) : std::nullopt;
             if (range) out.ports = *range;
             return range.has_value();
         }},
        text_field<T>("state", &T::state, "the path of a folder, in UTF-8",
                      [](std::string_view text) { return !text.empty(); }),
        {"metrics", "an IP address and a port, such as \"127.0.0.1:11035\", or \"\"",
         [](const toml::node& node, T& out) {
             const auto* text = node.as_string();
             const auto address = text ? ListenAddress::parse(text->get()) : std::nullopt;
             if (!text || (!text->get().empty() && !address)) return false;
             out.metrics = address;
             return true;
         }},
    };
    return fields;
}

const std::vector<ConfigField<RunConfig>>& run_fields() {
    using T = RunConfig;
    static const std::vector<ConfigField<T>> fields = {
        text_field<T>("name", &T::name, "1 to 63 letters, digits, dots, dashes or underscores", is_plain_name),
        {"command", "a list of words, the program first, such as [\"./server\", \"-port\", \"{port}\"]",
         [](const toml::node& node, T& out) {
             auto words = texts_of(node, 1, words_max);
             if (!words || words->front().empty()) return false;
             out.command = std::move(*words);
             return true;
         }},
        text_field<T>("directory", &T::directory, "the path of a folder, in UTF-8",
                      [](std::string_view text) { return !text.empty(); }),
        entries_field<T>("env", &T::env,
                         "a table of texts, such as { MAP = \"dust\" }; PORT and MUSTER_* are the agent's",
                         is_variable_name, variable_bytes_max),
        whole_field<T>("count", &T::count, 0, count_most),
        whole_field<T>("count_max", &T::count_max, 1, count_most),
        whole_field<T>("slots", &T::slots, 1, 10'000),
        {"sdk", "\"muster\" or \"agones\" or \"gsdk\" or \"none\"",
         [](const toml::node& node, T& out) {
             const auto* text = node.as_string();
             const auto kind = text ? sdk_kind_named(text->get()) : std::nullopt;
             if (kind) out.sdk = *kind;
             return kind.has_value();
         }},
        {"cpu", "a number of cores from 0 to 1024",
         [](const toml::node& node, T& out) {
             const auto value = node.value<double>();
             if (!node.is_number() || !value || !(*value >= 0 && *value <= 1024)) return false;
             out.cpu = *value;
             return true;
         }},
        {"memory", "a size from 1MiB to 16TiB, such as \"512MiB\", or 0 for an equal share of the host's",
         [any = size_field<T>("memory", &T::memory, ByteSize{0}, gibibytes(16 * 1024))](const toml::node& node,
                                                                                        T& out) {
             constexpr ByteSize least{1 << 20};
             T given = out;
             if (!any.set(node, given) || (given.memory != ByteSize{0} && given.memory < least)) return false;
             out.memory = given.memory;
             return true;
         }},
        duration_field<T>(
            "start_timeout", [](T& run, Duration value) { run.start_timeout = value; }, 1s, day),
        {"stop_signal", fmt::format("{}", fmt::join(stop_signal_names(), " or ")),
         [](const toml::node& node, T& out) {
             const auto* text = node.as_string();
             const auto signal = text ? stop_signal_named(text->get()) : std::nullopt;
             if (signal) out.stop_signal = *signal;
             return signal.has_value();
         }},
        duration_field<T>(
            "stop_grace", [](T& run, Duration value) { run.stop_grace = value; }, 0ms, day),
        duration_field<T>(
            "stop_grace_allocated", [](T& run, Duration value) { run.stop_grace_allocated = value; }, 0ms, 7 * day),
        {"ready_after", "a duration from 0ms to 1d, such as \"10s\", or \"\" to watch the port",
         [](const toml::node& node, T& out) {
             const auto* text = node.as_string();
             const auto value = text ? parse_duration(text->get()) : std::nullopt;
             if (!text || (!text->get().empty() && (!value || *value > day))) return false;
             out.ready_after = value;
             return true;
         }},
        size_field<T>("log_size", &T::log_size, kibibytes(64), gibibytes(1)),
        whole_field<T>("log_files", &T::log_files, 1, 100),
        duration_field<T>(
            "health_period", [](T& run, Duration value) { run.health_period = value; }, 1s, 1h),
        whole_field<T>("health_failures", &T::health_failures, 1, 1'000),
        duration_field<T>(
            "health_delay", [](T& run, Duration value) { run.health_delay = value; }, 0ms, day),
        entries_field<T>(
            "labels", &T::labels,
            fmt::format(
                "a table of texts, such as {{ build = \"42\" }}, names of 1 to 63 bytes and texts of at most {}",
                label_bytes_max),
            [](std::string_view name) { return !name.empty() && name.size() <= 63; }, label_bytes_max),
        flag_field<T>("player_tracking", &T::player_tracking),
        {"counters", "a table such as { rooms = { count = 0, capacity = 10 } }", set_counters},
        {"lists", "a table such as { players = { capacity = 10, values = [] } }, of a capacity up to 1000", set_lists},
        flag_field<T>("ignore_health", &T::ignore_health),
    };
    return fields;
}

const std::vector<ConfigField<AgentAuth>>& auth_fields() {
    static const std::vector<ConfigField<AgentAuth>> fields = {
        text_field<AgentAuth>("server_token_file", &AgentAuth::server_token_file, "the path of a file, in UTF-8",
                              [](std::string_view text) { return !text.empty(); }),
    };
    return fields;
}

std::string_view to_string(SdkKind kind) {
    switch (kind) {
        case SdkKind::none:
            return "none";
        case SdkKind::muster:
            return "muster";
        case SdkKind::agones:
            return "agones";
        case SdkKind::gsdk:
            return "gsdk";
    }
    return "none";
}

std::optional<SdkKind> sdk_kind_named(std::string_view name) {
    for (const SdkKind kind : {SdkKind::none, SdkKind::muster, SdkKind::agones, SdkKind::gsdk})
        if (to_string(kind) == name) return kind;
    return std::nullopt;
}

std::optional<PortRange> parse_port_range(std::string_view text) {
    constexpr std::uint32_t least = 1024;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    const char* end = text.data() + text.size();
    const auto one = std::from_chars(text.data(), end, first);
    if (one.ec != std::errc() || one.ptr == end || *one.ptr != '-') return std::nullopt;
    const auto two = std::from_chars(one.ptr + 1, end, last);
    if (two.ec != std::errc() || two.ptr != end || first < least || last < first || last > 65535) return std::nullopt;
    return PortRange{static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last)};
}

bool is_plain_name(std::string_view name) {
    return !name.empty() && name.size() <= 63 && is_letter_or_digit(name.front()) && is_letter_or_digit(name.back()) &&
           std::all_of(name.begin(), name.end(),
                       [](char c) { return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-'; });
}

}  // namespace muster
