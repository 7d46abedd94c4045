// Who carries out what the loop has for some of its links: a worker of the network, or the node port.
#pragma once

#include "net/outbox.h"

namespace muster {

class LinkWorker {
public:
    virtual ~LinkWorker() = default;

    // The loop's thread puts, then says so.
    virtual Outbox& outbox() = 0;
    virtual void outbox_filled() { wake(); }
    // Any thread: ends the present wait, or the next one.
    virtual void wake() = 0;
};

}  // namespace muster
