// The HTTP port and all that answers at it: probes, metrics, the page, the cluster, and, once the game is there, the
// API.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/entropy.h"
#include "base/log.h"
#include "base/time.h"
#include "cluster/cells_front.h"
#include "cluster/node.h"
#include "cluster/owner_line.h"
#include "cluster/relayed_feed.h"
#include "config/config.h"
#include "daemon/cell_api.h"
#include "daemon/event_archive.h"
#include "daemon/game.h"
#include "daemon/game_operator.h"
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
#include "net/file_descriptor.h"
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

    // Opens the port, or goes on at the one that `kept` is open at; throws HttpListenError. Nobody is answered before
    // serve() or open_api(). While `kept` stays open, peers that come after the end of this wait for the next.
    void listen(const Config& config, std::shared_ptr<const TlsServerContext> tls, const Node& node,
                FileDescriptor& kept);
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

    // Answers from now on, by asking the owners of several cells.
    void serve_cells(CellsFront::Cells cells);
    // The API of a cell that this node owns, made and ended on the HTTP thread. Any thread, while it serves; before the
    // game starts, and after it has ended.
    std::unique_ptr<CellApi> open_cell(const CellApi::Parts& parts);
    void close_cell(std::unique_ptr<CellApi> api);

    // While there is no API, its questions go to the owner by way of the relay; null: they are refused.
    void set_relay(RelayThread* relay) { owner_->set_relay(relay); }
    // A question that came to another node. Any thread, while the API is open.
    void answer_relayed(const std::string& question, const CellDoor::Answer& answer);

    bool is_open() const { return http_.has_value(); }
    // Where it listens.
    std::string address() const { return http_->address(); }
    void configure(const Config& config, std::shared_ptr<const TlsServerContext> tls);

private:
    HttpQuota::Limits quota_of(const Config& config) const;
    void make_api(const Parts& parts);
    void relay(HttpRequest&& request, HttpResponder&& responder, CellNumber cell = 0);
    // Of a node that serves no cell itself, or several: as ready as the owners say that they are.
    void relay_readiness(const HttpRequest& request, HttpResponder&& responder);
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

    // The way to the owner. Feeds that are open hold it, too.
    const std::shared_ptr<OwnerLine> owner_ = std::make_shared<OwnerLine>();

    // The HTTP thread's, once it runs.
    Routes routes_;
    AdminGate gate_;
    ForwardedPeer forwarded_;
    std::optional<StoreArchive> archive_;
    std::optional<GameOperator> operator_;
    std::optional<Api> api_;
    std::optional<RelayedFeeds> feeds_;
    std::optional<CellsFront> cells_;  // none: there is one
    SlowReadThread slow_reads_;
    // Last, so that it stops before what its answers are made from.
    std::optional<HttpServer> http_;
};

}  // namespace muster
