// Hosts in the API (G-12).
#include <optional>
#include <string>
#include <variant>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/hosts.h"
#include "http/api_fixture.h"

using namespace muster;
using namespace muster::testing;
using Kind = HostVerdict::Kind;

namespace {

HostRow host_named(std::string name) {
    HostRow host;
    host.name = std::move(name);
    host.address = "10.0.0.7";
    host.region = RegionId(2);
    host.connected = true;
    host.version = "1.0";
    host.cpu_percent = 12.5F;
    return host;
}

ActionOutcome outcome_of(Kind kind, std::string text = {}) {
    ActionOutcome outcome;
    if (kind != Kind::done) outcome.kind = ActionOutcome::Kind::refused;
    outcome.host.kind = kind;
    outcome.host.text = std::move(text);
    return outcome;
}

}  // namespace

TEST_CASE_FIXTURE(Asking, "G-12: hosts are listed with their processes, page by page") {
    HostRow host = host_named("eu-1");
    ProcessRow process;
    process.name = "arena-1";
    process.run = "arena";
    process.state = ProcessState::backoff;
    process.restarts = 3;
    process.exit_at = UnixMs{99};
    process.exit_signal = 9;
    process.exit_reason = "signal 9 (SIGKILL)";
    process.last_lines = "bye\x1B";
    host.processes.push_back(process);
    hosts.hosts = {host, host_named("eu-2"), host_named("eu-3")};
    CHECK(
        get("/hosts?limit=1").body ==
        R"j({"hosts":[{"name":"eu-1","address":"10.0.0.7","region":2,"connected":true,"draining":false,"version":"1.0",)j"
        R"j("cpu":12.5,"memory":0,"joined_at_ms":null,"lost_at_ms":null,"processes":[{"name":"arena-1","run":"arena",)j"
        R"j("state":"backoff","pid":null,"port":null,"server_id":null,"started_at_ms":null,"restarts":3,)j"
        R"j("last_exit":{"code":null,"signal":9,"at_ms":99,"reason":"signal 9 (SIGKILL)","last_lines":"bye\u001b"}}]}],)j"
        "\"next\":\"eu-1\"}\n");
    clock.advance(10s);
    const std::string rest = get("/hosts?after=eu-1").body;
    CHECK(rest.find("eu-2") != rest.npos);
    CHECK(rest.find("\"name\":\"eu-1\"") == rest.npos);
    CHECK(rest.find("\"next\":null") != rest.npos);
    CHECK(get("/hosts?limit=x").status == 400);
    CHECK(get("/hosts/eu-2").status == 200);
    CHECK(get("/hosts/none").status == 404);
}

TEST_CASE_FIXTURE(Asking, "G-9, S-5: what a process wrote is shown to those who may act, and to no viewer") {
    HostRow host = host_named("eu-1");
    ProcessRow process;
    process.name = "arena-1";
    process.exit_at = UnixMs{99};
    process.last_lines = "MATCH_7_secret";
    host.processes.push_back(process);
    hosts.hosts = {host};
    const auto by_token = [](std::string_view token) -> std::optional<TokenHolder> {
        if (token == "viewer") return TokenHolder{"vera", Role::viewer};
        if (token == "operator") return TokenHolder{"olaf", Role::operate};
        return std::nullopt;
    };
    gate.set_rules({true, true, by_token, false});
    for (const char* path : {"/hosts", "/hosts/eu-1"}) {
        CHECK(get(path).body.find("MATCH_7_secret") == std::string::npos);
        CHECK(get(path).body.find("\"last_lines\":null") != std::string::npos);
        CHECK(get(path, "viewer").body.find("MATCH_7_secret") == std::string::npos);
        CHECK(get(path, "operator").body.find("MATCH_7_secret") != std::string::npos);
        CHECK(get(path, "wrong").status == 401);
        CHECK(get(path).body.find("MATCH_7_secret") == std::string::npos);
    }
}

TEST_CASE_FIXTURE(Asking, "G-12, fault 33: a page of hosts ends when it is large, and the next goes on") {
    for (int i = 10; i < 40; ++i) {
        HostRow host = host_named(fmt::format("eu-{}", i));
        host.processes.resize(100);
        for (ProcessRow& process : host.processes) {
            process.exit_at = UnixMs{99};
            process.last_lines = std::string(1024, '\x01');
        }
        hosts.hosts.push_back(std::move(host));
    }
    const std::string page = get("/hosts").body;
    CHECK(page.size() < 2'000'000);
    CHECK(page.find("\"next\":\"eu-11\"") != std::string::npos);
    CHECK(get("/hosts?after=eu-38").body.find("\"next\":null") != std::string::npos);
}

TEST_CASE_FIXTURE(Asking, "G-3: only drain, restart, scale and logs can be asked of a host") {
    const auto drain = send("POST", "/hosts/eu-1/drain", R"({"draining":true,"reason":"patch day"})");
    const auto restart = send("POST", "/hosts/eu-1/processes/arena-1/restart", "{}");
    const auto scale = send("POST", "/hosts/eu-1/runs/arena", R"({"count":4})");
    const auto log = send("GET", "/hosts/eu-1/processes/arena-1/log?bytes=100", {}, {});
    const auto more = send("GET", "/hosts/eu-1/processes/arena-1/log?from=7", {}, {});
    REQUIRE(game.acts.size() == 5);
    const auto wish = [this](std::size_t i) { return std::get<action::AskHost>(game.acts[i].action); };
    CHECK(wish(0).host == "eu-1");
    CHECK(wish(0).reason == "patch day");
    CHECK(std::get<DrainHost>(wish(0).command).draining);
    CHECK(std::get<RestartProcess>(wish(1).command).process == "arena-1");
    CHECK(std::get<ScaleRun>(wish(2).command).run == "arena");
    CHECK(std::get<ScaleRun>(wish(2).command).count == 4);
    CHECK(std::get<ReadLog>(wish(3).command).bytes == 100);
    CHECK(std::get<ReadLog>(wish(3).command).from == -1);
    CHECK(std::get<ReadLog>(wish(4).command).from == 7);
    for (std::size_t i = 0; i < 3; ++i) api.acted(game.acts[i].number, outcome_of(Kind::done));
    CHECK(drain->body == "{\"name\":\"eu-1\",\"draining\":true}\n");
    CHECK(restart->body == "{\"host\":\"eu-1\",\"process\":\"arena-1\",\"restarting\":true}\n");
    CHECK(scale->body == "{\"host\":\"eu-1\",\"run\":\"arena\",\"count\":4}\n");
    ActionOutcome read = outcome_of(Kind::done, "one\ntwo\n");
    read.host.position = 17;
    api.acted(game.acts[3].number, read);
    CHECK(log->status == 200);
    CHECK(log->body == "one\ntwo\n");
    CHECK(log->header("X-Log-Position") == "17");
}

TEST_CASE_FIXTURE(Asking, "G-12: a host is forgotten by whoever may act, unless it is connected") {
    const auto asked = [this](ActionOutcome::Kind kind) {
        const auto answer = send("POST", "/hosts/eu-1/forget", R"({"reason":"sold"})");
        const auto& wish = std::get<action::ForgetHost>(game.acts.back().action);
        CHECK(wish.host == "eu-1");
        CHECK(wish.reason == "sold");
        ActionOutcome outcome;
        outcome.kind = kind;
        api.acted(game.acts.back().number, outcome);
        return std::pair(answer->status, answer->body);
    };
    CHECK(asked(ActionOutcome::Kind::done) == std::pair(200u, std::string("{\"name\":\"eu-1\",\"forgotten\":true}\n")));
    CHECK(asked(ActionOutcome::Kind::not_found) == std::pair(404u, std::string("{\"error\":\"No such host\"}\n")));
    CHECK(asked(ActionOutcome::Kind::refused).first == 409);
}

TEST_CASE_FIXTURE(Asking, "G-12: what cannot be done on a host is told, and a silent agent has one deadline") {
    const std::pair<Kind, unsigned> all[] = {{Kind::no_host, 404}, {Kind::no_process, 404}, {Kind::away, 503},
                                             {Kind::refused, 409}, {Kind::late, 504},       {Kind::busy, 503}};
    for (const auto& [kind, status] : all) {
        const auto answer = send("POST", "/hosts/eu-1/runs/arena", R"({"count":99})");
        api.acted(game.acts.back().number, outcome_of(kind, "the count of arena is 0 to 4"));
        CHECK(answer->status == status);
        if (kind == Kind::refused) CHECK(answer->body == "{\"error\":\"the count of arena is 0 to 4\"}\n");
        if (kind == Kind::late)
            CHECK(answer->body == "{\"error\":\"The agent did not answer in time; it may still carry this out\"}\n");
    }
    const auto no_run = send("POST", "/hosts/eu-1/runs/nope", R"({"count":1})");
    api.acted(game.acts.back().number, outcome_of(Kind::refused, "No such run on this host"));
    CHECK(no_run->status == 404);
    CHECK(no_run->body == "{\"error\":\"No such run on this host\"}\n");
    const auto late = send("POST", "/hosts/eu-1/drain", R"({"draining":true})");
    // The game loop says that the agent is late, and a process that stood still says so later.
    clock.advance(3 * Hosts::answer_limit);
    thread->turn();
    CHECK(late->status == 0);
    clock.advance(Api::agent_limit);
    thread->turn();
    CHECK(late->status == 503);
}

TEST_CASE_FIXTURE(Asking, "G-12: bad questions about hosts are refused and never reach the game") {
    CHECK(send("POST", "/hosts/eu-1/drain", "{}")->status == 400);
    CHECK(send("POST", "/hosts/eu-1/forget", R"({"force":true})")->status == 400);
    CHECK(send("POST", "/hosts/eu-1/runs/arena", R"({"count":-1})")->status == 400);
    CHECK(send("POST", "/hosts/eu-1/runs/arena", R"({"command":"rm -rf /"})")->status == 400);
    CHECK(send("POST", "/hosts/eu-1/processes/arena-1/restart", R"({"now":true})")->status == 400);
    CHECK(send("POST", "/hosts/eu-1/processes/" + std::string(500, 'x') + "/restart", "{}")->status == 404);
    CHECK(send("GET", "/hosts/eu-1/processes/arena-1/log?bytes=0")->status == 400);
    CHECK(send("GET", "/hosts/eu-1/processes/arena-1/log?bytes=65537")->status == 400);
    CHECK(send("GET", "/hosts/eu-1/processes/arena-1/log?lines=5")->status == 400);
    CHECK(send("POST", "/hosts/eu-1/drain", R"({"draining":true})", {})->status == 415);
    CHECK(game.acts.empty());
}

TEST_CASE_FIXTURE(Asking, "G-9: a log is for who may act, also where everybody may read") {
    gate.set_rules({true, true, [](std::string_view token) -> std::optional<TokenHolder> {
                        if (token == "looks") return TokenHolder{"looker", Role::viewer};
                        if (token == "acts") return TokenHolder{"actor", Role::operate};
                        return std::nullopt;
                    }});
    const auto with = [this](const std::string& token) {
        return send("GET", "/hosts/eu-1/processes/arena-1/log", {}, {{"Authorization", "Bearer " + token}})->status;
    };
    CHECK(send("GET", "/hosts/eu-1/processes/arena-1/log", {}, {})->status == 401);
    CHECK(with("looks") == 403);
    CHECK(game.acts.empty());
    CHECK(with("acts") == 0);
    CHECK(game.acts.size() == 1);
}
