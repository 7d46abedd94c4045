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
#include "nodesim/relay_work.h"
#include "protocol/port.h"
#include "relay/cell_routes.h"
#include "relay/relayed_links.h"
#include "sim/agenda.h"

namespace muster::nodesim {

// Which cell it owns, in which term.
struct OwnedCell {
    CellNumber cell = 0;
    std::int64_t term = 0;
    std::uint32_t generation = 0;  // see RelayedLinks
};

// One thread. All it is given outlives it; it outlives what it has planned.
class RelayOwnerSide {
public:
    RelayOwnerSide(sim::Agenda& agenda, Random random, RelayJudge& judge, const RelayWork& work, const OwnedCell& owned)
        : agenda_(agenda), random_(random), judge_(judge), work_(work), owned_(owned), links_(1, owned.generation) {}

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
    void welcome(NodeLinkNumber name, Link& link, std::span<const std::byte> body);
    void lose(NodeLinkNumber name);
    void hear();
    void hear(const InboundBatch& batch, const InboundItem& item, Port port);
    template <class M>
    void say(ConnectionId to, const M& message);
    void greet(ConnectionId to, Code code, std::span<const std::byte> payload);
    void answer(ConnectionId to, Asked asked);
    void obey();

    sim::Agenda& agenda_;
    Random random_;
    RelayJudge& judge_;
    const RelayWork work_;
    const OwnedCell owned_;
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
