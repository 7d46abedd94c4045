#include "daemon/http_front.h"

#include <algorithm>
#include <future>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/cell_readiness.h"
#include "cluster/relayed_question.h"
#include "core/operator_name.h"
#include "daemon/game_config.h"
#include "daemon/http_metrics.h"
#include "http/page.h"

namespace muster {
namespace {

constexpr std::string_view readyz_path = "/readyz";

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
    http_.emplace(HttpListen{config.listen.http.host, config.listen.http.port, config.listen.http_hosts, std::move(tls),
                             &clock_, kept ? kept.number() : -1},
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
        if (cells_ && is_of_cell) return cells_->answer(std::move(request), std::move(responder));
        if (!api_ && is_of_cell) return relay(std::move(request), std::move(responder));
        // Nothing here speaks against it: whether the owners can serve, they know.
        if (request.method == "GET" && request.path == readyz_path && !health_.unreadiness() && (cells_ || !api_))
            return relay_readiness(request, std::move(responder));
        routes_.handle(std::move(request), std::move(responder));
    });
    log_.with(LogLevel::info, {{"port", "http"}}, "Listening on {}", http_->address());
}

void HttpFront::serve_cells(CellsFront::Cells cells) {
    cells_.emplace(clock_, std::move(cells), owner_, http_->thread(),
                   [this](HttpRequest&& request, HttpResponder&& responder, CellNumber cell) {
                       relay(std::move(request), std::move(responder), cell);
                   });
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

void HttpFront::relay(HttpRequest&& request, HttpResponder&& responder, CellNumber cell) {
    auto waiting = std::make_shared<HttpResponder>(std::move(responder));
    std::string why = health_.unreadiness().value_or("The owner of the cell was lost; ask again");
    RelayedFeed::takes_feed(request);
    owner_->ask(
        request,
        [owner = owner_, waiting, why, cell](std::optional<HttpResponse> response) {
            if (!response) return waiting->send(http_error(503, why));
            RelayedFeed::continue_answer(*response,
                                         [owner, cell](const HttpRequest& next, RelayedFeed::OnAnswer on_answer) {
                                             owner->ask(next, std::move(on_answer), cell);
                                         });
            waiting->send(std::move(*response));
        },
        cell);
}

void HttpFront::relay_readiness(const HttpRequest& request, HttpResponder&& responder) {
    if (cells_) return cells_->readiness(request, std::move(responder));
    auto waiting = std::make_shared<std::optional<HttpResponder>>(std::move(responder));
    const auto tell = [waiting](const std::optional<HttpResponse>& answer) {
        if (!*waiting) return;
        HttpResponder told = std::move(**waiting);
        waiting->reset();
        told.send(owner_readiness(answer));
    };
    owner_->ask(request, [tell, thread = http_->thread()](std::optional<HttpResponse> answer) {
        thread->post(
            [tell, taken = std::make_shared<std::optional<HttpResponse>>(std::move(answer))] { tell(*taken); });
    });
    http_->thread()->after(CellsFront::lists_wait_max, [tell] { tell(std::nullopt); });
}

void HttpFront::answer_relayed(const std::string& question, const CellDoor::Answer& answer) {
    answer_question(question, answer, *http_->thread(), routes_, *feeds_);
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
