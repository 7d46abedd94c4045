// A ready network loop for the clients: POSIX sockets and poll, one thread.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "muster/client.h"
#include "muster/outcome.h"
#include "muster/time.h"

namespace muster::sdk {

// Drives any number of clients on the thread of run(), or on one of its own. Clients and their callbacks belong to that
// thread: another thread reaches them by post().
//
// Nothing that a callback or a posted function throws leaves the runner; it is told to on_error. Before run() is
// called, and after it has returned, the clients belong to whoever holds them.
class TcpRunner {
public:
    // `on_error` hears why a connection could not be made or was lost, on the runner's thread.
    explicit TcpRunner(std::function<void(const Outcome&)> on_error = {});
    // Stops, and waits for the thread.
    ~TcpRunner();
    TcpRunner(const TcpRunner&) = delete;
    TcpRunner& operator=(const TcpRunner&) = delete;

    // `address` is "host:port": an IPv4 literal, an IPv6 literal in brackets, or a name, which is looked up at each
    // attempt to connect. Throws std::invalid_argument when it is none of these. The client outlives the runner, or is
    // removed before it ends. Both while the runner does not run, or from a posted function; not from a callback.
    void add(Client& client, std::string_view address);
    void remove(Client& client);

    // Returns after stop(): what was posted before is done, what the clients had to say is sent (for at most a second),
    // and their connections are closed. It can then be called again.
    void run();
    // The same on a thread of the runner's own. Throws std::system_error when there can be none.
    void start();
    // Until that thread has ended.
    void wait();

    // From any thread, and from a signal handler.
    void stop() noexcept;
    // Runs `function` on the runner's thread, in order, or after a while. From any thread.
    void post(std::function<void()> function);
    void post_after(Duration delay, std::function<void()> function);

private:
    class Loop;
    std::unique_ptr<Loop> loop_;
};

}  // namespace muster::sdk
