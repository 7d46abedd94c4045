// What game servers have to drop and have not surely heard of: whoever registers at the endpoint is told first (F-6).
//
// A server that is there is told at once, but a crash may lose what was just sent. So an abort is owed until its server
// has stood for a minute after it was told. On the disk too: a restart forgets none. Bounded, since an endpoint may
// never come back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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
    // So many lobbies in all. Beyond them the endpoint that was owed something first is dropped, and what it was never
    // told is counted.
    static constexpr std::size_t lobbies_max = 100'000;

    explicit OwedAborts(Ledger& ledger) : ledger_(ledger) {}

    void recover(std::span<const AbortOwed> owed);
    // `told`: the server is there, and the caller tells it.
    void add(const Endpoint& endpoint, LobbyId lobby, bool told = false);
    // What the endpoint is owed, to be told now.
    std::vector<LobbyId> tell(const Endpoint& endpoint);
    // It is offered the lobby anew.
    void settle(const Endpoint& endpoint, LobbyId lobby);

    // Who is owed something, the longest first.
    std::vector<Endpoint> endpoints() const;
    // Once a minute, with the registration of the endpoint's server as it stands, 0 while it is away: what was told to
    // one that stood the last time, too, it has heard.
    void settle_heard(const Endpoint& endpoint, std::int64_t registration);

    std::size_t size() const { return size_; }
    std::uint64_t dropped() const { return dropped_; }

private:
    struct Abort {
        bool told = false;
        std::int64_t told_to = 0;  // the registration that had been told when it was looked at last
    };
    struct Owed {
        std::uint64_t number = 0;
        std::map<LobbyId, Abort> lobbies;
    };

    bool note(const Endpoint& endpoint, LobbyId lobby, bool told);
    std::map<LobbyId, Abort> forget(const Endpoint& endpoint);

    Ledger& ledger_;
    std::unordered_map<Endpoint, Owed> by_endpoint_;
    std::map<std::uint64_t, Endpoint> by_age_;
    std::uint64_t next_number_ = 1;
    std::size_t size_ = 0;
    std::uint64_t dropped_ = 0;
};

}  // namespace muster
