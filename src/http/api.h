// The JSON API under /api/v1: what there is, what happened, and what an operator can do (O-2).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/entropy.h"
#include "base/time.h"
#include "core/views.h"
#include "http/admin_gate.h"
#include "http/api_game.h"
#include "http/block_book.h"
#include "http/event_query.h"
#include "http/event_ring.h"
#include "http/event_stream.h"
#include "http/http_quota.h"
#include "http/http_server.h"
#include "http/latest_view.h"
#include "http/operator_book.h"
#include "http/over_matches.h"
#include "http/overview_history.h"
#include "http/pending_actions.h"
#include "http/recent_failures.h"
#include "http/routes.h"
#include "http/server_samples.h"
#include "http/slow_reads.h"

namespace muster {

// 200 with that JSON.
HttpResponse json_answer(std::string body);

// HTTP thread only, once it runs; until then whoever makes it.
class Api {
public:
    // All of them outlive the API.
    struct Parts {
        ApiGame& game;
        AdminGate& gate;
        const EventRing& events;
        EventArchive& archive;
        SlowReads& slow_reads;
        const OverMatches& over;
        const Clock& clock;
        std::shared_ptr<HttpThread> thread;
        const OperatorBook& operators;
        const BlockBook& blocks;
        Entropy& entropy;                       // for operators' tokens
        HttpQuota::Limits feeds = feeds_usual;  // of live events

        static constexpr HttpQuota::Limits feeds_usual{128, 32};
    };

    // No action takes longer than this but an allocation, and one that an agent has to answer: it has
    // Hosts::answer_limit for that, which a stop of the process moves.
    static constexpr std::chrono::seconds action_limit{5};
    static constexpr std::chrono::seconds agent_limit{20};
    static constexpr std::chrono::seconds allocation_limit{30};

    explicit Api(const Parts& parts);

    // Reads (api.cpp), the history (api_events.cpp), actions (api_actions.cpp) and hosts (api_hosts.cpp, operators
    // (api_operators.cpp) and blocks (api_blocks.cpp). The API outlives the routes.
    void add_routes(Routes& routes);
    // Samples the servers from now on, for as long as the thread runs.
    void start_sampling();
    // The same of the overview's figures.
    void start_history();

    // What the game answered; see ApiGame.
    void made(std::uint64_t number, const std::shared_ptr<const FleetView>& view, Duration cost) {
        fleet_.made(number, view, cost);
    }
    void made(std::uint64_t number, const std::shared_ptr<const PlayersView>& view, Duration cost) {
        players_.made(number, view, cost);
    }
    void made(std::uint64_t number, const std::shared_ptr<const HostsView>& view, Duration cost) {
        hosts_.made(number, view, cost);
    }
    void acted(std::uint64_t number, const ActionOutcome& outcome);

private:
    void add_read(Routes& routes, std::string path, HttpHandler handler);
    void add_action(Routes& routes, std::string method, std::string path, HttpHandler handler,
                    Right right = Right::operate);
    void add_matchmaker_action(Routes& routes, std::string method, std::string path, HttpHandler handler) {
        add_action(routes, std::move(method), std::move(path), std::move(handler), Right::allocate);
    }
    // A read that needs a view. The same question about the same view is answered once.
    template <class View, class Render>
    void add_view_read(Routes& routes, std::string path, LatestView<View>& views, Render render) {
        add_read(routes, std::move(path), [&views, render](HttpRequest&& request, HttpResponder&& responder) {
            read_view(views, request.path + "?" + request.query, render, std::move(request), std::move(responder));
        });
    }
    // `key` names the answer among those that are kept with a view.
    template <class View, class Render>
    static void read_view(LatestView<View>& views, const std::string& key, Render render, HttpRequest&& request,
                          HttpResponder&& responder) {
        if (const auto kept = views.kept_answer(key)) return responder.send(json_answer(*kept));
        // Callbacks are copied on their way; the two that may not be are shared.
        auto asked = std::make_shared<std::pair<HttpRequest, HttpResponder>>(std::move(request), std::move(responder));
        views.with_view([&views, asked, key, render](const View* view) {
            if (!view) return asked->second.send(http_error(503, "The game loop did not answer in time"));
            if (const auto kept = views.kept_answer(key, view)) return asked->second.send(json_answer(*kept));
            HttpResponse response = render(asked->first, *view);
            if (response.status == 200) views.keep_answer(key, view, response.body);
            asked->second.send(std::move(response));
        });
    }

    void add_event_routes(Routes& routes);
    void add_action_routes(Routes& routes);
    void add_host_routes(Routes& routes);
    void add_host_read(Routes& routes, const std::string& path,
                       HttpResponse (*render)(const HttpRequest& request, const HostsView& view));
    void add_operator_routes(Routes& routes);
    void add_block_routes(Routes& routes);

    HttpResponse servers(const HttpRequest& request, const FleetView& view) const;
    HttpResponse server(const HttpRequest& request, const FleetView& view) const;
    HttpResponse matches(const HttpRequest& request, const FleetView& view) const;
    HttpResponse match(const HttpRequest& request, const FleetView& view) const;
    HttpResponse players(const HttpRequest& request, const PlayersView& view) const;
    HttpResponse player(const HttpRequest& request, const PlayersView& view) const;
    void add_lobby(const PlayerRow& player, FieldSink& out) const;
    void events(HttpRequest&& request, HttpResponder&& responder);
    HttpResponse live_events(const HttpRequest& request);
    void old_events(const EventQuery& query, HttpResponder&& responder);
    void drain(HttpRequest&& request, HttpResponder&& responder);
    void drain_many(HttpRequest&& request, HttpResponder&& responder);
    void drain_region(HttpRequest&& request, HttpResponder&& responder);
    void remove(HttpRequest&& request, HttpResponder&& responder);
    void abort_all(HttpRequest&& request, HttpResponder&& responder);
    void abort(HttpRequest&& request, HttpResponder&& responder);
    void set_players(HttpRequest&& request, HttpResponder&& responder);
    void kick(HttpRequest&& request, HttpResponder&& responder);
    void set_clock(HttpRequest&& request, HttpResponder&& responder);
    void allocate(HttpRequest&& request, HttpResponder&& responder);
    void drain_host(HttpRequest&& request, HttpResponder&& responder);
    void forget_host(HttpRequest&& request, HttpResponder&& responder);
    void restart_process(HttpRequest&& request, HttpResponder&& responder);
    void scale_run(HttpRequest&& request, HttpResponder&& responder);
    void read_log(HttpRequest&& request, HttpResponder&& responder);
    void me(HttpRequest&& request, HttpResponder&& responder);
    void operators(HttpRequest&& request, HttpResponder&& responder);
    void add_operator(HttpRequest&& request, HttpResponder&& responder);
    void remove_operator(HttpRequest&& request, HttpResponder&& responder);
    void blocks(HttpRequest&& request, HttpResponder&& responder);
    void block(HttpRequest&& request, HttpResponder&& responder);
    void unblock(HttpRequest&& request, HttpResponder&& responder);

    Parts parts_;
    LatestView<FleetView> fleet_;
    LatestView<PlayersView> players_;
    LatestView<HostsView> hosts_;
    PendingActions actions_;
    ServerSamples samples_;
    RecentFailures failures_;
    OverviewHistory history_;
    std::shared_ptr<HttpQuota> feeds_;  // live feeds that are open; shared with them
    // Answers that wait for the disk, by number: only the number travels.
    std::uint64_t last_read_ = 0;
    std::unordered_map<std::uint64_t, HttpResponder> reads_;
};

}  // namespace muster
