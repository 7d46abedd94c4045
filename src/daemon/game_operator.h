// What the HTTP API asks of the game, carried to the game thread and back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/time.h"
#include "cluster/node.h"
#include "core/view_walk.h"
#include "daemon/game.h"
#include "http/api.h"
#include "http/api_game.h"
#include "http/health.h"
#include "http/http_server.h"
#include "store/store.h"

namespace muster {

// HTTP thread only. All of what it is given outlives it.
class GameOperator final : public ApiGame {
public:
    struct Parts {
        Game& game;
        const Node& node;
        const Store& store;
        const Health& health;
        const Clock& clock;
        std::shared_ptr<HttpThread> thread;
    };

    // Before the game starts.
    explicit GameOperator(const Parts& parts);
    // Who is told; before the first question.
    void answer_to(Api& api) { api_ = &api; }

    bool ask_for_fleet(std::uint64_t number, Time not_after) override;
    bool ask_for_players(std::uint64_t number, Time not_after) override;
    bool ask_for_hosts(std::uint64_t number, Time not_after) override;
    bool act(std::uint64_t number, const Action& action, const ActionCaller& caller, Time not_after) override;
    ProcessFigures figures() override;

private:
    // A view that is being made, and what the game thread has spent on it.
    template <class Walk>
    struct Making;

    // Game thread too.
    template <class Walk>
    bool walk_on(const std::shared_ptr<Making<Walk>>& making);
    void acted(std::uint64_t number, ActionOutcome&& outcome);

    // Game thread only: what was done and is not durable yet. Each is answered, by Core::answer_when_durable.
    std::unordered_map<std::uint64_t, ActionOutcome> done_;

    const Parts parts_;
    const Time started_;
    Api* api_ = nullptr;
};

}  // namespace muster
