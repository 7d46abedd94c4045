// Seeds for the targets that read texts: configs, HTTP requests, player credentials.
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "config/config_keys.h"
#include "config/config_samples.h"
#include "daemon/player_credential.h"
#include "fuzz/credential_keys.h"
#include "fuzz/seed_folder.h"

namespace muster::fuzz {
namespace {

std::string with_size(std::string_view text) {
    return static_cast<char>(text.size()) + std::string(text);
}

template <class Number>
std::string number(Number value) {
    std::string bytes;
    for (std::size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>(value >> 8 * i);
    return bytes;
}

// Each key at the edges of what it may be, in a file and in the environment.
int write_config(const std::filesystem::path& all) {
    SeedFolder folder(all, "config");
    const std::string no_variables(1, '\0');
    const auto keys = config_keys();
    for (std::size_t index = 0; index < keys.size(); ++index) {
        const ConfigKey& key = keys[index];
        const ConfigSamples samples = samples_of(key);
        int count = 0;
        const auto write = [&](const std::string& value) {
            folder.write(fmt::format("{}-file-{}", key.full_name(), count),
                         no_variables + fmt::format("[{}]\n{} = {}\n", key.table, key.name, value));
            const std::string variable =
                static_cast<char>(index) + with_size(as_environment_text(value).substr(0, 255));
            folder.write(fmt::format("{}-variable-{}", key.full_name(), count++), '\1' + variable);
        };
        for (const std::string& value : samples.good) write(value);
        for (const std::string& value : samples.bad) write(value);
    }
    folder.write("unknown", no_variables + "[fleet]\nheartbeat_timout = \"3s\"\n[flet]\n");
    folder.write("own-name", "\1\xff" + with_size("FLEET_REGION") + with_size("x"));
    return folder.count();
}

std::string request(std::string_view line, std::string_view headers = "", std::string_view body = "") {
    const std::string length = body.empty() ? "" : fmt::format("Content-Length: {}\r\n", body.size());
    return fmt::format("{} HTTP/1.1\r\nHost: localhost\r\n{}{}\r\n{}", line, headers, length, body);
}

int write_http(const std::filesystem::path& all) {
    SeedFolder folder(all, "http");
    constexpr std::string_view json = "Content-Type: application/json\r\n";
    const std::string_view reads[] = {"/",
                                      "/healthz",
                                      "/readyz",
                                      "/metrics",
                                      "/openapi.json",
                                      "/api/v1/servers?region=0&status=available&limit=2&after=1",
                                      "/api/v1/servers/1",
                                      "/api/v1/matches?state=live&server=1&region=0",
                                      "/api/v1/matches/1",
                                      "/api/v1/players?limit=1",
                                      "/api/v1/players/1",
                                      "/api/v1/matchmakers?after=%41",
                                      "/api/v1/regions",
                                      "/api/v1/clock",
                                      "/api/v1/overview",
                                      "/api/v1/events?type=match.,server.&since_ms=1&until_ms=2&after=1"};
    const std::pair<std::string_view, std::string_view> actions[] = {
        {"POST /api/v1/servers/1/drain", R"({"draining":true,"reason":"r"})"},
        {"POST /api/v1/servers/1/remove", "{}"},
        {"POST /api/v1/servers/1/abort", R"({"reason":"\u00e9"})"},
        {"POST /api/v1/regions/0/drain", R"({"draining":false})"},
        {"POST /api/v1/matches/1/abort", ""},
        {"POST /api/v1/players/1/kick", R"({"reason":""})"},
        {"PUT /api/v1/clock", R"({"day":1,"hour":2,"minute":3,"speed":60})"},
        {"POST /api/v1/matches",
         R"({"lobby_id":1,"region":0,"player_count":4,"game_type":6,"game_mode":0,"average_rating":1650})"}};

    int count = 0;
    const auto write = [&](char asker, const std::string& bytes) {
        folder.write(fmt::format("request-{}", count++), asker + bytes);
    };
    for (const std::string_view path : reads) {
        write(0, request(fmt::format("GET {}", path)));
        write(16, request(fmt::format("GET {}", path), "Authorization: Bearer secret\r\n"));
        write(64, request(fmt::format("HEAD {}", path)));
    }
    for (const auto& [line, body] : actions) {
        write(0, request(line, json, body));
        write(7, request(line, json, body) + request("GET /healthz"));
        write(32, request(line, json, body));
        write(16, request(line, "Authorization: Bearer wrong\r\nContent-Type: application/json\r\n", body));
    }
    write(0, request("GET /api/v1/events", "Accept: text/event-stream\r\nLast-Event-ID: 3\r\n"));
    write(0,
          request("PUT /api/v1/clock", "Expect: 100-continue\r\nContent-Type: application/json\r\n", R"({"speed":1})"));
    write(0,
          "PUT /api/v1/clock HTTP/1.1\r\nHost: [::1]:80\r\nTransfer-Encoding: chunked\r\nContent-Type: "
          "application/json; charset=utf-8\r\n\r\nb\r\n{\"speed\":1}\r\n0\r\n\r\n");
    // A body that is the last chunk alone, byte by byte.
    write(4,
          "PUT /api/v1/clock HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Type: "
          "application/json\r\n\r\n0\r\n\r\n");
    write(0, "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\nDELETE /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    return folder.count();
}

int write_credentials(const std::filesystem::path& all) {
    SeedFolder folder(all, "credentials");
    constexpr std::int64_t now = 1'700'000'000'000;
    const std::int64_t expiries[] = {now / 1'000 + 60, now / 1'000, 0, INT64_MAX};
    int count = 0;
    for (const std::string_view name : {"ann", "", "\xc3\xab\x1b%s", "a.b"}) {
        for (const std::int64_t expires : expiries) {
            for (char key = 0; key < 2; ++key) {
                const std::string credential = make_player_credential(
                    credential_keys().all()[static_cast<std::size_t>(key)], name, AccountId(7), expires);
                folder.write(fmt::format("given-{}", count), '\0' + number(now) + with_size(name) + credential);
                folder.write(fmt::format("signed-{}", count++),
                             '\1' + number(now) + with_size(name) + number(std::int32_t{7}) + number(expires) + key);
            }
        }
    }
    return folder.count();
}

// What game processes send to the SDK servers: each kind of body once, and a short life of each SDK.
int write_sdk_bodies(const std::filesystem::path& all) {
    SeedFolder folder(all, "sdk_bodies");
    const std::string_view bodies[] = {"{}",
                                       R"({"key":"mode","value":"ctf"})",
                                       R"({"seconds":"30"})",
                                       R"({"playerID":"ann"})",
                                       R"({"count":"2"})",
                                       R"({"countDiff":"-1","capacity":7})",
                                       R"({"capacity":"9","values":["a","b"]})",
                                       R"({"value":"x"})"};
    const std::string_view beats[] = {
        R"({"CurrentGameState":"StandingBy","CurrentGameHealth":"Healthy","CurrentPlayers":null})",
        R"({"currentGameState":"Active","currentGameHealth":"","currentPlayers":[{"playerId":"a"}]})",
        R"({"CurrentGameState":"Terminated"})"};
    std::string life;
    int count = 0;
    for (char method = 0; method < 4; ++method)
        for (char path = 0; path < 19; ++path) {
            const std::string one = std::string{method, path} + with_size(bodies[count % 8]);
            folder.write(std::to_string(count++), one);
            life += one;
        }
    for (const std::string_view beat : beats) life += std::string{'\xf0', 1} + with_size(beat);
    folder.write("life", life);
    return folder.count();
}

// fuzz_tls makes the handshake itself; a seed says only how it is cut and where it is changed.
int write_tls(const std::filesystem::path& all) {
    SeedFolder folder(all, "tls");
    folder.write("untouched", std::string("\xff\x00", 2));
    folder.write("byte by byte", std::string("\x00\x00", 2));
    folder.write("a byte changed", std::string("\xff\x00\x01\x30\x55\x00", 6));
    folder.write("a byte of the answer changed", std::string("\xff\x00\x00\x01\x60\x55\x00", 7));
    folder.write("a record of a handshake", std::string("\xff\x01\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", 12));
    folder.write("no TLS", "\xff\x01GET / HTTP/1.1\r\n\r\n");
    // From here on the records after it: the suite, and then one step after the other.
    folder.write("data and changes of keys",
                 std::string("\x01\x02\x00\x00\x05hello\x07\x01\x01\x00\x01y\x00\x01\x00\x00\x01z\x00", 24));
    folder.write("an alert", std::string("\xff\x02\x01\x00\x01x\x00\x02\x15\x02\x01\x00\x00", 13));
    folder.write("a handshake message", std::string("\xff\x02\x02\x02\x16\x05\x18\x00\x00\x01\x00\x00", 12));
    folder.write("a record changed", std::string("\x08\x02\x00\x03\x03"
                                                 "abc\x01\x07\x55\x00",
                                                 12));
    return folder.count();
}

}  // namespace

int write_text_seeds(const std::filesystem::path& all) {
    return write_config(all) + write_http(all) + write_credentials(all) + write_sdk_bodies(all) + write_tls(all);
}

}  // namespace muster::fuzz
