#include "daemon/http_front.h"

#include <algorithm>
#include <future>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/operator_name.h"
#include "daemon/game_config.h"
#include "daemon/http_metrics.h"
#include "daemon/relayed_request.h"
#include "http/page.h"
#include "http/page_query.h"

namespace muster {
namespace {

// The book outlives the rules.
AdminGate::Rules gate_rules_of(const Config& config, const OperatorBook& operators) {
    const auto holder_of = [admin = config.auth.admin_token, matchmaker = config.auth.http_matchmaker_token,
                            &operators](std::string_view token) -> std::optional<TokenHolder> {
        // A secret that is not set fits nobody here: without an admin token the gate does not ask.
        if (admin.is_set() && admin.matches(token)) return TokenHolder{std::string(admin_name), Role::admin};
        if (matchmaker.is_set() && matchmaker.matches(token))
            return TokenHolder{std::string(http_matchmaker_name), Role::matchmaker};
        return operators.holder_of(token);
    };
    const auto holder_named = [&operators](std::string_view name) { return operators.named(name); };
    return {config.auth.admin_token.is_set(), config.listen.http.host.is_loopback(), holder_of,
            config.http.open_metrics, holder_named};
}

// The event is written before the cell is handed over: the game writes all that it has first.
MoveVerdict move_cell(const HttpFront::Parts& parts, const MoveWish& wish) {
    const MoveVerdict verdict = parts.node.ask_to_move(wish.cell, wish.node);
    if (verdict != MoveVerdict::begun) return verdict;
    event::OperatorAction done;
    done.operator_name = wish.operator_name;
    done.who = wish.address;
    done.action = "move";
    done.target = "cell " + wish.cell + " to " + wish.node;
    static_cast<void>(
        parts.game.ask([done](const Pass&, Game::Inside& inside) { static_cast<void>(inside.events.publish(done)); }));
    return verdict;
}

}  // namespace

HttpFront::HttpFront(const Config& config, std::size_t connections_max, const Clock& clock, Log& log,
                     const Health& health, Metrics& metrics, const OperatorBook& operators, const BlockBook& blocks)
    : connections_max_(connections_max),
      clock_(clock),
      log_(log),
      health_(health),
      metrics_(metrics),
      operators_(operators),
      blocks_(blocks),
      quota_(quota_of(config)),
      gate_(clock, log, gate_rules_of(config, operators)) {
    forwarded_.set_trusted(ranges_of(config.http.trusted_proxies));
    add_figures();
    add_health_routes(routes_, health_);
    add_metrics_route(routes_, metrics_, [this](HttpRequest& request) { return gate_.refusal_of_metrics(request); });
    add_openapi_route(routes_);
    add_page_routes(routes_, &embedded_page);
}

void HttpFront::listen(const Config& config, std::shared_ptr<const TlsServerContext> tls, const Node& node,
                       FileDescriptor& kept) {
    HttpLimits limits;
    limits.quota = quota_;
    http_.emplace(
        HttpListen{config.listen.http.host, config.listen.http.port, config.listen.http_hosts, std::move(tls), &clock_,
                   kept ? kept.number() : -1},
        limits, log_);
    if (!kept) kept = FileDescriptor(http_->kept_socket());
    add_cluster_route(routes_, gate_, [&node] { return node.view(); });
    metrics_.add([this] { return http_metrics(http_->figures()); });
}

void HttpFront::serve() {
    is_served_ = true;
    http_->serve([this](HttpRequest&& request, HttpResponder&& responder) {
        forwarded_.resolve(request);
        const bool is_of_cell = request.path.starts_with("/api/") && !is_cluster_path(request.path);
        if (cells_ && is_of_cell) return ask_cells(std::move(request), std::move(responder));
        if (!api_ && is_of_cell) return relay(std::move(request), std::move(responder));
        routes_.handle(std::move(request), std::move(responder));
    });
    log_.with(LogLevel::info, {{"port", "http"}}, "Listening on {}", http_->address());
}

void HttpFront::serve_cells(Cells cells) {
    cells_ = std::move(cells);
    serve();
}

std::unique_ptr<CellApi> HttpFront::open_cell(const CellApi::Parts& parts) {
    std::unique_ptr<CellApi> api;
    std::promise<void> made;
    http_->thread()->post([&] {
        api = std::make_unique<CellApi>(parts,
                                        CellApi::Shared{clock_, http_->thread(), gate_, operators_, blocks_, entropy_});
        made.set_value();
    });
    made.get_future().wait();
    return api;
}

void HttpFront::close_cell(std::unique_ptr<CellApi> api) {
    std::promise<void> ended;
    http_->thread()->post([&] {
        api.reset();
        ended.set_value();
    });
    ended.get_future().wait();
}

void HttpFront::ask_cells(HttpRequest&& request, HttpResponder&& responder) {
    constexpr std::string_view of_cells = "/api/v1/cells/";
    if (request.path.starts_with(of_cells)) {
        const std::string_view rest = std::string_view(request.path).substr(of_cells.size());
        const auto named = std::ranges::find(cells_->names, rest.substr(0, rest.find('/')));
        if (named == cells_->names.end()) return responder.send(http_error(404, "No such cell"));
        return relay(std::move(request), std::move(responder), static_cast<CellNumber>(named - cells_->names.begin()));
    }
    const CellQuestion question = cell_question_of(request);
    switch (question.kind) {
        case CellQuestion::Kind::none:
            return responder.send(http_error(503, "This is not answered over several cells yet"));
        case CellQuestion::Kind::first:
            return relay(std::move(request), std::move(responder));
        case CellQuestion::Kind::region:
            return relay(std::move(request), std::move(responder),
                         cells_->of_region(region_in_body(request.body).value_or("")));
        case CellQuestion::Kind::list:
        case CellQuestion::Kind::find:
        case CellQuestion::Kind::all:
            return gather(question, request, std::move(responder));
    }
}

// Answers come on any thread, and are taken on the HTTP thread.
void HttpFront::gather(const CellQuestion& question, const HttpRequest& request, HttpResponder&& responder) {
    auto gathered = std::make_shared<Gathered>(question, std::move(responder));
    const auto limit = parse_number(request.query_value("limit").value_or(""));
    if (limit && *limit > 0) gathered->limit = static_cast<std::size_t>(*limit);
    if (question.list == "regions") gathered->limit = std::numeric_limits<std::size_t>::max();
    for (const std::string& name : cells_->names) gathered->answers.push_back({name, std::nullopt});
    gathered->waits_for = cells_->names.size();
    for (CellNumber cell = 0; cell < cells_->names.size(); ++cell) {
        owner_->ask(
            request,
            [gathered, cell, thread = http_->thread()](std::optional<HttpResponse> response) {
                thread->post(
                    [gathered, cell, taken = std::make_shared<std::optional<HttpResponse>>(std::move(response))] {
                        gathered->answers[cell].response = std::move(*taken);
                        if (--gathered->waits_for == 0) gathered->tell();
                    });
            },
            cell);
    }
    if (question.kind == CellQuestion::Kind::list)
        http_->thread()->after(lists_wait_max, [gathered] { gathered->tell(); });
}

void HttpFront::Gathered::tell() {
    if (!responder) return;
    HttpResponder told = std::move(*responder);
    responder.reset();
    switch (question.kind) {
        case CellQuestion::Kind::list:
            return told.send(merged_lists(question, limit, answers));
        case CellQuestion::Kind::find:
            return told.send(found_answer(answers));
        default:
            return told.send(joint_answer(answers));
    }
}

void HttpFront::set_relay(RelayThread* relay) {
    const std::lock_guard lock(owner_->mutex);
    owner_->relay = relay;
}

void HttpFront::relay(HttpRequest&& request, HttpResponder&& responder, CellNumber cell) {
    auto waiting = std::make_shared<HttpResponder>(std::move(responder));
    std::string why = health_.unreadiness().value_or("The owner of the cell was lost; ask again");
    RelayedFeed::takes_feed(request);
    owner_->ask(
        request,
        [owner = owner_, waiting, why](std::optional<HttpResponse> response) {
            if (!response) return waiting->send(http_error(503, why));
            RelayedFeed::continue_answer(*response, [owner](const HttpRequest& next, RelayedFeed::OnAnswer on_answer) {
                owner->ask(next, std::move(on_answer));
            });
            waiting->send(std::move(*response));
        },
        cell);
}

void HttpFront::OwnerLine::ask(const HttpRequest& request, RelayedFeed::OnAnswer on_answer, CellNumber cell) {
    const std::lock_guard lock(mutex);
    if (!relay) return on_answer(std::nullopt);
    relay->ask(
        packed_request(request),
        [on_answer = std::move(on_answer)](const std::optional<std::string>& answer) {
            on_answer(answer ? unpacked_response(*answer) : std::nullopt);
        },
        cell);
}

void HttpFront::answer_relayed(const std::string& question, const CellDoor::Answer& answer) {
    auto request = unpacked_request(question);
    if (!request || !(request->path.starts_with("/api/") || RelayedFeed::is_about_feed(*request)))
        return answer(packed_response(http_error(400, "Not a request of the API")));
    http_->thread()->post([this, asked = std::make_shared<HttpRequest>(std::move(*request)), answer] {
        if (RelayedFeed::is_about_feed(*asked))
            return feeds_->ask(*asked, HttpResponder([answer](auto&& piece) { answer(packed_response(piece)); }));
        const bool takes_feed = RelayedFeed::does_take_feed(*asked);
        routes_.handle(std::move(*asked), HttpResponder([this, answer, takes_feed](HttpResponse&& response) {
                           if (response.stream && takes_feed) response = feeds_->begin(std::move(response));
                           answer(packed_response(response));
                       }));
    });
}

void HttpFront::open_api(const Parts& parts) {
    if (!is_served_) {
        make_api(parts);
        return serve();
    }
    std::promise<void> made;
    http_->thread()->post([&] {
        make_api(parts);
        made.set_value();
    });
    made.get_future().wait();
}

void HttpFront::make_api(const Parts& parts) {
    archive_.emplace(parts.node.store());
    operator_.emplace(
        GameOperator::Parts{parts.game, parts.node, parts.node.store(), health_, clock_, http_->thread()});
    // Live feeds stay open: they leave room for questions.
    api_.emplace(Api::Parts{*operator_,
                            gate_,
                            parts.events,
                            *archive_,
                            slow_reads_,
                            parts.over,
                            clock_,
                            http_->thread(),
                            operators_,
                            blocks_,
                            entropy_,
                            {(quota_.connections + 7) / 8, (quota_.connections_ip + 1) / 2}});
    feeds_.emplace(clock_, http_->thread());
    operator_->answer_to(*api_);
    add_move_route(routes_, gate_, [parts](const MoveWish& wish) { return move_cell(parts, wish); });
    api_->add_routes(routes_);
    api_->start_sampling();
    api_->start_history();
}

void HttpFront::configure(const Config& config, std::shared_ptr<const TlsServerContext> tls) {
    http_->thread()->post(
        [this, rules = gate_rules_of(config, operators_), proxies = ranges_of(config.http.trusted_proxies)] {
            gate_.set_rules(rules);
            forwarded_.set_trusted(proxies);
        });
    http_->set_quota(quota_of(config));
    if (tls) http_->set_tls(std::move(tls));
}

HttpQuota::Limits HttpFront::quota_of(const Config& config) const {
    return {std::min(static_cast<std::size_t>(config.limits.http_connections), connections_max_),
            static_cast<std::size_t>(config.limits.http_connections_ip),
            static_cast<std::size_t>(config.limits.accepts_per_second_ip)};
}

void HttpFront::add_figures() {
    metrics_.add([this] {
        Metric wrong_tokens{"muster_auth_failures_total", "Wrong secrets", MetricType::counter, {}, {}};
        wrong_tokens.samples.push_back({{{"port", "http"}}, static_cast<double>(gate_.wrong_tokens())});
        return std::vector<Metric>{
            wrong_tokens, counter("muster_admin_auth_failures_total", "Requests with a wrong or missing admin token",
                                  static_cast<double>(gate_.failures()))};
    });
}

}  // namespace muster
