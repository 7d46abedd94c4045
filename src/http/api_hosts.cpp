// Hosts and their processes: what there is, and what may be asked of them.
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/json_fields.h"
#include "http/api.h"
#include "http/json_body.h"
#include "http/page_query.h"
#include "http/row_json.h"
#include "protocol/agent_reasons.h"

namespace muster {
namespace {

constexpr std::int64_t log_bytes_usual = 16 * 1024;
constexpr std::int64_t log_bytes_max = 64 * 1024;
constexpr std::int32_t count_max = 1'000'000;  // what is too many is for the agent to say
constexpr const char* log_position_header = "X-Log-Position";
// A page of hosts ends with the one that makes it larger than this.
constexpr std::size_t page_bytes_max = 1024 * 1024;

bool may_read_output(const HttpRequest& request) {
    return may(request.role, Right::operate);
}

HttpResponse hosts_answer(const HttpRequest& request, const HostsView& view) {
    QueryReader query(request);
    const std::size_t limit = query.limit();
    const std::string after = query.text("after");
    if (const auto error = query.error()) return http_error(400, *error);
    JsonFields out;
    out.begin_list("hosts");
    std::size_t told = 0;
    const HostRow* last = nullptr;
    bool more = false;
    for (const HostRow& row : view.hosts) {
        if (row.name <= after) continue;
        if (told == limit || out.size() > page_bytes_max) {
            more = true;
            break;
        }
        out.begin_object({});
        describe(row, may_read_output(request), out);
        out.end_object();
        last = &row;
        ++told;
    }
    out.end_list();
    if (more) out.text("next", last->name);
    if (!more) null_field(out, "next");
    return json_answer(out.finish() + "\n");
}

HttpResponse host_answer(const HttpRequest& request, const HostsView& view) {
    const std::string_view name = request.path_value("name");
    for (const HostRow& row : view.hosts) {
        if (row.name != name) continue;
        JsonFields out;
        describe(row, may_read_output(request), out);
        return json_answer(out.finish() + "\n");
    }
    return http_error(404, "No such host");
}

// What is told of a question that was not done; none when it was.
std::optional<HttpResponse> failure_of(const HostVerdict& verdict) {
    switch (verdict.kind) {
        case HostVerdict::Kind::done:
            return std::nullopt;
        case HostVerdict::Kind::no_host:
            return http_error(404, "No such host");
        case HostVerdict::Kind::no_process:
            return http_error(404, "No such process on this host");
        case HostVerdict::Kind::away:
            return http_error(503, "The host is not connected");
        case HostVerdict::Kind::refused:
            return http_error(verdict.text == no_such_run ? 404 : 409, verdict.text);
        case HostVerdict::Kind::late:
            // It has been sent: nobody can take it back.
            return http_error(504, "The agent did not answer in time; it may still carry this out");
        case HostVerdict::Kind::busy:
            return http_error(503, "Too many questions wait for this agent");
    }
    return std::nullopt;
}

bool fits(std::string_view name, std::size_t bytes_max) {
    return !name.empty() && name.size() <= bytes_max;
}

}  // namespace

void Api::add_host_routes(Routes& routes) {
    add_host_read(routes, "/hosts", hosts_answer);
    add_host_read(routes, "/hosts/{name}", host_answer);
    add_action(routes, "POST", "/hosts/{name}/drain", [this](HttpRequest&& request, HttpResponder&& responder) {
        drain_host(std::move(request), std::move(responder));
    });
    add_action(routes, "POST", "/hosts/{name}/forget", [this](HttpRequest&& request, HttpResponder&& responder) {
        forget_host(std::move(request), std::move(responder));
    });
    add_action(routes, "POST", "/hosts/{name}/processes/{process}/restart",
               [this](HttpRequest&& request, HttpResponder&& responder) {
                   restart_process(std::move(request), std::move(responder));
               });
    add_action(routes, "POST", "/hosts/{name}/runs/{run}", [this](HttpRequest&& request, HttpResponder&& responder) {
        scale_run(std::move(request), std::move(responder));
    });
    // What a process writes may be secret, a match's token for one: only who may act reads it.
    routes.add("GET", "/api/v1/hosts/{name}/processes/{process}/log",
               [this](HttpRequest&& request, HttpResponder&& responder) {
                   if (auto refusal = parts_.gate.refusal_of_secret_read(request, Right::operate))
                       return responder.send(std::move(*refusal));
                   read_log(std::move(request), std::move(responder));
               });
}

// Anybody who may read; but what processes have written is for those who may act, so the token counts here too where
// reading needs none.
void Api::add_host_read(Routes& routes, const std::string& path,
                        HttpResponse (*render)(const HttpRequest& request, const HostsView& view)) {
    routes.add("GET", "/api/v1" + path, [this, render](HttpRequest&& request, HttpResponder&& responder) {
        if (auto refusal = parts_.gate.refusal_of_introduction(request)) return responder.send(std::move(*refusal));
        const char* for_whom = may_read_output(request) ? " with output" : "";
        read_view(hosts_, request.path + "?" + request.query + for_whom, render, std::move(request),
                  std::move(responder));
    });
}

void Api::drain_host(HttpRequest&& request, HttpResponder&& responder) {
    std::string host(request.path_value("name"));
    JsonBody body(request.body);
    const bool draining = body.flag("draining");
    std::string reason = body.optional_text("reason", ReasonText::size_max);
    if (const auto error = body.error()) return responder.send(http_error(400, *error));
    actions_.act(action::AskHost{host, DrainHost{0, draining}, std::move(reason)}, request, std::move(responder),
                 agent_limit, [host, draining](const ActionOutcome& outcome) {
                     if (auto failure = failure_of(outcome.host)) return std::move(*failure);
                     JsonFields out;
                     out.text("name", host);
                     out.flag("draining", draining);
                     return json_answer(out.finish() + "\n");
                 });
}

void Api::forget_host(HttpRequest&& request, HttpResponder&& responder) {
    std::string host(request.path_value("name"));
    JsonBody body(request.body);
    std::string reason = body.optional_text("reason", ReasonText::size_max);
    if (const auto error = body.error()) return responder.send(http_error(400, *error));
    actions_.act(action::ForgetHost{host, std::move(reason)}, request, std::move(responder), action_limit,
                 [host](const ActionOutcome& outcome) {
                     if (outcome.kind == ActionOutcome::Kind::not_found) return http_error(404, "No such host");
                     if (outcome.kind == ActionOutcome::Kind::refused)
                         return http_error(409, "The host is connected: stop its agent first");
                     JsonFields out;
                     out.text("name", host);
                     out.flag("forgotten", true);
                     return json_answer(out.finish() + "\n");
                 });
}

void Api::restart_process(HttpRequest&& request, HttpResponder&& responder) {
    std::string host(request.path_value("name"));
    std::string process(request.path_value("process"));
    JsonBody body(request.body);
    std::string reason = body.optional_text("reason", ReasonText::size_max);
    if (const auto error = body.error()) return responder.send(http_error(400, *error));
    if (!fits(process, ProcessNameText::size_max))
        return responder.send(http_error(404, "No such process on this host"));
    actions_.act(action::AskHost{host, RestartProcess{0, ProcessNameText(process)}, std::move(reason)}, request,
                 std::move(responder), agent_limit, [host, process](const ActionOutcome& outcome) {
                     if (auto failure = failure_of(outcome.host)) return std::move(*failure);
                     JsonFields out;
                     out.text("host", host);
                     out.text("process", process);
                     out.flag("restarting", true);
                     return json_answer(out.finish() + "\n");
                 });
}

void Api::scale_run(HttpRequest&& request, HttpResponder&& responder) {
    std::string host(request.path_value("name"));
    std::string run(request.path_value("run"));
    JsonBody body(request.body);
    const auto count = static_cast<std::int32_t>(body.integer("count", 0, count_max));
    std::string reason = body.optional_text("reason", ReasonText::size_max);
    if (const auto error = body.error()) return responder.send(http_error(400, *error));
    if (!fits(run, RunNameText::size_max)) return responder.send(http_error(404, std::string(no_such_run)));
    actions_.act(action::AskHost{host, ScaleRun{0, RunNameText(run), count}, std::move(reason)}, request,
                 std::move(responder), agent_limit, [host, run, count](const ActionOutcome& outcome) {
                     if (auto failure = failure_of(outcome.host)) return std::move(*failure);
                     JsonFields out;
                     out.text("host", host);
                     out.text("run", run);
                     out.integer("count", count);
                     return json_answer(out.finish() + "\n");
                 });
}

void Api::read_log(HttpRequest&& request, HttpResponder&& responder) {
    std::string host(request.path_value("name"));
    std::string process(request.path_value("process"));
    QueryReader query(request);
    const std::int64_t bytes = query.number("bytes", 1).value_or(log_bytes_usual);
    const std::int64_t from = query.number("from", 0).value_or(-1);
    if (const auto error = query.error()) return responder.send(http_error(400, *error));
    if (bytes > log_bytes_max)
        return responder.send(http_error(400, fmt::format("bytes must be 1 to {}", log_bytes_max)));
    if (!fits(process, ProcessNameText::size_max))
        return responder.send(http_error(404, "No such process on this host"));
    const ReadLog wish{0, ProcessNameText(process), from, static_cast<std::int32_t>(bytes)};
    actions_.act(action::AskHost{std::move(host), wish}, request, std::move(responder), agent_limit,
                 [](const ActionOutcome& outcome) {
                     if (outcome.host.kind == HostVerdict::Kind::late)
                         return http_error(504, "The agent did not answer in time");
                     if (auto failure = failure_of(outcome.host)) return std::move(*failure);
                     HttpResponse answer{200, "text/plain; charset=utf-8", outcome.host.text};
                     answer.headers.push_back({log_position_header, fmt::to_string(outcome.host.position)});
                     return answer;
                 });
}

}  // namespace muster
