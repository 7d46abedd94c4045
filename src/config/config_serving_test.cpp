#include "config/config_serving.h"

#include <string>

#include <doctest/doctest.h>

using namespace muster;

namespace {

const ListenAddress everywhere = ListenAddress::parse("0.0.0.0:0").value();

Config with_all_secrets() {
    Config config;
    config.auth.server_token = Secret("server token");
    config.auth.matchmaker_token = Secret("matchmaker token");
    config.auth.admin_token = Secret("admin token");
    config.auth.player_key = Secret("player key");
    config.tls.insecure = true;
    return config;
}

}  // namespace

TEST_CASE("X-2: on loopback nothing is needed") {
    Config config;
    CHECK(problems_of_serving(config).empty());
    config.listen.http = config.listen.servers = config.listen.matchmakers = config.listen.players =
        ListenAddress::parse("[::1]:0").value();
    CHECK(problems_of_serving(config).empty());
    config.players.credentials = Credentials::open;
    CHECK(problems_of_serving(config).empty());
}

TEST_CASE("X-2: each port off loopback needs its own secret, and the refusal names the key") {
    struct Door {
        ListenAddress Config::Listen::* address;
        Secrets Config::Auth::* secret;
        std::string key;
    };
    const Door doors[] = {
        {&Config::Listen::servers, &Config::Auth::server_token, "auth.server_token is not set, but listen.servers = "},
        {&Config::Listen::matchmakers, &Config::Auth::matchmaker_token,
         "auth.matchmaker_token is not set, but listen.matchmakers = "},
        {&Config::Listen::players, &Config::Auth::player_key, "auth.player_key is not set, but listen.players = "},
        {&Config::Listen::http, &Config::Auth::admin_token, "auth.admin_token is not set, but listen.http = "},
    };
    for (const Door& door : doors) {
        Config config = with_all_secrets();
        config.listen.*door.address = everywhere;
        CHECK(problems_of_serving(config).empty());
        config.auth.*door.secret = Secrets();
        const auto problems = problems_of_serving(config);
        REQUIRE(problems.size() == 1);
        CHECK(problems[0].starts_with(door.key));
    }
    Config config;
    config.tls.insecure = true;
    config.listen.servers = everywhere;
    CHECK(problems_of_serving(config)[0] ==
          "auth.server_token is not set, but listen.servers = 0.0.0.0:0 is not on loopback; set "
          "MUSTER_AUTH_SERVER_TOKEN or auth.server_token_file");
}

TEST_CASE("X-2: open credentials off loopback are refused, with a player_key too") {
    Config config = with_all_secrets();
    config.listen.players = everywhere;
    config.players.credentials = Credentials::open;
    REQUIRE(problems_of_serving(config).size() == 1);
    CHECK(problems_of_serving(config)[0].starts_with("players.credentials = \"open\""));
    config.auth.player_key = Secrets();
    CHECK(problems_of_serving(config).size() == 1);
}

TEST_CASE("X-2: without a player_key credentials act as open, with a warning") {
    Config config;
    CHECK(effective_credentials(config) == Credentials::open);
    CHECK(warnings_of_serving(config).size() == 1);

    config.auth.player_key = Secret("player key");
    CHECK(effective_credentials(config) == Credentials::with_signature);
    CHECK(warnings_of_serving(config).empty());

    config.players.credentials = Credentials::open;
    CHECK(effective_credentials(config) == Credentials::open);
    CHECK(warnings_of_serving(config).empty());
}

TEST_CASE("S-1: off loopback a port without TLS needs tls.insecure, and the refusal names the key and the port") {
    for (auto address :
         {&Config::Listen::servers, &Config::Listen::matchmakers, &Config::Listen::players, &Config::Listen::http}) {
        Config config = with_all_secrets();
        config.listen.*address = everywhere;
        CHECK(problems_of_serving(config).empty());
        config.tls.insecure = false;
        REQUIRE(problems_of_serving(config).size() == 1);
        CHECK(problems_of_serving(config)[0].starts_with("tls.insecure is false, but listen."));
        config.tls.ports = {"servers", "matchmakers", "players", "http"};
        config.tls.certificate_file = config.tls.key_file = "x";
        CHECK(problems_of_serving(config).empty());
    }
}

TEST_CASE("S-1: ports with TLS need a certificate and its key") {
    Config config;
    config.tls.ports = {"servers"};
    REQUIRE(problems_of_serving(config).size() == 2);
    CHECK(problems_of_serving(config)[0].starts_with("tls.certificate_file is not set"));
    config.tls.certificate_file = "x";
    REQUIRE(problems_of_serving(config).size() == 1);
    CHECK(problems_of_serving(config)[0].starts_with("tls.key_file is not set"));
}

TEST_CASE("S-1: a port's own certificate and its key belong together") {
    Config config;
    config.tls.ports = {"servers", "http"};
    config.tls.certificate_file = config.tls.key_file = "x";
    config.tls.http.certificate_file = "y";
    REQUIRE(problems_of_serving(config).size() == 1);
    CHECK(problems_of_serving(config)[0] == "tls.http_certificate_file and tls.http_key_file belong together");
    config.tls.http.key_file = "y";
    CHECK(problems_of_serving(config).empty());
}

TEST_CASE("S-2: where peers have certificates no shared token is needed, but for players and operators") {
    Config config;
    config.tls.ports = {"servers", "matchmakers", "players", "http"};
    config.tls.certificate_file = config.tls.key_file = config.tls.client_ca_file = "x";
    config.listen.servers = config.listen.matchmakers = everywhere;
    CHECK(problems_of_serving(config).empty());
    config.listen.players = config.listen.http = everywhere;
    CHECK(problems_of_serving(config).size() == 2);
    config.tls.ports = {"servers"};
    config.tls.insecure = true;
    REQUIRE(problems_of_serving(config).size() == 3);
    CHECK(problems_of_serving(config)[0].starts_with("auth.matchmaker_token is not set"));
}

TEST_CASE("N-1: a node port beyond loopback needs TLS, a secret or certificates, and an address that others reach") {
    Config config;
    config.cluster.listen = everywhere;
    CHECK(problems_of_serving(config).empty());  // there is no node port without a shared store
    config.store.url = "postgresql://db/muster";
    REQUIRE(problems_of_serving(config).size() == 3);
    CHECK(problems_of_serving(config)[0].starts_with("tls.insecure is false, but cluster.listen"));
    CHECK(problems_of_serving(config)[1].starts_with("auth.node_token is not set"));
    CHECK(problems_of_serving(config)[2].starts_with("cluster.advertise is not set"));
    config.cluster.advertise = "muster-1:11030";
    config.auth.node_token = Secrets(Secret("0123456789abcdef"));
    REQUIRE(problems_of_serving(config).size() == 1);
    config.tls.ports = {"nodes"};
    config.tls.certificate_file = config.tls.key_file = "x";
    REQUIRE(problems_of_serving(config).size() == 1);
    CHECK(problems_of_serving(config)[0].starts_with("tls.client_ca_file is not set"));
    config.tls.client_ca_file = "x";
    CHECK(problems_of_serving(config).empty());
    config.auth.node_token = {};
    CHECK(problems_of_serving(config).empty());
}
