// What all actors share: the time, the network, the world's present habits, and rumours.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "base/time.h"
#include "protocol/codec.h"
#include "sim/agenda.h"
#include "sim/network.h"
#include "sim/scenario.h"

namespace muster::sim {

// A token that somebody may try where it does not belong.
struct Rumour {
    LobbyId lobby;
    std::string token;
};

// One thread. The parts outlive it.
struct Stage {
    Agenda& agenda;
    Network& network;
    Conditions conditions;  // as they are now
    bool calm = false;      // the faults are switched off: everybody is honest and finishes
    Time calm_at{};         // when they will be
    std::int32_t last_lobby = 0;
    std::vector<Rumour> rumours;
    std::vector<AccountId> accounts;  // of players who have been here

    Time now() const { return agenda.now(); }

    template <class M>
    void send(LinkNumber link, const M& message) {
        std::vector<std::byte> bytes;
        encode(message, default_byte_order(M::port), bytes);
        network.send(link, std::move(bytes));
    }
};

inline Duration between(Random& random, Duration first, Duration last) {
    return Duration(random.between(first.count(), last.count()));
}

}  // namespace muster::sim
