// Who is let in no more.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "base/result.h"
#include "core/block_value.h"
#include "core/player_name.h"
#include "http/api.h"
#include "http/json_body.h"
#include "http/page_query.h"
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

// Where a page of blocks ended, as "next" tells it.
std::string place_of(const BlockRecord& block) {
    return fmt::format("{}:{}", to_string(block.kind), block.value);
}

// What `place_of` told; none for another text.
std::optional<std::pair<BlockKind, std::string>> place_named(std::string_view text) {
    const std::size_t colon = text.find(':');
    const auto kind = block_kind_named(text.substr(0, colon));
    if (!kind || colon == std::string_view::npos) return std::nullopt;
    return std::pair(*kind, std::string(text.substr(colon + 1)));
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

void Api::blocks(HttpRequest&& request, HttpResponder&& responder) {
    QueryReader query(request);
    const std::size_t limit = query.limit();
    const std::string after_text = query.text("after");
    if (const auto error = query.error()) return responder.send(http_error(400, *error));
    const auto after = place_named(after_text);
    if (!after && !after_text.empty())
        return responder.send(http_error(400, "after must be what \"next\" of the page before was"));
    JsonFields out;
    out.begin_list("blocks");
    std::size_t told = 0;
    std::string last;
    bool more = false;
    for (const BlockRecord& block : parts_.blocks.all(parts_.clock.wall())) {
        if (after && std::pair(block.kind, block.value) <= *after) continue;
        more = told == limit;
        if (more) break;
        out.begin_object({});
        describe(block, out);
        out.end_object();
        last = place_of(block);
        ++told;
    }
    out.end_list();
    if (more) {
        out.text("next", last);
    } else {
        null_field(out, "next");
    }
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
    // One that is blocked already may be any text, and can be taken back.
    if (target->kind == BlockKind::name && !is_player_name(target->value))
        return responder.send(http_error(400, "No player can have that name: it has a control character in it"));
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
