// Whoever asks for matches over HTTP: new ones, the same again, lists of players, and gives matches back.
#pragma once

#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "sim/host.h"
#include "sim/stage.h"

namespace muster::sim {

// One thread. Stage and host outlive it.
class ApiActor {
public:
    ApiActor(Stage& stage, Host& host, Random random) : stage_(stage), host_(host), random_(random) {}

    // From now on, until the stage is calm.
    void begin();

private:
    void ask();

    Stage& stage_;
    Host& host_;
    Random random_;
    std::vector<LobbyId> asked_;
};

}  // namespace muster::sim
