// Aborts of matches whose game server was away: the next server that registers at that endpoint gets them first (F-6).
//
// On the disk too: a restart forgets none. Bounded, since an endpoint may never come back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "core/ledger.h"
#include "core/records.h"
#include "core/server.h"

namespace muster {

// Game thread only. The ledger outlives it.
class OwedAborts {
public:
    // So many lobbies in all. Beyond them the endpoint that has been away for longest is dropped, and counted.
    static constexpr std::size_t lobbies_max = 100'000;

    explicit OwedAborts(Ledger& ledger) : ledger_(ledger) {}

    void recover(std::span<const AbortOwed> owed);
    void add(const Endpoint& endpoint, LobbyId lobby);
    // What the endpoint is owed, to be told now.
    std::vector<LobbyId> take(const Endpoint& endpoint);

    std::size_t size() const { return size_; }
    std::uint64_t dropped() const { return dropped_; }

private:
    struct Owed {
        std::uint64_t number = 0;
        std::set<LobbyId> lobbies;
    };

    bool note(const Endpoint& endpoint, LobbyId lobby);
    std::set<LobbyId> forget(const Endpoint& endpoint);

    Ledger& ledger_;
    std::unordered_map<Endpoint, Owed> by_endpoint_;
    std::map<std::uint64_t, Endpoint> by_age_;
    std::uint64_t next_number_ = 1;
    std::size_t size_ = 0;
    std::uint64_t dropped_ = 0;
};

}  // namespace muster
