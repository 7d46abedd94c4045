#include "daemon/http_front.h"

#include <algorithm>
#include <future>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/operator_name.h"
#include "daemon/game_config.h"
#include "daemon/http_metrics.h"
#include "daemon/relayed_request.h"
#include "http/page.h"

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

void HttpFront::listen(const Config& config, std::shared_ptr<const TlsServerContext> tls, const Node& node) {
    HttpLimits limits;
    limits.quota = quota_;
    http_.emplace(
        HttpListen{config.listen.http.host, config.listen.http.port, config.listen.http_hosts, std::move(tls)}, limits,
        log_);
    add_cluster_route(routes_, gate_, [&node] { return node.view(); });
    metrics_.add([this] { return http_metrics(http_->figures()); });
}

void HttpFront::serve() {
    is_served_ = true;
    http_->serve([this](HttpRequest&& request, HttpResponder&& responder) {
        forwarded_.resolve(request);
        const bool is_of_cell = request.path.starts_with("/api/") && !is_cluster_path(request.path);
        if (cells_ && is_of_cell) return to_cell(std::move(request), std::move(responder));
        if (!api_ && is_of_cell) return relay(std::move(request), std::move(responder));
        routes_.handle(std::move(request), std::move(responder));
    });
    log_.with(LogLevel::info, {{"port", "http"}}, "Listening on {}", http_->address());
}

void HttpFront::serve_cells(Cells cells) {
    add_move_route(routes_, gate_, cells.move);
    cells_ = std::move(cells);
    serve();
}

void HttpFront::to_cell(HttpRequest&& request, HttpResponder&& responder) {
    constexpr std::string_view of_cells = "/api/v1/cells/";
    if (!request.path.starts_with(of_cells))
        return responder.send(http_error(503, "Lists and actions over several cells are not served yet"));
    const std::string_view rest = std::string_view(request.path).substr(of_cells.size());
    const auto named = std::ranges::find(cells_->names, rest.substr(0, rest.find('/')));
    const auto cell = static_cast<CellNumber>(named - cells_->names.begin());
    // Whoever does not know the cell may say so.
    if (named == cells_->names.end() || cells_->is_owned(cell))
        return routes_.handle(std::move(request), std::move(responder));
    relay(std::move(request), std::move(responder), cell);
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
        if (RelayedFeed::is_about_feed(*asked) && !feeds_)
            return answer(packed_response(http_error(410, "The feed is over")));
        if (RelayedFeed::is_about_feed(*asked))
            return feeds_->ask(*asked, HttpResponder([answer](auto&& piece) { answer(packed_response(piece)); }));
        const bool takes_feed = RelayedFeed::does_take_feed(*asked);
        routes_.handle(std::move(*asked), HttpResponder([this, answer, takes_feed](HttpResponse&& response) {
                           if (response.stream && takes_feed && feeds_) response = feeds_->begin(std::move(response));
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
    operator_.emplace(GameOperator::Parts{parts.game, parts.node, health_, clock_, http_->thread()});
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
