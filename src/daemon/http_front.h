// The HTTP port and all that answers at it: probes, metrics, the page, the cluster, and, once the game is there, the
// API.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/entropy.h"
#include "base/log.h"
#include "base/time.h"
#include "config/config.h"
#include "daemon/game.h"
#include "daemon/game_operator.h"
#include "daemon/node.h"
#include "daemon/relayed_feed.h"
#include "http/admin_gate.h"
#include "http/api.h"
#include "http/block_book.h"
#include "http/cluster_view.h"
#include "http/event_ring.h"
#include "http/forwarded_peer.h"
#include "http/health.h"
#include "http/http_server.h"
#include "http/metrics_text.h"
#include "http/operator_book.h"
#include "http/over_matches.h"
#include "http/routes.h"
#include "http/slow_reads.h"
#include "relay/cell_door.h"
#include "relay/cell_routes.h"
#include "relay/relay_thread.h"
#include "tls/tls_context.h"

namespace muster {

// Made and used by one thread. All of what it is given outlives it, but for the config.
class HttpFront {
public:
    // `connections_max` is what the process may have open of them. The books say who may come with which token, and
    // who is blocked.
    HttpFront(const Config& config, std::size_t connections_max, const Clock& clock, Log& log, const Health& health,
              Metrics& metrics, const OperatorBook& operators, const BlockBook& blocks);

    // Opens the port; throws HttpListenError. Nobody is answered before serve() or open_api().
    void listen(const Config& config, std::shared_ptr<const TlsServerContext> tls, const Node& node);
    // Answers from now on. Without an API it says why there is none.
    void serve();

    // What the API is made from.
    struct Parts {
        Game& game;
        Node& node;
        const EventRing& events;
        const OverMatches& over;
    };
    // Before the game starts. Serves, if nobody did before.
    void open_api(const Parts& parts);

    // What a node of several cells says of them.
    struct Cells {
        std::vector<std::string> names{};
        std::function<bool(CellNumber)> is_owned{};  // by this node; HTTP thread
        MoveCell move{};
    };
    // Answers from now on: a cell is moved by its owner. Lists and other actions over several cells are refused.
    void serve_cells(Cells cells);

    // While there is no API, its questions go to the owner by way of the relay; null: they are refused.
    void set_relay(RelayThread* relay);
    // A question that came to another node. Any thread, while the API is open.
    void answer_relayed(const std::string& question, const CellDoor::Answer& answer);

    bool is_open() const { return http_.has_value(); }
    // Where it listens.
    std::string address() const { return http_->address(); }
    void configure(const Config& config, std::shared_ptr<const TlsServerContext> tls);

private:
    // The store's history for the API.
    class Archive final : public EventArchive {
    public:
        explicit Archive(Store& store) : store_(store) {}
        EventsFound find(const EventSearch& search) override { return store_.find_events(search); }

    private:
        Store& store_;
    };

    HttpQuota::Limits quota_of(const Config& config) const;
    void make_api(const Parts& parts);
    void relay(HttpRequest&& request, HttpResponder&& responder, CellNumber cell = 0);
    void to_cell(HttpRequest&& request, HttpResponder&& responder);
    void add_figures();

    const std::size_t connections_max_;
    const Clock& clock_;
    Log& log_;
    const Health& health_;
    Metrics& metrics_;
    const OperatorBook& operators_;
    const BlockBook& blocks_;
    SystemEntropy entropy_;
    HttpQuota::Limits quota_;
    bool is_served_ = false;

    // The way to the owner. Feeds that are open hold it, too. Any thread.
    struct OwnerLine {
        // `on_answer` gets nothing when there is no owner, or it was lost.
        void ask(const HttpRequest& request, RelayedFeed::OnAnswer on_answer, CellNumber cell = 0);

        std::mutex mutex;
        RelayThread* relay = nullptr;  // guarded by mutex
    };
    const std::shared_ptr<OwnerLine> owner_ = std::make_shared<OwnerLine>();

    // The HTTP thread's, once it runs.
    Routes routes_;
    AdminGate gate_;
    ForwardedPeer forwarded_;
    std::optional<Archive> archive_;
    std::optional<GameOperator> operator_;
    std::optional<Api> api_;
    std::optional<RelayedFeeds> feeds_;
    std::optional<Cells> cells_;  // none: there is one
    SlowReadThread slow_reads_;
    // Last, so that it stops before what its answers are made from.
    std::optional<HttpServer> http_;
};

}  // namespace muster
