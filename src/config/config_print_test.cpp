#include "config/config_print.h"

#include <algorithm>
#include <sstream>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "config/config_toml.h"
#include "config/config_value.h"
#include "testing/test_folder.h"

using namespace muster;

namespace {

ConfigDraft read_back(const std::string& text) {
    ConfigDraft draft;
    read_toml(text, "printed.toml", draft);
    return draft;
}

bool has_line(const std::string& text, std::string_view wanted) {
    return ("\n" + text).find(fmt::format("\n{}\n", wanted)) != std::string::npos;
}

}  // namespace

TEST_CASE("X-1: the default file is a valid file that sets every key but the secrets to its default") {
    const ConfigDraft draft = read_back(default_config_text());
    REQUIRE_FALSE(draft.has_problems());
    for (const ConfigKey& key : config_keys()) {
        INFO(key.full_name());
        CHECK(same_value(key, draft.config, Config{}));
        const bool stands_there = draft.origins.of(key).source == ConfigOrigin::Source::file;
        // A file that nobody named has no default.
        const bool is_named = std::holds_alternative<PathKey>(key.type) || std::holds_alternative<TextKey>(key.type) ||
                              std::holds_alternative<SecretKey>(key.type);
        const bool has_default = !is_named || key.full_name() == "store.path";
        CHECK(stands_there == has_default);
    }
}

TEST_CASE("X-1: the default file has a comment on each key, and no line that a terminal breaks") {
    const std::string text = default_config_text();
    std::istringstream lines(text);
    std::string line, before;
    while (std::getline(lines, line)) {
        if (line.find(" = ") != std::string::npos && !line.starts_with("# "))
            CHECK_MESSAGE(before.starts_with("# "), line);
        if (line.starts_with("#")) CHECK_MESSAGE(line.size() <= 110, line);
        before = line;
    }
    for (const ConfigKey& key : config_keys())
        if (!std::holds_alternative<SecretKey>(key.type))
            CHECK_MESSAGE(text.find(std::string(key.comment.substr(0, 40))) != std::string::npos, key.full_name());
}

TEST_CASE("X-1: the effective config says where each value came from, and reads back as the same") {
    const TestFolder folder;
    const auto file =
        folder.write("muster.toml",
                     "[players]\nbyte_order = \"little\"\n[store]\npath = \"a \\\"quoted\\\" \\u00e9 <path>\"\n"
                     "[fleet]\nregions = [{ id = 5, name = \"Ö\" }]\nbrake_share = 1\n");
    const auto loaded = load_config({file, {{"MUSTER_CLOCK_SPEED", "60"}}});
    REQUIRE(loaded);
    const std::string text = effective_config_text(*loaded);
    CHECK(has_line(text, fmt::format("{:<48}  # {}:2", "byte_order = \"little\"", file.string())));
    CHECK(has_line(text, fmt::format("{:<48}  # MUSTER_CLOCK_SPEED", "speed = 60")));
    CHECK(has_line(text, fmt::format("{:<48}  # default", "token_ttl = \"120s\"")));

    const ConfigDraft draft = read_back(text);
    REQUIRE_FALSE(draft.has_problems());
    for (const ConfigKey& key : config_keys())
        CHECK_MESSAGE(same_value(key, draft.config, loaded->config), key.full_name());
}

TEST_CASE("X-1, N-1: the effective config of a node names its database and no file, and reads back") {
    const TestFolder folder;
    const auto file = folder.write("muster.toml", "[store]\nurl = \"postgresql://muster@db1,db2/muster\"\n");
    const auto loaded = load_config({file, {}});
    REQUIRE(loaded);
    const auto printed = folder.write("printed.toml", effective_config_text(*loaded));
    const auto again = load_config({printed, {}});
    REQUIRE(again);
    CHECK(again->config.store.url == loaded->config.store.url);
}

TEST_CASE("fault 69: of a secret the effective config shows only whether it is set, and from where") {
    const TestFolder folder;
    const auto file = folder.write("key", "a key that signs players\n");
    const auto loaded = load_config(
        {std::nullopt,
         {{"MUSTER_AUTH_SERVER_TOKEN", "correct horse battery"}, {"MUSTER_AUTH_PLAYER_KEY_FILE", file.native()}}});
    REQUIRE(loaded);
    const std::string text = effective_config_text(*loaded);
    CHECK(has_line(text, "# server_token: set (environment)"));
    CHECK(has_line(text, "# matchmaker_token: not set"));
    CHECK(has_line(text, fmt::format("# player_key: set (file \"{}\")", file.string())));
    CHECK(text.find("correct") == std::string::npos);
    CHECK(text.find("signs players") == std::string::npos);
}

TEST_CASE("the reference has one row for every key") {
    const std::string text = config_reference();
    for (const ConfigKey& key : config_keys())
        CHECK_MESSAGE(text.find(fmt::format("\n| `{}` | ", key.name)) != std::string::npos, key.full_name());
    const auto rows = static_cast<std::size_t>(std::count(text.begin(), text.end(), '`'));
    CHECK(rows >= 2 * config_keys().size());
    CHECK(has_line(
        text, "| `speed` | `1` | a whole number from 1 to 3600 | Game minutes in a real minute. | at a restart |"));
}

TEST_CASE("X-1: as JSON every value stands with where it came from, and a secret says only that it is set") {
    LoadedConfig loaded;
    loaded.config.clock.speed = 60;
    loaded.origins.set(*find_key("clock", "speed"), {ConfigOrigin::Source::file, "muster.toml:7", 7});
    loaded.config.auth.admin_token = Secret("open-sesame");
    const std::string text = effective_config_json(loaded);
    CHECK(text.find(R"("speed":{"value":60,"from":"muster.toml:7"})") != std::string::npos);
    CHECK(text.find(R"("heartbeat_timeout":{"value":"30s","from":"default"})") != std::string::npos);
    CHECK(text.find(R"("admin_token":{"set":true,)") != std::string::npos);
    CHECK(text.find(R"("regions":{"value":[{"id":0,"name":"USE"},)") != std::string::npos);
    CHECK(text.find("open-sesame") == std::string::npos);
}
