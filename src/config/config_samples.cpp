#include "config/config_samples.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "config/config_units.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

std::string quoted(const std::string& text) {
    return fmt::format("\"{}\"", text);
}

ConfigSamples samples(const FlagKey&) {
    return {{"true", "false"}, {"1", "0", "\"yes\"", "\"TRUE\"", "1.0"}};
}

ConfigSamples samples(const WholeKey& key) {
    const auto least = static_cast<std::int64_t>(key.least);
    const auto most = static_cast<std::int64_t>(key.most);
    return {{fmt::format("{}", least), fmt::format("{}", most)},
            {fmt::format("{}", least - 1), fmt::format("{}", most + 1), "9223372036854775807", "-9223372036854775808",
             "4294967297", "1.5", "true", "\"many\"", "\"\""}};
}

ConfigSamples samples(const RealKey& key) {
    return {{fmt::format("{}", key.least), fmt::format("{}", key.most), "0.5"},
            {fmt::format("{}", key.least - 0.001), fmt::format("{}", key.most + 0.001), "nan", "inf", "-inf", "1e308",
             "true", "\"half\""}};
}

ConfigSamples samples(const DurationKey& key) {
    ConfigSamples both{{quoted(to_text(key.least)), quoted(to_text(key.most))},
                       {quoted(to_text(key.most + 1ms)), "\"-1s\"", "\"10\"", "\"1.5s\"", "\"10 s\"",
                        "\"99999999999d\"", "\"\"", "10", "1.5", "true", "07:32:00"}};
    if (key.least > Duration::zero()) both.bad.push_back(quoted(to_text(key.least - 1ms)));
    return both;
}

ConfigSamples samples(const SizeKey& key) {
    return {{quoted(to_text(key.least)), quoted(to_text(key.most))},
            {quoted(to_text(ByteSize{key.least.bytes - 1})), quoted(to_text(ByteSize{key.most.bytes + 1})), "-1", "1.5",
             "\"1KB\"", "\"99999999999999TiB\"", "true"}};
}

ConfigSamples samples(const AddressKey&) {
    return {{"\"127.0.0.1:0\"", "\"[::1]:65535\"", "\"0.0.0.0:1\""},
            {"\"127.0.0.1\"", "\"127.0.0.1:65536\"", "\"example.com:80\"", "\"::1:80\"", "\"\"", "11032", "true"}};
}

ConfigSamples samples(const PathKey&) {
    return {{"\"x\"", "\"/var/lib/muster/a b.db\""}, {"\"\"", "1", "true", "\"a\\u0000b\""}};
}

ConfigSamples samples(const TextKey& key) {
    return {{std::string(key.example)},
            {std::string(key.counterexample), "\"\"", "1", "true", "\"a\\u0000b\"", "\"a\\nb\""}};
}

template <class Enum>
ConfigSamples samples(const ChoiceKey<Enum>&) {
    ConfigSamples both{{}, {"\"\"", "\"other\"", "\"BIG\"", "1", "true"}};
    std::vector<Enum> seen;
    for (const ConfigChoice<Enum>& choice : choices<Enum>()) {
        if (std::find(seen.begin(), seen.end(), choice.value) != seen.end()) continue;  // another word for it
        seen.push_back(choice.value);
        both.good.push_back(quoted(std::string(choice.text)));
    }
    return both;
}

ConfigSamples samples(const RegionsKey&) {
    return {{R"([{ id = 0, name = "A" }])", R"([{ id = 127, name = "ÅÄÖ" }, { id = 0, name = "B" }])"},
            {"[]", "1", "\"EU\"", "{}", "[1]", "[[]]", R"([{ id = 0 }])", R"([{ name = "A" }])",
             R"([{ id = -1, name = "A" }])", R"([{ id = 128, name = "A" }])", R"([{ id = "0", name = "A" }])",
             R"([{ id = 0.0, name = "A" }])", R"([{ id = 0, name = "" }])", R"([{ id = 0, name = 5 }])",
             R"([{ id = 0, name = "A\n" }])", R"([{ id = 0, name = "ABCDEFGHIJKLMNOPQRSTUVWXYZ1234567" }])",
             R"([{ id = 0, name = "A", x = 1 }])", R"([{ id = 0, name = "A" }, { id = 0, name = "B" }])",
             R"([{ id = 0, name = "A" }, { id = 1, name = "A" }])"}};
}

ConfigSamples samples(const CellsKey&) {
    return {
        {"[]", R"([{ name = "eu", regions = [0, 2], players = true }])",
         R"([{ name = "people", regions = [], players = true }, { name = "us-1", regions = [1], players = false }])"},
        {"1", "\"eu\"", "{}", "[1]", "[[]]", R"([{ regions = [1] }])", R"([{ name = "eu" }])",
         R"([{ name = "EU", regions = [1] }])", R"([{ name = "", regions = [1] }])",
         R"([{ name = "eu", regions = [] }])", R"([{ name = "eu", regions = [128] }])",
         R"([{ name = "eu", regions = [1, 1] }])", R"([{ name = "eu", regions = 1 }])",
         R"([{ name = "eu", regions = ["1"] }])", R"([{ name = "eu", players = 1 }])",
         R"([{ name = "eu", regions = [1], x = 1 }])",
         R"([{ name = "eu", regions = [1] }, { name = "eu", regions = [2] }])",
         R"([{ name = "eu", regions = [1] }, { name = "us", regions = [1] }])"}};
}

ConfigSamples samples(const HostsKey&) {
    return {{"[]", R"(["muster.example"])", R"(["a", "b-1.c_2"])"},
            {"1", "\"muster.example\"", "{}", "[1]", "[[]]", R"([""])", R"(["a b"])", R"(["a:80"])", R"(["a..b"])",
             R"([".a"])", R"(["http://a"])"}};
}

ConfigSamples samples(const ListKey& key) {
    return {{"[]", std::string(key.example)},
            {std::string(key.counterexample), "[1]", "[[]]", "{}", "\"\"", "1", "true", "[\"\"]"}};
}

ConfigSamples samples(const SecretKey&) {
    return {};
}

}  // namespace

ConfigSamples samples_of(const ConfigKey& key) {
    ConfigSamples both = std::visit([](const auto& type) { return samples(type); }, key.type);
    if (!both.bad.empty()) both.bad.insert(both.bad.end(), {"2026-11-16", "[1, 2]", "{ a = 1 }"});
    return both;
}

std::string as_environment_text(const std::string& toml) {
    const bool is_string = toml.size() >= 2 && toml.front() == '"' && toml.back() == '"';
    return is_string ? toml.substr(1, toml.size() - 2) : toml;
}

}  // namespace muster
