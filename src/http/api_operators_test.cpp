#include <optional>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "http/api_fixture.h"
#include "http/operator_token.h"

using namespace muster;
using namespace muster::testing;

namespace {

struct Operating : Asking {
    Operating() {
        gate.set_rules({true, true,
                        [](std::string_view token) -> std::optional<TokenHolder> {
                            if (token == "root") return TokenHolder{"admin", Role::admin};
                            if (token == "operate") return TokenHolder{"alice", Role::operate};
                            return std::nullopt;
                        },
                        false});
    }
    std::shared_ptr<ApiAnswer> post(std::string_view path, std::string body, const std::string& token = "root") {
        return send("POST", path, std::move(body),
                    {{"Content-Type", "application/json"}, {"Authorization", "Bearer " + token}});
    }
    template <class Wish>
    const Wish& last_wish() {
        REQUIRE_FALSE(game.acts.empty());
        return std::get<Wish>(game.acts.back().action);
    }
    void answer(ActionOutcome::Kind kind) {
        ActionOutcome outcome;
        outcome.kind = kind;
        outcome.refusal = Refusal::store_unavailable;
        api.acted(game.acts.back().number, outcome);
    }
};

std::string text_field(const std::string& body, const std::string& name) {
    const std::string key = "\"" + name + "\":\"";
    const std::size_t at = body.find(key);
    if (at == std::string::npos) return "";
    return body.substr(at + key.size(), body.find('"', at + key.size()) - at - key.size());
}

using Kind = ActionOutcome::Kind;

}  // namespace

TEST_CASE_FIXTURE(Operating, "S-5: a new operator's token is in the answer, and the game gets its hash alone") {
    const auto answered = post("/operators", R"({"name":"bob","role":"viewer"})");
    const auto& wish = last_wish<action::AddOperator>();
    CHECK(wish.name == "bob");
    CHECK(wish.role == Role::viewer);
    CHECK(game.acts.back().operator_name == "admin");
    CHECK(answered->status == 0);  // nothing is said before it is durable
    answer(Kind::done);
    CHECK(answered->status == 200);
    const std::string token = text_field(answered->body, "token");
    CHECK(token.starts_with("muster_"));
    CHECK(hash_of_token(token) == wish.token_hash);
}

TEST_CASE_FIXTURE(Operating, "S-5: only an admin says who the operators are") {
    CHECK(post("/operators", R"({"name":"bob","role":"viewer"})", "operate")->status == 403);
    CHECK(post("/operators/remove", R"({"name":"bob"})", "operate")->status == 403);
    CHECK(game.acts.empty());
    CHECK(send("GET", "/operators")->status == 200);
}

TEST_CASE_FIXTURE(Operating, "S-5: what is no name or no role is refused, and so are the config's own names") {
    CHECK(post("/operators", R"({"name":"","role":"viewer"})")->status == 400);
    CHECK(post("/operators", R"({"name":"a b","role":"viewer"})")->status == 400);
    CHECK(post("/operators", R"({"name":"bob","role":"root"})")->status == 400);
    CHECK(post("/operators", R"({"name":"bob"})")->status == 400);
    CHECK(post("/operators", R"({"name":"bob","role":"viewer","token":"x"})")->status == 400);
    CHECK(post("/operators", R"({"name":"admin","role":"viewer"})")->status == 409);
    CHECK(post("/operators", R"({"name":"matchmaker","role":"viewer"})")->status == 409);
    CHECK(game.acts.empty());
}

TEST_CASE_FIXTURE(Operating, "S-5: without an admin token there is nothing that a name would protect") {
    gate.set_rules({false, true, nullptr, false});
    const auto answered = post("/operators", R"({"name":"bob","role":"viewer"})");
    CHECK(answered->status == 409);
    CHECK(answered->body.find("auth.admin_token") != std::string::npos);
}

TEST_CASE_FIXTURE(Operating, "S-5: a name that is taken, one that is not there, and a store that is down are told") {
    const std::string bob = R"({"name":"bob","role":"viewer"})";
    auto answered = post("/operators", bob);
    answer(Kind::taken);
    CHECK(answered->status == 409);
    answered = post("/operators", bob);
    answer(Kind::refused);
    CHECK(answered->status == 503);
    CHECK(answered->body.find("token\":") == std::string::npos);
    answered = post("/operators/remove", R"({"name":"bob"})");
    CHECK(last_wish<action::RemoveOperator>().name == "bob");
    answer(Kind::not_found);
    CHECK(answered->status == 404);
    answered = post("/operators/remove", R"({"name":"bob"})");
    answer(Kind::done);
    CHECK(answered->status == 200);
}

TEST_CASE_FIXTURE(Operating, "S-5: the list has names and roles, and no hash") {
    operators.begin_with({{"bob", Role::viewer, std::string(64, 'a'), "admin (10.0.0.9)", UnixMs{5}}});
    const auto answered = send("GET", "/operators");
    CHECK(answered->status == 200);
    CHECK(text_field(answered->body, "name") == "bob");
    CHECK(text_field(answered->body, "role") == "viewer");
    CHECK(text_field(answered->body, "added_by") == "admin (10.0.0.9)");
    CHECK(answered->body.find("aaaa") == std::string::npos);
}

TEST_CASE_FIXTURE(Operating, "S-5: everybody can ask who they are") {
    const auto me = [this](const std::string& token) {
        std::vector<HttpHeader> headers;
        if (!token.empty()) headers.push_back({"Authorization", "Bearer " + token});
        return *send("GET", "/me", {}, headers);
    };
    CHECK(me("").body.find("\"name\":null") != std::string::npos);
    CHECK(text_field(me("").body, "role") == "viewer");
    CHECK(text_field(me("operate").body, "name") == "alice");
    CHECK(text_field(me("operate").body, "role") == "operator");
    CHECK(text_field(me("operate").body, "address") == "10.1.2.3");
    CHECK(me("wrong").status == 401);
}

TEST_CASE_FIXTURE(Operating, "S-6: a block is an operator's action, with a canonical value") {
    auto answered =
        post("/blocks", R"({"kind":"ip","value":"::ffff:203.0.113.7","seconds":60,"reason":"flood"})", "operate");
    const auto& wish = last_wish<action::Block>();
    CHECK(wish.kind == BlockKind::ip);
    CHECK(wish.value == "203.0.113.7");
    CHECK(wish.length == 60s);
    CHECK(wish.reason == "flood");
    CHECK(game.acts.back().operator_name == "alice");
    answer(Kind::done);
    CHECK(answered->status == 200);
    CHECK(text_field(answered->body, "value") == "203.0.113.7");

    answered = post("/blocks/remove", R"({"kind":"ip","value":"203.0.113.7"})", "operate");
    CHECK(last_wish<action::Unblock>().value == "203.0.113.7");
    answer(Kind::not_found);
    CHECK(answered->status == 404);
}

TEST_CASE_FIXTURE(Operating, "S-6: what cannot be blocked is refused, with what could be") {
    const auto error = [this](std::string body) {
        const auto answered = post("/blocks", std::move(body));
        CHECK(answered->status == 400);
        return text_field(answered->body, "error");
    };
    CHECK(error(R"({"kind":"planet","value":"x"})") == "kind must be ip, account or name");
    CHECK(error(R"({"kind":"ip","value":"203.0.113.7/24"})") ==
          "value must be an IP address or a range such as 203.0.113.0/24");
    CHECK(error(R"({"kind":"account","value":"Bob"})") == "value must be an account's id");
    CHECK(error(R"({"kind":"name","value":""})") == "value must be a player's name");
    for (const char* name : {R"(a\u0000b)", R"(Ann\n)", R"(\tAnn)", R"(A\u007F)", R"(A\u0085)"})
        CHECK(error(fmt::format(R"({{"kind":"name","value":"{}"}})", name)) ==
              "No player can have that name: it has a control character in it");
    error(R"({"kind":"ip","value":"203.0.113.7","seconds":0})");
    error(R"({"kind":"ip"})");
    CHECK(game.acts.empty());
}

TEST_CASE_FIXTURE(Operating, "O-2: blocks and operators are paged, and a query that is not known is refused") {
    blocks.begin_with({{BlockKind::name, "Bob:by", "", "alice", UnixMs{1}, UnixMs{0}},
                       {BlockKind::ip, "203.0.113.7", "", "alice", UnixMs{1}, UnixMs{0}},
                       {BlockKind::ip, "2001:db8::/32", "", "alice", UnixMs{1}, UnixMs{0}}});
    const auto values = [this](const std::string& path) {
        const auto answered = send("GET", path);
        CHECK(answered->status == 200);
        return answered->body;
    };
    const std::string first = values("/blocks?limit=2");
    CHECK(first.find("2001:db8::/32") < first.find("203.0.113.7"));
    CHECK(first.find("Bob") == std::string::npos);
    CHECK(text_field(first, "next") == "ip:203.0.113.7");
    const std::string second = values("/blocks?limit=2&after=ip:203.0.113.7");
    CHECK(text_field(second, "value") == "Bob:by");
    CHECK(second.find("203.0.113.7") == std::string::npos);
    CHECK(second.find("\"next\":null") != std::string::npos);
    CHECK(values("/blocks?after=name%3ABob%3Aby").find("\"blocks\":[]") != std::string::npos);

    operators.begin_with({{"ann", Role::viewer, std::string(64, 'a'), "admin", UnixMs{5}},
                          {"bob", Role::viewer, std::string(64, 'b'), "admin", UnixMs{5}}});
    CHECK(text_field(values("/operators?limit=1"), "next") == "ann");
    CHECK(text_field(values("/operators?limit=1&after=ann"), "name") == "bob");
    CHECK(values("/operators?limit=1&after=ann").find("\"next\":null") != std::string::npos);

    for (const char* path : {"/blocks?limit=0", "/blocks?limit=1001", "/blocks?x=1", "/blocks?after=planet:x",
                             "/blocks?after=203.0.113.7", "/operators?limit=x", "/operators?role=viewer"}) {
        INFO(path);
        CHECK(send("GET", path)->status == 400);
    }
    CHECK(get("/regions").status == 200);
    CHECK(get("/regions?limit=10").status == 400);
    CHECK(text_field(get("/regions?x=1").body, "error") == "This takes no query");
}

TEST_CASE_FIXTURE(Operating, "S-6: the list has what is blocked now, and not what has ended") {
    const std::int64_t now = clock.wall().value;
    blocks.begin_with({{BlockKind::ip, "203.0.113.7", "flood", "alice (10.0.0.9)", UnixMs{now - 10}, UnixMs{now + 1}},
                       {BlockKind::name, "Bob", "", "alice (10.0.0.9)", UnixMs{now - 10}, UnixMs{0}}});
    std::string body = send("GET", "/blocks")->body;
    CHECK(body.find("203.0.113.7") != std::string::npos);
    CHECK(body.find("\"until_ms\":null") != std::string::npos);
    clock.advance(1ms);
    body = send("GET", "/blocks")->body;
    CHECK(body.find("203.0.113.7") == std::string::npos);
    blocks.note(BlockRemoved{BlockKind::name, "Bob"});
    CHECK(send("GET", "/blocks")->body.find("Bob") == std::string::npos);
}
