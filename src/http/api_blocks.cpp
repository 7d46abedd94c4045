// Who is let in no more.
#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "base/result.h"
#include "core/block_value.h"
#include "http/api.h"
#include "http/json_body.h"
#include "http/row_json.h"
#include "protocol/text.h"

namespace muster {
namespace {

constexpr std::size_t kind_bytes_max = 16;
constexpr std::size_t value_bytes_max = 256;
constexpr std::int64_t seconds_max = 10LL * 366 * 24 * 3600;

struct Target {
    BlockKind kind = BlockKind::ip;
    std::string value;  // canonical
};

// What is to be blocked, or why it cannot be.
Result<Target, std::string> target_of(std::string_view kind_text, std::string_view value) {
    const auto kind = block_kind_named(kind_text);
    if (!kind) return Failure<std::string>("kind must be ip, account or name");
    auto canonical = block_value(*kind, value);
    if (!canonical) return Failure<std::string>(fmt::format("value must be {}", block_value_rule(*kind)));
    return Target{*kind, std::move(*canonical)};
}

void describe(const BlockRecord& block, FieldSink& out) {
    out.text("kind", to_string(block.kind));
    out.text("value", block.value);
    out.text("reason", block.reason);
    out.text("blocked_by", block.blocked_by);
    out.integer("blocked_at_ms", block.blocked_at.value);
    if (block.until.value == 0) {
        null_field(out, "until_ms");
    } else {
        out.integer("until_ms", block.until.value);
    }
}

HttpResponse answer_of(const Target& target, bool blocked) {
    JsonFields out;
    out.text("kind", to_string(target.kind));
    out.text("value", target.value);
    out.flag("blocked", blocked);
    return json_answer(out.finish() + "\n");
}

}  // namespace

void Api::add_block_routes(Routes& routes) {
    add_read(routes, "/blocks", [this](HttpRequest&& request, HttpResponder&& responder) {
        blocks(std::move(request), std::move(responder));
    });
    add_action(routes, "POST", "/blocks", [this](HttpRequest&& request, HttpResponder&& responder) {
        block(std::move(request), std::move(responder));
    });
    add_action(routes, "POST", "/blocks/remove", [this](HttpRequest&& request, HttpResponder&& responder) {
        unblock(std::move(request), std::move(responder));
    });
}

void Api::blocks(HttpRequest&&, HttpResponder&& responder) {
    JsonFields out;
    out.begin_list("blocks");
    for (const BlockRecord& block : parts_.blocks.all(parts_.clock.wall())) {
        out.begin_object({});
        describe(block, out);
        out.end_object();
    }
    out.end_list();
    null_field(out, "next");
    responder.send(json_answer(out.finish() + "\n"));
}

void Api::block(HttpRequest&& request, HttpResponder&& responder) {
    JsonBody body(request.body);
    const std::string kind = body.optional_text("kind", kind_bytes_max);
    const std::string value = body.optional_text("value", value_bytes_max);
    const auto seconds = body.optional_integer("seconds", 1, seconds_max);
    std::string reason = body.optional_text("reason", ReasonText::size_max);
    if (const auto error = body.error()) return responder.send(http_error(400, *error));
    const auto target = target_of(kind, value);
    if (!target) return responder.send(http_error(400, target.error()));
    const action::Block wish{target->kind, target->value, std::chrono::seconds(seconds.value_or(0)), std::move(reason)};
    actions_.act(wish, request, std::move(responder), action_limit, [target = *target](const ActionOutcome& outcome) {
        if (outcome.kind == ActionOutcome::Kind::too_many)
            return http_error(409, "There are as many blocks as there may be; block a range instead");
        if (outcome.kind != ActionOutcome::Kind::done) return http_error(503, text(outcome.refusal));
        return answer_of(target, true);
    });
}

void Api::unblock(HttpRequest&& request, HttpResponder&& responder) {
    JsonBody body(request.body);
    const std::string kind = body.optional_text("kind", kind_bytes_max);
    const std::string value = body.optional_text("value", value_bytes_max);
    if (const auto error = body.error()) return responder.send(http_error(400, *error));
    const auto target = target_of(kind, value);
    if (!target) return responder.send(http_error(400, target.error()));
    actions_.act(action::Unblock{target->kind, target->value}, request, std::move(responder), action_limit,
                 [target = *target](const ActionOutcome& outcome) {
                     if (outcome.kind == ActionOutcome::Kind::not_found) return http_error(404, "No such block");
                     if (outcome.kind != ActionOutcome::Kind::done) return http_error(503, text(outcome.refusal));
                     return answer_of(target, false);
                 });
}

}  // namespace muster
