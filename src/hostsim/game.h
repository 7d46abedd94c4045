// One life of a game process: what it does of its own, whatever SDK it speaks.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/sdk_side.h"
#include "agones/session.h"
#include "base/ids.h"
#include "base/random.h"
#include "base/time.h"
#include "gsdk/session.h"

namespace muster::hostsim {

// How often lives go wrong.
struct GameHabits {
    double crashes_at_start = 0.04;
    double never_ready = 0.02;
    double crashes_in_match = 0.08;
    double hangs_in_match = 0.04;
    double exits_on_offer = 0.05;
    double forks = 0.3;
    double ignores_stop = 0.15;
};

// What the agent serves it; null while there is no agent, or for programs that speak no SDK.
struct GameSdk {
    agones::Session* agones = nullptr;
    gsdk::Session* gsdk = nullptr;
};

class Game {
public:
    Game(SdkKind sdk, Time now, const GameHabits& habits, Random& random);

    // What it does now.
    struct Deed {
        bool bind = false;
        bool fork = false;
        std::optional<int> exit{};  // a code; 134 is a crash
    };
    Deed act(Time now, const GameSdk& sdk);

    // The stop signal of the agent.
    void asked_to_stop(Time now);
    // Of sdk = "none": the file and the signal.
    void told(Time now, LobbyId lobby) { play(now, lobby); }

    std::optional<LobbyId> playing() const { return playing_; }
    bool hung() const { return hung_; }

private:
    static constexpr int crash_code = 134;

    void play(Time now, LobbyId lobby);
    bool match_is_over(Time now) const { return playing_ && match_ends_ <= now; }
    Deed act_agones(Time now, agones::Session& session);
    Deed act_gsdk(Time now, gsdk::Session& session);

    SdkKind sdk_;
    Random random_;  // its own, so that one game's chance is not another's
    GameHabits habits_;
    Time ready_at_{};
    std::optional<Time> crash_at_{};
    std::optional<Time> exit_at_{};  // after it was asked to stop, or its SDK said so
    std::optional<LobbyId> playing_{};
    Time match_ends_{};
    bool match_crashes_ = false;
    bool match_hangs_ = false;
    bool exits_on_offer_ = false;
    bool ignores_stop_ = false;
    bool forks_ = false;
    bool bound_ = false;
    bool ready_said_ = false;
    bool active_ = false;  // what it says to GSDK
    bool hung_ = false;
};

}  // namespace muster::hostsim
