#include "config/config_value.h"

#include <algorithm>
#include <charconv>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json_fields.h"
#include "base/utf8.h"

namespace muster {
namespace {

constexpr std::size_t shown_bytes_max = 64;

template <class... Visitors>
struct Overload : Visitors... {
    using Visitors::operator()...;
};
template <class... Visitors>
Overload(Visitors...) -> Overload<Visitors...>;

// The list of keys speaks of places that can be written; reading goes through the same places.
template <class T>
const T& read(PlaceOf<T> place, const Config& config) {
    return place(const_cast<Config&>(config));
}

std::string shown(const ConfigScalar& value) {
    return std::visit(Overload{
                          [](const std::string& text) {
                              if (text.size() <= shown_bytes_max) return json_quoted(text);
                              return json_quoted(text.substr(0, shown_bytes_max)) + "…";
                          },
                          [](const auto& plain) { return fmt::format("{}", plain); },
                      },
                      value);
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
    T number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

// What the scalar means to each type of key; nothing when it is of another type or out of its limits.

std::optional<bool> meant(const FlagKey&, const ConfigScalar& value) {
    const bool* flag = std::get_if<bool>(&value);
    return flag ? std::optional(*flag) : std::nullopt;
}

std::optional<std::int32_t> meant(const WholeKey& key, const ConfigScalar& value) {
    const auto* number = std::get_if<std::int64_t>(&value);
    if (!number || *number < key.least || *number > key.most) return std::nullopt;
    return static_cast<std::int32_t>(*number);
}

std::optional<double> meant(const RealKey& key, const ConfigScalar& value) {
    double number = 0;
    if (const auto* real = std::get_if<double>(&value)) {
        number = *real;
    } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
        number = static_cast<double>(*whole);
    } else {
        return std::nullopt;
    }
    // Written so that NaN is out of its limits too.
    return number >= key.least && number <= key.most ? std::optional(number) : std::nullopt;
}

std::optional<Duration> meant(const DurationKey& key, const ConfigScalar& value) {
    const auto* text = std::get_if<std::string>(&value);
    const auto duration = text ? parse_duration(*text) : std::nullopt;
    return duration && *duration >= key.least && *duration <= key.most ? duration : std::nullopt;
}

std::optional<ByteSize> meant(const SizeKey& key, const ConfigScalar& value) {
    std::optional<ByteSize> size;
    if (const auto* text = std::get_if<std::string>(&value)) size = parse_byte_size(*text);
    if (const auto* number = std::get_if<std::int64_t>(&value)) size = ByteSize{*number};
    return size && *size >= key.least && *size <= key.most ? size : std::nullopt;
}

std::optional<ListenAddress> meant(const AddressKey&, const ConfigScalar& value) {
    const auto* text = std::get_if<std::string>(&value);
    return text ? ListenAddress::parse(*text) : std::nullopt;
}

std::optional<std::string> meant(const PathKey&, const ConfigScalar& value) {
    const auto* text = std::get_if<std::string>(&value);
    // The operating system would take the path only up to its first NUL; and a file could not say what is no UTF-8.
    if (!text || text->empty() || text->find('\0') != std::string::npos || !is_utf8(*text)) return std::nullopt;
    return *text;
}

std::optional<std::string> meant(const TextKey& key, const ConfigScalar& value) {
    const auto* text = std::get_if<std::string>(&value);
    const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
    if (!text || text->empty() || !is_utf8(*text) || std::any_of(text->begin(), text->end(), is_control) ||
        !key.problem(*text).empty())
        return std::nullopt;
    return *text;
}

template <class Enum>
std::optional<Enum> meant(const ChoiceKey<Enum>&, const ConfigScalar& value) {
    const auto* text = std::get_if<std::string>(&value);
    for (const ConfigChoice<Enum>& choice : choices<Enum>())
        if (text && choice.text == *text) return choice.value;
    return std::nullopt;
}

template <class Enum>
std::string_view choice_text(Enum value) {
    for (const ConfigChoice<Enum>& choice : choices<Enum>())
        if (choice.value == value) return choice.text;
    return "unknown";
}

template <class Enum>
std::string choice_list() {
    std::vector<std::string> quoted;
    for (const ConfigChoice<Enum>& choice : choices<Enum>()) quoted.push_back(fmt::format("\"{}\"", choice.text));
    return fmt::format("{}", fmt::join(quoted, " or "));
}

std::string regions_text(const Regions& regions) {
    std::vector<std::string> items;
    for (const Region& region : regions)
        items.push_back(fmt::format("{{ id = {}, name = {} }}", region.id.value, json_quoted(region.name)));
    return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string cells_text(const CellPlans& cells) {
    std::vector<std::string> items;
    for (const CellPlan& cell : cells) {
        std::vector<int> regions;
        for (const RegionId region : cell.regions.value_or(std::vector<RegionId>())) regions.push_back(region.value);
        items.push_back(fmt::format("{{ name = {}, regions = [{}], players = {} }}", json_quoted(cell.name),
                                    fmt::join(regions, ", "), cell.players));
    }
    return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string list_text(const std::vector<std::string>& items) {
    std::vector<std::string> quoted;
    quoted.reserve(items.size());
    for (const std::string& item : items) quoted.push_back(json_quoted(item));
    return fmt::format("[{}]", fmt::join(quoted, ", "));
}

template <class T>
bool same(const T& one, const T& other) {
    return one == other;
}

bool same(const Regions& one, const Regions& other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](const Region& a, const Region& b) { return a.id == b.id && a.name == b.name; });
}

}  // namespace

ConfigScalar scalar_from_text(const ConfigKey& key, std::string_view text) {
    const auto or_text = [text](const auto& parsed) -> ConfigScalar {
        if (parsed) return *parsed;
        return std::string(text);
    };
    return std::visit(Overload{
                          [&](const FlagKey&) -> ConfigScalar {
                              if (text == "true") return true;
                              if (text == "false") return false;
                              return std::string(text);
                          },
                          [&](const WholeKey&) { return or_text(parse_number<std::int64_t>(text)); },
                          [&](const RealKey&) { return or_text(parse_number<double>(text)); },
                          [&](const auto&) -> ConfigScalar { return std::string(text); },
                      },
                      key.type);
}

std::optional<std::string> set_value(const ConfigKey& key, const ConfigScalar& value, Config& config) {
    const bool done = std::visit(
        [&](const auto& type) {
            using Type = std::remove_cvref_t<decltype(type)>;
            if constexpr (std::is_same_v<Type, RegionsKey> || std::is_same_v<Type, CellsKey> ||
                          std::is_same_v<Type, HostsKey> || std::is_same_v<Type, ListKey> ||
                          std::is_same_v<Type, SecretKey>) {
                return false;
            } else {
                const auto wanted = meant(type, value);
                if (wanted) type.place(config) = *wanted;
                return wanted.has_value();
            }
        },
        key.type);
    if (done) return std::nullopt;
    const auto* line = std::get_if<TextKey>(&key.type);
    const auto* text = std::get_if<std::string>(&value);
    // Not repeated: it may hold a password.
    if (line && text && !text->empty() && !line->problem(*text).empty())
        return fmt::format("{}; give {}", line->problem(*text), allowed_text(key));
    return fmt::format("{} is not allowed; give {}", shown(value), allowed_text(key));
}

std::string allowed_text(const ConfigKey& key) {
    return std::visit(
        Overload{
            [](const FlagKey&) -> std::string { return "true or false"; },
            [](const WholeKey& k) { return fmt::format("a whole number from {} to {}", k.least, k.most); },
            [](const RealKey& k) { return fmt::format("a number from {} to {}", k.least, k.most); },
            [](const DurationKey& k) {
                return fmt::format("a duration from {} to {}, such as \"500ms\", \"10s\" or \"5m\"", to_text(k.least),
                                   to_text(k.most));
            },
            [](const SizeKey& k) {
                return fmt::format("a size from {} to {}, such as \"256KiB\" or a number of bytes", to_text(k.least),
                                   to_text(k.most));
            },
            [](const AddressKey&) -> std::string {
                return "an IP address and a port, such as \"127.0.0.1:11032\" or \"[::1]:11032\"";
            },
            [](const PathKey&) -> std::string { return "the path of a file, in UTF-8"; },
            [](const TextKey& k) { return fmt::format("{}, such as {}", k.allowed, k.example); },
            []<class Enum>(const ChoiceKey<Enum>&) { return choice_list<Enum>(); },
            [](const RegionsKey&) -> std::string { return "a list such as [{ id = 0, name = \"USE\" }]"; },
            [](const CellsKey&) -> std::string {
                return "a list such as [{ name = \"eu\", regions = [2, 9], players = true }]";
            },
            [](const HostsKey&) -> std::string { return "a list of host names such as [\"muster.example\"]"; },
            [](const ListKey& k) {
                return fmt::format("a list of {}, each at most once, such as {}", k.allowed, k.example);
            },
            [](const SecretKey& k) { return fmt::format("1 to {} bytes, never in the file itself", k.bytes_max); },
        },
        key.type);
}

std::string value_text(const ConfigKey& key, const Config& config) {
    return std::visit(
        Overload{
            [&](const FlagKey& k) { return fmt::format("{}", read(k.place, config)); },
            [&](const WholeKey& k) { return fmt::format("{}", read(k.place, config)); },
            [&](const RealKey& k) { return fmt::format("{}", read(k.place, config)); },
            [&](const DurationKey& k) { return fmt::format("\"{}\"", to_text(read(k.place, config))); },
            [&](const SizeKey& k) { return fmt::format("\"{}\"", to_text(read(k.place, config))); },
            [&](const AddressKey& k) { return fmt::format("\"{}\"", read(k.place, config).to_string()); },
            [&](const PathKey& k) { return json_quoted(read(k.place, config)); },
            [&](const TextKey& k) { return json_quoted(read(k.place, config)); },
            [&]<class Enum>(const ChoiceKey<Enum>& k) {
                return fmt::format("\"{}\"", choice_text(read(k.place, config)));
            },
            [&](const RegionsKey& k) { return regions_text(read(k.place, config)); },
            [&](const CellsKey& k) { return cells_text(read(k.place, config)); },
            [&](const HostsKey& k) { return list_text(read(k.place, config)); },
            [&](const ListKey& k) { return list_text(read(k.place, config)); },
            [&](const SecretKey& k) -> std::string { return read(k.place, config).is_set() ? "set" : "not set"; },
        },
        key.type);
}

void describe_value(const ConfigKey& key, const Config& config, FieldSink& out) {
    std::visit(Overload{
                   [&](const FlagKey& k) { out.flag("value", read(k.place, config)); },
                   [&](const WholeKey& k) { out.integer("value", read(k.place, config)); },
                   [&](const RealKey& k) { out.real("value", read(k.place, config)); },
                   [&](const DurationKey& k) { out.text("value", to_text(read(k.place, config))); },
                   [&](const SizeKey& k) { out.text("value", to_text(read(k.place, config))); },
                   [&](const AddressKey& k) { out.text("value", read(k.place, config).to_string()); },
                   [&](const PathKey& k) { out.text("value", read(k.place, config)); },
                   [&](const TextKey& k) { out.text("value", read(k.place, config)); },
                   [&]<class Enum>(const ChoiceKey<Enum>& k) { out.text("value", choice_text(read(k.place, config))); },
                   [&](const RegionsKey& k) {
                       out.begin_list("value");
                       for (const Region& region : read(k.place, config)) {
                           out.begin_object({});
                           out.integer("id", region.id.value);
                           out.text("name", region.name);
                           out.end_object();
                       }
                       out.end_list();
                   },
                   [&](const CellsKey& k) {
                       out.begin_list("value");
                       for (const CellPlan& cell : read(k.place, config)) {
                           out.begin_object({});
                           out.text("name", cell.name);
                           out.begin_list("regions");
                           for (const RegionId region : cell.regions.value_or(std::vector<RegionId>()))
                               out.integer({}, region.value);
                           out.end_list();
                           out.flag("players", cell.players);
                           out.end_object();
                       }
                       out.end_list();
                   },
                   [&](const HostsKey& k) {
                       out.begin_list("value");
                       for (const std::string& host : read(k.place, config)) out.text({}, host);
                       out.end_list();
                   },
                   [&](const ListKey& k) {
                       out.begin_list("value");
                       for (const std::string& item : read(k.place, config)) out.text({}, item);
                       out.end_list();
                   },
                   [&](const SecretKey& k) { out.flag("set", read(k.place, config).is_set()); },
               },
               key.type);
}

bool same_value(const ConfigKey& key, const Config& one, const Config& other) {
    return std::visit([&](const auto& type) { return same(read(type.place, one), read(type.place, other)); }, key.type);
}

void copy_value(const ConfigKey& key, const Config& from, Config& to) {
    std::visit([&](const auto& type) { type.place(to) = read(type.place, from); }, key.type);
}

}  // namespace muster
