// clang-format off
// The stages of a connection's life, and which may follow which.
//
//   stage      meaning                                             next stages
//   ---------  --------------------------------------------------  ------------------------------------------------------
//   securing   TLS ports: the TLS handshake runs; the loop does    reading: it is over, and the loop was told of the link
//              not know the link yet                               rejected: it failed, or took too long
//   rejected   closing: the loop never hears of it; what the peer  none: only its end
//              still sends is dropped
//   reading    frames are read as they arrive                      throttled: it exceeded its rate
//                                                                  overdue: no handshake in time
//                                                                  faulty: malformed bytes, a slow frame, a flood
//   throttled  not read until its rate has credit                  resuming: the credit is there
//                                                                  overdue, faulty
//   resuming   buffered frames are handled before new bytes        reading: all of them are handled
//                                                                  throttled, overdue, faulty
//   overdue    not read; the loop was told of the missed deadline  resuming: the loop had accepted the handshake before
//   faulty     not read; the loop was told, answers and closes     only by a close
//   flushing   closing: our last bytes are being sent              lingering: all is sent, and our FIN after it
//   lingering  closing: what the peer still sends is dropped       none: only its end
//
// A link of a port with TLS begins in securing, any other in reading. The loop may close a link that it knows in any
// stage before flushing; with nothing left to send it goes straight to lingering. A
// link can end in every stage: by the peer, by the network, or cut by us.
// clang-format on
#pragma once

#include <cstdint>

#include "base/check.h"

namespace muster {

enum class LinkStage : std::uint8_t {
    securing,
    rejected,
    reading,
    throttled,
    resuming,
    overdue,
    faulty,
    flushing,
    lingering
};

// The loop was told of it, and will be told of its end.
constexpr bool is_told(LinkStage stage) {
    return stage != LinkStage::securing && stage != LinkStage::rejected;
}

// Frames are taken from it, now or when its rate allows: the loop knows nothing against it.
constexpr bool is_heard(LinkStage stage) {
    return stage == LinkStage::reading || stage == LinkStage::throttled || stage == LinkStage::resuming;
}
constexpr bool is_closing(LinkStage stage) {
    return stage == LinkStage::flushing || stage == LinkStage::lingering || stage == LinkStage::rejected;
}

constexpr bool may_follow(LinkStage from, LinkStage to) {
    switch (to) {
        case LinkStage::securing:
            return false;
        case LinkStage::rejected:
            return from == LinkStage::securing;
        case LinkStage::reading:
            return from == LinkStage::resuming || from == LinkStage::securing;
        case LinkStage::throttled:
            return from == LinkStage::reading || from == LinkStage::resuming;
        case LinkStage::resuming:
            return from == LinkStage::throttled || from == LinkStage::overdue;
        case LinkStage::overdue:
        case LinkStage::faulty:
            return is_heard(from);
        case LinkStage::flushing:
            return !is_closing(from) && is_told(from);
        case LinkStage::lingering:
            return from == LinkStage::flushing;
    }
    return false;
}

// Where in its life a link is.
class LinkLife {
public:
    explicit LinkLife(LinkStage first) : stage_(first) {}

    LinkStage stage() const { return stage_; }
    void enter(LinkStage next) {
        MUSTER_CHECK(may_follow(stage_, next), "a link goes from stage to stage as the table says");
        stage_ = next;
    }

private:
    LinkStage stage_;
};

}  // namespace muster
