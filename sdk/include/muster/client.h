// The base of every client of Muster: bytes and time go in, bytes and requests come out. No sockets, no threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "muster/outcome.h"
#include "muster/time.h"

namespace muster::sdk {

class RunnerLoop;

// The state of the connection to Muster.
enum class LinkState : std::uint8_t {
    connecting,  // no link, or not registered (a player: logged in) yet
    online,      // registered, or logged in
    isolated,    // game servers only: no acknowledgement for 30 s, so it accepts no new match; running ones continue
    closed,      // left for good; a player: until the next login()
};

// TcpRunner drives any number of these. A program with a network loop of its own drives them by the same calls:
//
//     client.tick(now);
//     if (client.wants_connection()) { connect, if there is no connection }
//     else                           { send what take_output() still gives, then close }
//     send(client.take_output());
//     wait until there are bytes, or next_tick()
//
// One thread only. `now` never goes backwards between calls. No call blocks. Your callbacks are called from within
// connected(), disconnected(), receive() and tick(), never from within a command of yours; they may give commands, but
// not destroy the client: in a runner that ends the process with a message. What a callback throws is caught and told
// to on_error.
class Client {
public:
    Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    // A client in a runner leaves it. See leave_runner().
    virtual ~Client();

    // Random seed for the pauses between connection attempts. The same seed gives the same pauses.
    virtual void seed_jitter(std::uint64_t seed) = 0;

    // Whether there should be a connection: open one when there is none, close the one there is when it turns false.
    virtual bool wants_connection() const = 0;
    virtual void connected(Time now) = 0;
    // The connection is gone, or could not be made.
    virtual void disconnected(Time now) = 0;
    // Why there is no connection to `address`, or not any more. Before disconnected(); also for each of several
    // addresses that refuses, while the next is tried. Not when the connection ends as the client wants it.
    virtual void failed(std::string_view address, const Outcome& why);

    // Any number of bytes, cut anywhere.
    virtual void receive(std::span<const std::byte> bytes, Time now) = 0;
    // Bytes to send, in order; empty when there are none.
    virtual std::vector<std::byte> take_output() = 0;

    // Does what is due. Calling it early or more often is harmless.
    virtual void tick(Time now) = 0;
    // When to call tick() next, unless another call comes first.
    virtual std::optional<Time> next_tick() const = 0;

    // It was told to leave, and waits for the answer to something that it said before. A runner that stops waits too.
    virtual bool leaving() const { return false; }

protected:
    // After this no runner calls the client: its connection is closed without a word to it, and functions posted for
    // it are dropped. On another thread than the runner's it waits for the callback that runs just then. A client class
    // of your own calls it first in its destructor, as those of the SDK do.
    void leave_runner() noexcept;

private:
    friend class RunnerLoop;

    std::weak_ptr<RunnerLoop> runner_;   // none: in no runner
    std::shared_ptr<const char> alive_;  // until leave_runner(); what was posted for the client looks at it
};

}  // namespace muster::sdk
