// What the HTTP API asks of the game, carried to the game thread and back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/time.h"
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
    // Sessions that are looked at in one step of the game thread.
    static constexpr std::size_t players_per_step = 2'000;

    struct Parts {
        Game& game;
        const Store& store;
        const Health& health;
        const Clock& clock;
        std::shared_ptr<HttpThread> thread;
    };

    explicit GameOperator(const Parts& parts) : parts_(parts), started_(parts.clock.now()) {}
    // Who is told; before the first question.
    void answer_to(Api& api) { api_ = &api; }

    bool ask_for_fleet() override;
    bool ask_for_players() override;
    bool act(std::uint64_t number, const Action& action, const std::string& who, Time not_after) override;
    ProcessFigures figures() override;

private:
    struct PlayersStep;

    bool step(const std::shared_ptr<PlayersStep>& step);

    const Parts parts_;
    const Time started_;
    Api* api_ = nullptr;
};

}  // namespace muster
