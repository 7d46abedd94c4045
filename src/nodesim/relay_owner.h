// The owner of a cell as relays know it, for one term: the real RelayedLinks, and a model of a game that greets and
// answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "net/outbox.h"
#include "nodesim/byte_stream.h"
#include "nodesim/relay_judge.h"
#include "relay/relayed_links.h"
#include "sim/agenda.h"

namespace muster::nodesim {

// A lobby says who asks, and what.
inline constexpr std::int32_t lobbies_per_peer = 100'000;
inline Asked asked_by(LobbyId lobby) {
    return {lobby.value / lobbies_per_peer, lobby.value % lobbies_per_peer};
}
inline LobbyId lobby_of(Asked asked) {
    return LobbyId(asked.peer * lobbies_per_peer + asked.number);
}

// One thread. All it is given outlives it; it outlives what it has planned.
class RelayOwnerSide {
public:
    RelayOwnerSide(sim::Agenda& agenda, Random random, RelayJudge& judge, std::int64_t term, std::uint32_t generation)
        : agenda_(agenda), random_(random), judge_(judge), term_(term), links_(1, generation) {}

    // A relay has come.
    void accept(RelayLinkNumber number, std::shared_ptr<ByteStream> stream);
    // kill -9: the links break. Or it stands still for good: nothing is said, and nobody is told.
    void end(bool breaks);

    std::uint32_t generation() const { return links_.generation(); }

private:
    struct Link {
        RelayLinkNumber number = 0;
        std::shared_ptr<ByteStream> stream{};
        Time heard{};
        Time beaten{};
        std::string node{};  // empty until it is welcome
    };

    void wake();
    void turn();
    void read(NodeLinkNumber name, Link& link);
    void welcome(NodeLinkNumber name, Link& link, std::span<const std::byte> hello);
    void lose(NodeLinkNumber name);
    void hear();
    void hear(const InboundBatch& batch, const InboundItem& item, Port port);
    template <class M>
    void say(ConnectionId to, const M& message);
    void answer(ConnectionId to, Port port, Asked asked);
    void obey();

    sim::Agenda& agenda_;
    Random random_;
    RelayJudge& judge_;
    const std::int64_t term_;
    RelayedLinks links_;
    RelayedLinks::Batches batches_;
    std::map<NodeLinkNumber, Link> nodes_;
    std::map<ConnectionId, RelayLinkNumber> peers_;  // those that are there, and over which link
    RelayLinkNumber reading_ = 0;
    std::uint32_t last_node_ = 0;
    OutboundBatch orders_;
    bool is_woken_ = false;
    bool is_over_ = false;
};

}  // namespace muster::nodesim
