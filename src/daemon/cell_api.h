// The API of one of several cells at its owner, for one term. Other nodes ask it, and this one, by way of the
// cell's door.
#pragma once

#include <memory>
#include <string>

#include "base/entropy.h"
#include "base/time.h"
#include "cluster/cell_past.h"
#include "cluster/life_thread.h"
#include "cluster/node.h"
#include "cluster/relayed_feed.h"
#include "daemon/event_archive.h"
#include "daemon/game.h"
#include "daemon/game_operator.h"
#include "http/admin_gate.h"
#include "http/api.h"
#include "http/block_book.h"
#include "http/cluster_view.h"
#include "http/health.h"
#include "http/http_server.h"
#include "http/operator_book.h"
#include "http/routes.h"
#include "http/slow_reads.h"
#include "relay/cell_door.h"
#include "store/store.h"

namespace muster {

// HTTP thread only, unless a line says otherwise. What it is given outlives it; the game ends before it.
class CellApi {
public:
    struct Parts {
        Game& game;  // not started yet
        Node& node;
        Store& store;
        const Health& health;
        const CellPast& past;
        MoveCell move;
    };
    // What all cells at this node share.
    struct Shared {
        const Clock& clock;
        std::shared_ptr<HttpThread> thread;
        AdminGate& gate;
        const OperatorBook& operators;
        const BlockBook& blocks;
        Entropy& entropy;
    };

    CellApi(const Parts& parts, const Shared& shared);
    ~CellApi() { life_->end(); }
    CellApi(const CellApi&) = delete;
    CellApi& operator=(const CellApi&) = delete;

    // A question that came to a node. Any thread.
    void answer(const std::string& question, const CellDoor::Answer& answer);

private:
    const std::shared_ptr<LifeThread> life_;
    Routes routes_;
    StoreArchive archive_;
    GameOperator operator_;
    SlowReadThread slow_reads_;
    Api api_;
    RelayedFeeds feeds_;
};

}  // namespace muster
