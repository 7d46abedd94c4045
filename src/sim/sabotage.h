// Breaks a rule on purpose, where Muster meets the world: so that tests can show that the judges notice.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/records.h"
#include "protocol/port.h"
#include "sim/network.h"

namespace muster::sim {

// One frame on its way from core to a peer.
struct SentFrame {
    LinkNumber link = 0;
    Port port = Port::servers;
    Code code = 0;
    std::vector<std::byte> bytes;  // the whole frame
};

// By itself it breaks nothing. Tests override one call each.
class Sabotage {
public:
    virtual ~Sabotage() = default;

    // What leaves instead of `frame`, in order: one as it is, none, or several.
    virtual void send(SentFrame frame, std::vector<SentFrame>& out) { out.push_back(std::move(frame)); }
    // True: the handler of the frame throws before core has heard it (fault 13).
    virtual bool fails(LinkNumber, Port, Code) { return false; }
    // False keeps the frame from core, although everybody saw it arrive.
    virtual bool hears(LinkNumber, Code, std::span<const std::byte>) { return true; }
    // True: the batch is answered as durable, and is not.
    virtual bool forges(const RecordBatch&) { return false; }
};

}  // namespace muster::sim
