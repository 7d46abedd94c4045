// Operators with names, and who somebody is.
#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "core/operator_name.h"
#include "http/api.h"
#include "http/json_body.h"
#include "http/operator_token.h"
#include "http/page_query.h"
#include "http/row_json.h"

namespace muster {
namespace {

constexpr std::size_t role_bytes_max = 16;

}  // namespace

void Api::add_operator_routes(Routes& routes) {
    routes.add("GET", "/api/v1/me", [this](HttpRequest&& request, HttpResponder&& responder) {
        me(std::move(request), std::move(responder));
    });
    add_read(routes, "/operators", [this](HttpRequest&& request, HttpResponder&& responder) {
        operators(std::move(request), std::move(responder));
    });
    add_action(
        routes, "POST", "/operators",
        [this](HttpRequest&& request, HttpResponder&& responder) {
            add_operator(std::move(request), std::move(responder));
        },
        Right::administer);
    add_action(
        routes, "POST", "/operators/remove",
        [this](HttpRequest&& request, HttpResponder&& responder) {
            remove_operator(std::move(request), std::move(responder));
        },
        Right::administer);
}

// Who asks, and what its token allows: the page shows it, and no button that would be refused.
void Api::me(HttpRequest&& request, HttpResponder&& responder) {
    if (auto refusal = parts_.gate.refusal_of_introduction(request)) return responder.send(std::move(*refusal));
    JsonFields out;
    if (request.operator_name.empty()) {
        null_field(out, "name");
    } else {
        out.text("name", request.operator_name);
    }
    out.text("role", to_string(request.role));
    out.text("address", request.peer.to_string());
    out.flag("token_needed", parts_.gate.token_is_set());
    responder.send(json_answer(out.finish() + "\n"));
}

void Api::operators(HttpRequest&& request, HttpResponder&& responder) {
    QueryReader query(request);
    const std::size_t limit = query.limit();
    const std::string after = query.text("after");
    if (const auto error = query.error()) return responder.send(http_error(400, *error));
    JsonFields out;
    out.begin_list("operators");
    std::size_t told = 0;
    std::string last;
    bool more = false;
    for (const OperatorRecord& known : parts_.operators.all()) {
        if (known.name <= after) continue;
        more = told == limit;
        if (more) break;
        last = known.name;
        ++told;
        out.begin_object({});
        out.text("name", known.name);
        out.text("role", to_string(known.role));
        out.text("added_by", known.added_by);
        out.integer("added_at_ms", known.added_at.value);
        out.end_object();
    }
    out.end_list();
    if (more) {
        out.text("next", last);
    } else {
        null_field(out, "next");
    }
    responder.send(json_answer(out.finish() + "\n"));
}

void Api::add_operator(HttpRequest&& request, HttpResponder&& responder) {
    JsonBody body(request.body);
    const std::string name = body.optional_text("name", operator_name_bytes_max);
    const std::string role_text = body.optional_text("role", role_bytes_max);
    if (const auto error = body.error()) return responder.send(http_error(400, *error));
    const auto role = role_named(role_text);
    if (!is_operator_name(name))
        return responder.send(http_error(400, "name must be 1 to 64 letters, digits, '.', '_', '@' or '-'"));
    if (!role) return responder.send(http_error(400, "role must be viewer, matchmaker, operator or admin"));
    if (name == admin_name || name == http_matchmaker_name || name == unnamed_matchmaker)
        return responder.send(
            http_error(409, fmt::format("{} is a name that Muster uses itself; take another one", name)));
    if (!parts_.gate.token_is_set())
        return responder.send(http_error(
            409, "Set auth.admin_token first: without it everybody on this machine may do everything anyway"));

    // It is in this answer and nowhere else.
    std::string token = make_operator_token(parts_.entropy);
    const action::AddOperator wish{name, *role, hash_of_token(token)};
    actions_.act(wish, request, std::move(responder), action_limit,
                 [name, role = *role, token = std::move(token)](const ActionOutcome& outcome) {
                     if (outcome.kind == ActionOutcome::Kind::taken)
                         return http_error(409, "An operator of this name exists; remove it first");
                     if (outcome.kind == ActionOutcome::Kind::too_many)
                         return http_error(409, "There are as many operators as there may be");
                     if (outcome.kind != ActionOutcome::Kind::done) return http_error(503, text(outcome.refusal));
                     JsonFields out;
                     out.text("name", name);
                     out.text("role", to_string(role));
                     out.text("token", token);
                     return json_answer(out.finish() + "\n");
                 });
}

void Api::remove_operator(HttpRequest&& request, HttpResponder&& responder) {
    JsonBody body(request.body);
    const std::string name = body.optional_text("name", operator_name_bytes_max);
    if (const auto error = body.error()) return responder.send(http_error(400, *error));
    actions_.act(action::RemoveOperator{name}, request, std::move(responder), action_limit,
                 [name](const ActionOutcome& outcome) {
                     if (outcome.kind == ActionOutcome::Kind::not_found) return http_error(404, "No such operator");
                     if (outcome.kind != ActionOutcome::Kind::done) return http_error(503, text(outcome.refusal));
                     JsonFields out;
                     out.text("name", name);
                     out.flag("removed", true);
                     return json_answer(out.finish() + "\n");
                 });
}

}  // namespace muster
