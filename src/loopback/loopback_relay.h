// One connection of a loopback port that somebody else serves, over a socket of his own. Only the server uses it.
#pragma once

#include <functional>
#include <memory>

#include "loopback/loopback_connection.h"

namespace muster {

// Takes over both sockets, which do not block, and carries the bytes between them. An HTTP/2 peer opens streams at the
// port's pace at most: beyond it, what it sends waits in its socket. gRPC itself bounds only the streams that are open;
// a peer that opens and resets them without a pause fills its memory. Ends when one side ends.
std::shared_ptr<LoopbackConnection> make_relay(boost::asio::io_context& context, int peer, int served,
                                               std::shared_ptr<LoopbackShared> shared,
                                               std::function<void(LoopbackConnection*)> on_end);

}  // namespace muster
